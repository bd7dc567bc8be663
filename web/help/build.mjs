// Builds docs/*.md as one HTML file, a chapter for each, which `xsp serve` shows under Help.
//
//   node help/build.mjs OUT.html
//
// A new file in docs/ becomes a chapter by itself. The file has its pictures in it, and no script.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { Marked } from 'marked';

const docs = new URL('../../docs/', import.meta.url);

// The chapters of a user's first day stand first, in this order; all others follow by name, and those for
// people who work on xsp stand last.
const FIRST = ['tutorial', 'reading_the_numbers', 'analyses', 'frameworks', 'evaluating', 'fleet'];
const LAST = ['architecture', 'campaigns', 'decisions', 'measurements', 'planted', 'trace_format'];

const names = readdirSync(docs)
  .filter((file) => file.endsWith('.md'))
  .map((file) => file.slice(0, -'.md'.length));
const middle = names.filter((name) => !FIRST.includes(name) && !LAST.includes(name)).sort();
const chapters = [...FIRST, ...middle, ...LAST].filter((name) => names.includes(name));

const escaped = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/<[^>]*>/g, '')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replace(/ /g, '-');

// Returns where a link of a chapter leads inside this file, or nothing if its target is not in it.
function target(href, chapter) {
  if (/^https?:/.test(href)) return href;
  const [file, section] = href.split('#');
  const name = file === '' ? chapter : file.replace(/\.md$/, '');
  if (!chapters.includes(name)) return undefined;
  return `#${name}${section ? `--${section}` : ''}`;
}

function article(chapter) {
  const text = readFileSync(new URL(`${chapter}.md`, docs), 'utf8');
  let title = chapter;
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: plain }) {
        const inner = this.parser.parseInline(tokens);
        if (depth === 1) title = plain;
        return depth === 1
          ? `<h1>${inner}</h1>\n`
          : `<h${depth} id="${chapter}--${slug(plain)}">${inner}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const to = target(href, chapter);
        return to === undefined ? inner : `<a href="${escaped(to)}">${inner}</a>`;
      },
      image({ href, text: words }) {
        const bytes = readFileSync(new URL(href, docs)).toString('base64');
        return `<img alt="${escaped(words)}" src="data:image/png;base64,${bytes}">`;
      },
      html({ text: raw }) {
        return escaped(raw);
      },
    },
  });
  const body = marked
    .parse(text)
    .replaceAll(
      '<table>',
      '<div class="wide" tabindex="0" role="region" aria-label="Table"><table>',
    )
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">'); // the keyboard scrolls it
  return { chapter, title, body: `<article id="${chapter}">\n${body}</article>` };
}

const articles = chapters.map(article);
const links = articles
  .map(({ chapter, title }) => `<li><a href="#${chapter}">${escaped(title)}</a></li>`)
  .join('\n');
// A chapter is shown if the address names it or a place in it, and the first one if it names none.
const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Help · xsp</title>
<style>
${readFileSync(new URL('../src/theme.css', import.meta.url), 'utf8')}
${readFileSync(new URL('help.css', import.meta.url), 'utf8')}
</style>
</head>
<body>
<header><a class="brand" href="./">xsp</a> <span>Help</span></header>
<nav aria-label="Chapters"><ul>
${links}
</ul></nav>
<main>
${articles.map((one) => one.body).join('\n')}
</main>
</body>
</html>
`;
writeFileSync(process.argv[2], html);

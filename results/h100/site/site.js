// Sorts tables by a click on a head, and turns the theme. The pages are whole without it.
for (const table of document.querySelectorAll('table')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener('click', () => {
      const isUp = head.getAttribute('aria-sort') === 'descending';
      heads.forEach((one) => one.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => ({
        row,
        key: row.cells[column].dataset.key,
        text: row.cells[column].textContent,
      }));
      keyed.sort((a, b) => {
        if ((a.key === undefined) !== (b.key === undefined)) return a.key === undefined ? 1 : -1;
        const order = a.key === undefined ? a.text.localeCompare(b.text) : a.key - b.key;
        return isUp ? order : -order;
      });
      body.append(...keyed.map((one) => one.row));
    });
  });
}

const themes = ['auto', 'dark', 'light'];
const theme = document.getElementById('theme');
function show(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  theme.textContent = { auto: '◐', dark: '●', light: '○' }[name];
  theme.setAttribute('aria-label', `Theme: ${name}`);
}
// A page from disk may not be allowed to remember.
let chosen = 'auto';
try {
  chosen = localStorage.getItem('xsp-site-theme') ?? 'auto';
} catch {
  chosen = 'auto';
}
theme.hidden = false;
show(themes.includes(chosen) ? chosen : 'auto');
theme.addEventListener('click', () => {
  chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
  show(chosen);
  try {
    localStorage.setItem('xsp-site-theme', chosen);
  } catch {
    return;
  }
});

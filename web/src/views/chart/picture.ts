// A picture of a chart, as SVG and as PNG, without anything that it would need of the page: colours are those
// that the theme gives now, and texts have their fonts.
//
// A chart is SVG, HTML, or both. The picture has its boxes, texts and graphics where the browser has laid
// them out. Refused: <foreignObject>, which programs that draw or print SVG do not show.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = 12;

// These decide how a graphic looks. The page's style sheets set them; the picture has none.
const PAINTED = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-opacity',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
  'font-style',
  'font-variant-numeric',
  'text-anchor',
  'dominant-baseline',
  'visibility',
];

function make(name: string, facts: Record<string, string | number>): SVGElement {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(facts)) one.setAttribute(key, String(value));
  return one;
}

// Controls lie over a chart and are invisible, and a tip is not part of it.
const isLeftOut = (one: Element) =>
  one.matches('[role=slider], .tip, select, input, .hidden, [hidden]') ||
  getComputedStyle(one).visibility === 'hidden';

function paint(from: Element, to: Element) {
  const style = getComputedStyle(from);
  for (const name of PAINTED)
    (to as SVGElement).style.setProperty(name, style.getPropertyValue(name));
  // The style has what these attributes say, and has it without the page's variables.
  for (const name of [...PAINTED, 'class', 'tabindex', 'aria-label']) to.removeAttribute(name);
  const own = [...from.children];
  [...to.children].forEach((child, at) => {
    const one = own[at] as Element;
    if (isLeftOut(one)) child.remove();
    else paint(one, child);
  });
}

type Corner = { left: number; top: number };

function graphic(from: SVGSVGElement, corner: Corner): SVGElement {
  const place = from.getBoundingClientRect();
  const to = from.cloneNode(true) as SVGSVGElement;
  paint(from, to);
  to.setAttribute('x', String(place.left - corner.left));
  to.setAttribute('y', String(place.top - corner.top));
  to.style.setProperty('overflow', 'visible');
  return to;
}

const isClear = (colour: string) => /^(transparent|rgba\(0, 0, 0, 0\))$/.test(colour);
const DASHES: Record<string, number[]> = { dashed: [3, 3], dotted: [1, 1] }; // in widths of the line

interface Line {
  width: number;
  style: string;
  colour: string;
}
const isDrawn = (one: Line) =>
  one.width > 0 && !['none', 'hidden', 'auto'].includes(one.style) && !isClear(one.colour);
const strokeOf = ({ width, style, colour }: Line) => ({
  fill: 'none',
  stroke: colour,
  'stroke-width': width,
  'stroke-dasharray': (DASHES[style] ?? []).map((one) => one * width).join(' ') || 'none',
});
function sideOf(style: CSSStyleDeclaration, side: string): Line {
  const own = (what: string) => style.getPropertyValue(`${side}-${what}`);
  return { width: parseFloat(own('width')) || 0, style: own('style'), colour: own('color') };
}

// Returns the border of a box: one frame if its sides are equal, and otherwise the lines that it has.
function borderOf(style: CSSStyleDeclaration, box: DOMRect, radius: number): SVGElement[] {
  const sides = ['top', 'right', 'bottom', 'left'].map((one) => sideOf(style, `border-${one}`));
  const [top, right, bottom, left] = sides as [Line, Line, Line, Line];
  const isFrame = sides.every((one) => JSON.stringify(one) === JSON.stringify(top));
  if (isFrame) return isDrawn(top) ? [frameAt(box, -top.width / 2, radius, top)] : [];
  const lines: [Line, x1: number, y1: number, x2: number, y2: number][] = [
    [top, box.left, box.top + top.width / 2, box.right, box.top + top.width / 2],
    [right, box.right - right.width / 2, box.top, box.right - right.width / 2, box.bottom],
    [bottom, box.left, box.bottom - bottom.width / 2, box.right, box.bottom - bottom.width / 2],
    [left, box.left + left.width / 2, box.top, box.left + left.width / 2, box.bottom],
  ];
  return lines.flatMap(([one, x1, y1, x2, y2]) =>
    isDrawn(one) ? [make('line', { x1, y1, x2, y2, ...strokeOf(one) })] : [],
  );
}
// `grown` is how far the middle of the line is outside of the box.
function frameAt(box: DOMRect, grown: number, radius: number, line: Line): SVGElement {
  return make('rect', {
    x: box.left - grown,
    y: box.top - grown,
    width: Math.max(0, box.width + 2 * grown),
    height: Math.max(0, box.height + 2 * grown),
    rx: Math.max(0, radius + grown),
    ...strokeOf(line),
  });
}

// Returns what is visible of an element's box: its background, its border, and the outline that marks it.
function boxOf(one: Element, corner: Corner): SVGElement[] {
  const style = getComputedStyle(one);
  const place = one.getBoundingClientRect();
  if (place.width === 0) return [];
  const [x, y] = [place.left - corner.left, place.top - corner.top];
  const box = new DOMRect(x, y, place.width, place.height);
  const rx = parseFloat(style.borderRadius) || 0;
  const fill = style.backgroundColor;
  const facts = { x, y, width: place.width, height: place.height, rx, fill };
  const outline = sideOf(style, 'outline');
  const away = (parseFloat(style.outlineOffset) || 0) + outline.width / 2;
  return [
    ...(isClear(fill) ? [] : [make('rect', facts)]),
    ...borderOf(style, box, rx),
    ...(isDrawn(outline) ? [frameAt(box, away, rx, outline)] : []),
  ];
}

// Returns a line of text for each line in which the browser has set the words.
function linesOf(text: Text, corner: Corner): SVGElement[] {
  const parent = text.parentElement as Element;
  const style = getComputedStyle(parent);
  const clip = parent.getBoundingClientRect();
  const range = document.createRange();
  const lines: { top: number; left: number; bottom: number; words: string }[] = [];
  for (const word of text.data.matchAll(/\S+/g)) {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    const place = range.getBoundingClientRect();
    if (place.width === 0) continue;
    const last = lines.at(-1);
    if (last && Math.abs(last.top - place.top) < 2) last.words += ` ${word[0]}`;
    else lines.push({ top: place.top, left: place.left, bottom: place.bottom, words: word[0] });
  }
  return lines.map((line) => {
    const size = parseFloat(style.fontSize);
    const word = make('text', {
      x: line.left - clip.left,
      y: (line.top + line.bottom) / 2 - clip.top + size * 0.35,
      fill: style.color,
      'font-family': style.fontFamily,
      'font-size': style.fontSize,
      'font-weight': style.fontWeight,
    });
    word.textContent = line.words;
    const frame = make('svg', {
      x: clip.left - corner.left,
      y: clip.top - corner.top,
      width: Math.max(1, clip.width),
      height: Math.max(1, clip.height),
      overflow: style.overflow === 'hidden' ? 'hidden' : 'visible',
    });
    frame.append(word);
    return frame;
  });
}

function drawn(one: Node, corner: Corner): SVGElement[] {
  if (one instanceof Text) return linesOf(one, corner);
  if (!(one instanceof Element) || isLeftOut(one)) return [];
  if (one instanceof SVGSVGElement) return [graphic(one, corner)];
  if (one instanceof HTMLCanvasElement) {
    const place = one.getBoundingClientRect();
    const [x, y] = [place.left - corner.left, place.top - corner.top];
    return [
      make('image', { x, y, width: place.width, height: place.height, href: one.toDataURL() }),
    ];
  }
  const parts = [
    ...boxOf(one, corner),
    ...[...one.childNodes].flatMap((child) => drawn(child, corner)),
  ];
  const { opacity } = getComputedStyle(one);
  if (opacity === '1' || parts.length === 0) return parts;
  const group = make('g', { opacity });
  group.append(...parts);
  return [group];
}

// Returns the chart with its title, on the page's background.
export function svgOf(
  chart: Element,
  title: string,
): { text: string; width: number; height: number } {
  const place = chart.getBoundingClientRect();
  const top = 24;
  // A part that is drawn whole may be wider than its place in the page.
  const width = Math.ceil(Math.max(place.width, chart.scrollWidth) + 2 * MARGIN);
  const height = Math.ceil(place.height + top + 2 * MARGIN);
  const style = getComputedStyle(document.body);
  const svg = make('svg', { width, height, viewBox: `0 0 ${width} ${height}` });
  svg.append(make('rect', { width, height, fill: style.backgroundColor }));
  const head = make('text', {
    x: MARGIN,
    y: MARGIN + 12,
    fill: style.color,
    'font-family': style.fontFamily,
    'font-size': 13,
    'font-weight': 600,
  });
  head.textContent = title;
  svg.append(head, ...drawn(chart, { left: place.left - MARGIN, top: place.top - MARGIN - top }));
  return { text: new XMLSerializer().serializeToString(svg), width, height };
}

const SIDE = 16_000; // pixels that a browser's canvas may have in a direction
const AREA = 120e6; // and in all

// Returns the picture with twice as many pixels in each direction, so that it stays sharp when it is enlarged, or with
// as many as fit.
export async function pngOf(chart: Element, title: string): Promise<Blob> {
  const { text, width, height } = svgOf(chart, title);
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  const scale = Math.min(2, SIDE / width, SIDE / height, Math.sqrt(AREA / (width * height)));
  [canvas.width, canvas.height] = [Math.floor(scale * width), Math.floor(scale * height)];
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, failed) =>
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error('the browser makes no PNG')))),
  );
}

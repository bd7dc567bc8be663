// Assigns colours to categories: the same in every open view, as long as the palette has enough colours.

export const PALETTE = ['--c1', '--c2', '--c3', '--c4', '--c6', '--c7', '--c5'].map(
  (name) => `var(${name})`,
);
export const OTHER = 'var(--c8)';

// The bounds of kernels and layers have the colours of a roofline's regions. Causes of a step that often
// occur together have different colours.
const known = new Map<string, string>([
  ['memory', 'var(--c1)'],
  ['compute', 'var(--c2)'],
  ['l2', 'var(--c3)'],
  ['data', 'var(--c3)'],
  ['host code', 'var(--c4)'],
  ['framework', 'var(--c6)'],
  ['launch', 'var(--c7)'],
  ['synchronisation', 'var(--c5)'],
  ['copy', 'var(--c5)'],
]);

// Returns the colour of text on a category's colour.
export const inkOn = (colour: string): string =>
  colour === OTHER || colour === 'var(--c1)' ? 'var(--on-deep)' : 'var(--on-bright)';

// Returns the colours of one view's values, the weightiest first. Values for which the palette has no colour
// get `other`.
export function coloursOf(values: Iterable<[value: string, weight: number]>): Map<string, string> {
  const weights = new Map<string, number>();
  for (const [value, weight] of values) weights.set(value, (weights.get(value) ?? 0) + weight);
  const ranked = [...weights].sort((a, b) => b[1] - a[1]).map(([value]) => value);
  const top = ranked.slice(0, PALETTE.length);
  const free = new Set(PALETTE);
  const colours = new Map<string, string>();
  for (const value of top) {
    const colour = known.get(value);
    if (colour && free.delete(colour)) colours.set(value, colour);
  }
  for (const value of top) {
    if (colours.has(value)) continue;
    const colour = free.values().next().value as string;
    free.delete(colour);
    colours.set(value, colour);
    if (!known.has(value)) known.set(value, colour);
  }
  const ordered = new Map(top.map((value) => [value, colours.get(value) as string]));
  for (const value of ranked.slice(PALETTE.length)) ordered.set(value, OTHER);
  return ordered;
}

export interface LegendItem {
  label: string;
  colour: string;
}

export function legendOf(colours: Map<string, string>): LegendItem[] {
  const items: LegendItem[] = [];
  let others = 0;
  for (const [label, colour] of colours) {
    if (colour === OTHER) ++others;
    else items.push({ label, colour });
  }
  if (others) items.push({ label: `${others} other${others > 1 ? 's' : ''}`, colour: OTHER });
  return items;
}

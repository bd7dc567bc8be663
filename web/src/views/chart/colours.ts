// Assigns colours to the categories of a chart, by their names (data/colours.ts), as long as the palette has
// enough.
import { colourBeside, COLOURS } from '../../data/colours';

export const PALETTE = Array.from({ length: COLOURS }, (_, at) => `var(--c${at + 1})`);
export const OTHER = 'var(--c8)';

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
  const used = PALETTE.map(() => 0);
  const colours = new Map<string, string>();
  // In the order of the names, so that other weights do not change the colours.
  for (const value of [...top].sort()) {
    const colour = colourBeside(value, used);
    if (colour < COLOURS) used[colour] = (used[colour] as number) + 1;
    colours.set(value, PALETTE[colour] ?? OTHER);
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

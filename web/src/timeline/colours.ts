// The colours of theme.css for the canvas: the shades of each, and the colour of text on it.

import { colourBeside, COLOURS, hashedColour } from '../data/colours';
import { LEVELS } from '../data/levels';

export type Rgb = [number, number, number];

export function parseColour(text: string): Rgb {
  const hex = text.trim().replace(/^#/, '');
  const full = hex.length === 3 ? hex.replace(/./g, '$&$&') : hex;
  const number = parseInt(full.slice(0, 6), 16);
  return Number.isNaN(number)
    ? [128, 128, 128]
    : [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

export const mix = (a: Rgb, b: Rgb, share: number): Rgb =>
  a.map((one, i) => Math.round(one * share + (b[i] as number) * (1 - share))) as Rgb;

export const css = (colour: Rgb): string => `rgb(${colour.join(',')})`;

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((one) => {
    const part = one / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: Rgb, b: Rgb): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const BLACK: Rgb = [10, 12, 15];
const WHITE: Rgb = [255, 255, 255];

export const textOn = (colour: Rgb): Rgb =>
  contrast(colour, WHITE) >= contrast(colour, BLACK) ? WHITE : BLACK;

// Each colour has a full shade, three for blocks by how busy they are, and one for spans out of focus.
export const SHADES = 5;
export const DIM = 4;
const SHARES = [1, 0.45, 0.65, 0.85, 0.28];

// Colours 0 to 5 belong to the levels, 6 to 13 to the categories.
const CATEGORIES = COLOURS + 1;

// A layer has the colour of its type; as long as there are enough colours, two types have different ones.
// Executions on a device that are not kernels differ in colour from kernels. All other spans have the colour
// of their level.
export class Colours {
  private readonly types = new Map<string, number>();
  private readonly used = new Array<number>(CATEGORIES).fill(0);

  of(level: number, type: string): number {
    if (level === 3 && type) return LEVELS.length + this.category(type);
    if (level === 6 && type && type !== 'kernel') return LEVELS.length + CATEGORIES - 1;
    return Math.min(Math.max(level, 1), LEVELS.length) - 1;
  }

  private category(type: string): number {
    const known = this.types.get(type);
    if (known !== undefined) return known;
    const category = colourBeside(type, this.used);
    this.used[category] = (this.used[category] as number) + 1;
    this.types.set(type, category);
    return category;
  }

  // Returns the types that have been asked for, with their colours.
  get legend(): ReadonlyMap<string, number> {
    return this.types;
  }
}

// Returns the colour of a name, whatever its type: equal names have equal colours.
export const colourOfName = (name: string): number => LEVELS.length + hashedColour(name);

export const blockShade = (busy: number, length: number): number => {
  const share = length > 0 ? busy / length : 1;
  return share < 0.34 ? 1 : share < 0.67 ? 2 : 3;
};

export interface Palette {
  fill: string[]; // index: colour * SHADES + shade
  text: string[]; // colour of the text on it
  bg: string;
  panel: string;
  ink: string;
  muted: string;
  line: string;
  accent: string;
  warn: string;
  version: number;
}

let versions = 0;

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string) => parseColour(style.getPropertyValue(name));
  const bg = read('--bg');
  const names = [
    ...Array.from({ length: LEVELS.length }, (_, i) => `--level-${i + 1}`),
    ...Array.from({ length: CATEGORIES }, (_, i) => `--c${i + 1}`),
  ];
  const fill: string[] = [];
  const text: string[] = [];
  for (const name of names) {
    const colour = read(name);
    for (let shade = 0; shade < SHADES; shade++) {
      const shown = mix(colour, bg, SHARES[shade] as number);
      fill.push(css(shown));
      text.push(css(shade === DIM ? mix(textOn(shown), shown, 0.75) : textOn(shown)));
    }
  }
  return {
    fill,
    text,
    bg: css(bg),
    panel: css(read('--panel')),
    ink: css(read('--text')),
    muted: css(read('--muted')),
    line: css(read('--line')),
    accent: css(read('--accent')),
    warn: css(read('--warn')),
    version: ++versions,
  };
}

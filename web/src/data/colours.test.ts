import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseColour, type Rgb } from '../timeline/colours';
import { colourBeside, COLOURS, wantedColour } from './colours';

const theme = readFileSync(new URL('../theme.css', import.meta.url), 'utf8');
const [light = '', ...dark] = theme.split(/@media screen|:root\[data-theme='dark'\]/);

// Returns the colours of a theme: --c1 to --c8.
function coloursIn(part: string): Rgb[] {
  return Array.from({ length: COLOURS + 1 }, (_, at) => {
    const find = (text: string) => new RegExp(`--c${at + 1}: (#[0-9a-f]{6})`).exec(text)?.[1];
    return parseColour(find(part) ?? find(light) ?? '');
  });
}

// Converts to OKLab (Ottosson, 2020), in which distances are alike to the eye.
function oklab(colour: Rgb): [number, number, number] {
  const [r, g, b] = colour.map((one) => {
    const part = one / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
const distance = (a: Rgb, b: Rgb) => {
  const [x, y] = [oklab(a), oklab(b)];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
};

describe('the colours of categories', () => {
  it('are apart from each other, in either theme', () => {
    for (const part of [light, ...dark]) {
      const all = coloursIn(part);
      for (const [at, one] of all.entries())
        for (const other of all.slice(at + 1))
          expect(distance(one, other), `${one} and ${other}`).toBeGreaterThan(0.1);
    }
  });
  it('follow from the name alone: operators of one kind want one colour in every framework', () => {
    expect(wantedColour('aten::_convolution')).toBe(wantedColour('Conv'));
    expect(wantedColour('aten::batch_norm')).toBe(wantedColour('BatchNormalization'));
    expect(wantedColour('aten::relu_')).toBe(wantedColour('Relu'));
    expect(wantedColour('aten::linear')).toBe(wantedColour('Gemm'));
    expect(wantedColour('MaxPool')).toBe(wantedColour('aten::max_pool2d'));
    expect(wantedColour('a name of no kind')).toBe(wantedColour('a name of no kind'));
    expect(wantedColour('memory')).not.toBe(wantedColour('compute'));
  });
  it('give way where another name of the view has the colour, and stay', () => {
    const used = new Array<number>(COLOURS).fill(0);
    const first = colourBeside('Conv', used);
    used[first] = 1;
    const second = colourBeside('ConvTranspose', used);
    expect(second).not.toBe(first);
    expect(colourBeside('ConvTranspose', new Array<number>(COLOURS).fill(0))).toBe(second);
  });
});

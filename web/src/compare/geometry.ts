// Computes where things are drawn: scales, ticks, and the points of a roofline. Pure functions.
import type { Peak } from '../data/types';
import type { Item } from './comparison';

export type Place = (value: number) => number;

export function linear(domain: [number, number], range: [number, number]): Place {
  const width = domain[1] - domain[0] || 1;
  return (value) => range[0] + ((value - domain[0]) / width) * (range[1] - range[0]);
}

export function logarithmic(domain: [number, number], range: [number, number]): Place {
  const place = linear([Math.log(domain[0]), Math.log(domain[1])], range);
  return (value) => place(Math.log(value));
}

// Returns about `count` round numbers from 0 to at least `largest`.
export function ticks(largest: number, count = 4): number[] {
  if (!(largest > 0)) return [0];
  const rough = largest / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const steps = Math.ceil(largest / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, i) => i * step);
}

// Returns the powers of ten from `low` to `high`, both ends included.
export function decades(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

// ---- The ratio's axis -----------------------------------------------------------------------------

// Returns a domain around 1, with the same factor to either side, that contains all ends.
export function ratioDomain(ends: number[]): [number, number] {
  const largest = ends.reduce((most, one) => Math.max(most, Math.abs(Math.log(one))), 0.01);
  const factor = Math.exp(largest * 1.15);
  return [1 / factor, factor];
}

// ---- The roofline ---------------------------------------------------------------------------------

export interface Point {
  intensity: number; // flop/B
  speed: number; // flop/s
}

export interface Arrow {
  item: Item;
  from: Point;
  to: Point;
}

export function pointOf(item: Item, evaluation: number): Point | null {
  const side = item.sides[evaluation];
  if (!side || !side.flops || !side.bytes || !side.latency) return null;
  return { intensity: side.flops / side.bytes, speed: side.flops / (side.latency / 1e9) };
}

// Returns arrows from the reference to the other evaluation, for the items that have a place in both, in the
// items' order.
export function arrows(items: Item[], evaluation: number): Arrow[] {
  const found: Arrow[] = [];
  for (const item of items) {
    const from = pointOf(item, 0);
    const to = pointOf(item, evaluation);
    if (from && to) found.push({ item, from, to });
  }
  return found;
}

export interface Roof {
  memory: number; // B/s
  compute: { name: string; flops: number }[]; // flop/s, the highest first
}

const COMPUTE = /^(?!.*_1_thread)(.*)_flops_per_s$/;

// Returns the ceilings of a device; measured ones come before those by attributes.
export function roofOf(peaks: Peak[], device: string): Roof | null {
  const best = new Map<string, Peak>();
  for (const peak of peaks) {
    if (peak.device !== device) continue;
    const known = best.get(peak.name);
    if (!known || (known.source !== 'measured' && peak.source === 'measured'))
      best.set(peak.name, peak);
  }
  const memory = best.get('memory_bytes_per_s');
  const compute: Roof['compute'] = [];
  for (const peak of best.values()) {
    const name = COMPUTE.exec(peak.name)?.[1];
    if (name) compute.push({ name: name.replaceAll('_', ' '), flops: peak.value });
  }
  if (!memory || compute.length === 0) return null;
  compute.sort((a, b) => b.flops - a.flops);
  return { memory: memory.value, compute };
}

// Returns the ceilings to draw: the highest, that of fp32, and that of the tensor cores that fp32 may use.
export function shownRoofs(roof: Roof): Roof['compute'] {
  return roof.compute.filter(
    (one, index) => index === 0 || one.name === 'fp32' || one.name === 'tf32 tensor',
  );
}

// Returns whole decades that contain all numbers.
export function decadeDomain(values: number[]): [number, number] {
  const positive = values.filter((one) => one > 0 && Number.isFinite(one));
  if (positive.length === 0) return [0.1, 10];
  const low = 10 ** Math.floor(Math.log10(Math.min(...positive)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...positive)));
  return low === high ? [low, low * 10] : [low, high];
}

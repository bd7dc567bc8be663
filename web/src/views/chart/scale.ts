// Scales and ticks: converts values to pixels, and chooses the values that an axis shows.
import { stepFor } from '../../data/units';

export type Scaled = (value: number) => number;

export interface Tick {
  at: number; // value
  text: string; // empty: a line without a number
}

export interface Ticks {
  ticks: Tick[];
  unit: string; // unit of the texts: "ms"
}

export function linear([from, to]: [number, number], [start, end]: [number, number]): Scaled {
  const span = to - from || 1;
  return (value) => start + ((value - from) / span) * (end - start);
}

export function logarithmic([from, to]: [number, number], range: [number, number]): Scaled {
  const scale = linear([Math.log10(from), Math.log10(to)], range);
  return (value) => scale(Math.log10(value));
}

// Returns 1, 2 or 5 times a power of ten, so that `span` contains about `count` of them.
export function niceStep(span: number, count: number): number {
  const rough = span / Math.max(1, count);
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const times = rough / power;
  return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

// Returns the multiples of a nice step between two values, both ends included.
export function niceTicks(from: number, to: number, count: number, least = 0): number[] {
  const step = Math.max(niceStep(to - from, count), least);
  const ticks: number[] = [];
  const first = Math.ceil(from / step - 1e-9) + 0; // adding 0 avoids minus zero
  for (let k = first; k * step <= to * (1 + 1e-12) + step * 1e-9; ++k) ticks.push(k * step);
  return ticks;
}

const plain = (value: number, decimals: number) =>
  value.toFixed(decimals).replace(/\B(?=(\d{3})+(?!\d)(?<!\.\d*))/g, ',');

// Returns the number of decimals at which multiples of this step differ.
const decimalsOf = (step: number) => Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));

// Returns an axis from 0, or from `from`, to at least `to`, in the unit that fits the largest value.
export function unitTicks(unit: string, from: number, to: number, count: number): Ticks {
  const step = stepFor(unit, Math.max(Math.abs(from), Math.abs(to)));
  const integral = unit === 'count' ? 1 : 0;
  const ticks = niceTicks(from / step.factor, to / step.factor, count, integral);
  const apart = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : 1;
  return {
    unit: step.label,
    ticks: ticks.map((at) => ({ at: at * step.factor, text: plain(at, decimalsOf(apart)) })),
  };
}

// Returns the end of an axis that ends on a tick.
export function niceEnd(unit: string, to: number, count: number): number {
  if (!(to > 0)) return 1;
  const factor = stepFor(unit, to).factor;
  const step = Math.max(niceStep(to / factor, count), unit === 'count' ? 1 : 0);
  return Math.ceil(to / factor / step - 1e-9) * step * factor;
}

const short = (value: number) =>
  value >= 1000
    ? value.toLocaleString('en', { maximumFractionDigits: 0 })
    : String(+value.toPrecision(3));

// Returns powers of ten with their numbers, and lines at 2 ... 9 between them. 2 and 5 have numbers if the
// axis spans less than two decades. `factor` is the size of the unit of the numbers.
export function logTicks(from: number, to: number, factor = 1): Tick[] {
  const ticks: Tick[] = [];
  const low = Math.floor(Math.log10(from / factor) + 1e-9);
  const high = Math.ceil(Math.log10(to / factor) - 1e-9);
  const decades = Math.log10(to / from);
  for (let power = low; power <= high; ++power) {
    for (let times = 1; times < 10; ++times) {
      const value = times * 10 ** power;
      const at = value * factor;
      if (at < from * (1 - 1e-9) || at > to * (1 + 1e-9)) continue;
      const isNamed = times === 1 || (decades < 2 && (times === 2 || times === 5));
      ticks.push({ at, text: isNamed ? short(value) : '' });
    }
  }
  return ticks;
}

// Returns the position whose pixel is nearest, or -1.
export function nearest(
  points: readonly { x: number; y: number }[],
  x: number,
  y: number | null,
  within = Infinity,
): number {
  let best = -1;
  let least = within * within;
  points.forEach((point, index) => {
    const dx = point.x - x;
    const dy = y === null ? 0 : point.y - y;
    const distance = dx * dx + dy * dy;
    if (distance < least) {
      least = distance;
      best = index;
    }
  });
  return best;
}

// The geometry of a roofline, in log-log: flops per second over flops per byte. A memory's roof rises with
// the intensity, and the roof of a pipe is flat. They meet at the ideal intensity; work left of it is
// memory-bound.
import type { Peak } from '../../data/types';
import { format } from '../../data/units';

export interface Ceiling {
  name: string; // fp32, bf16_tensor; memory, l2
  value: number; // flops or bytes per second
}

export interface Ceilings {
  compute: Ceiling[]; // the highest first
  memory: Ceiling[]; // the widest first
  source: string; // measured, attribute, datasheet
}

const named = (peaks: Peak[], ending: string): Ceiling[] => {
  const found = new Map<string, number>();
  for (const peak of peaks) {
    if (peak.name.endsWith(ending)) found.set(peak.name.slice(0, -ending.length), peak.value);
  }
  return [...found].map(([name, value]) => ({ name, value })).sort((a, b) => b.value - a.value);
};

// Returns the ceilings of one device: from `source` if it has any, else from another. A memory has several
// kinds of access (memory_read, memory_copy): the one with the memory's plain name counts. Of the ceilings
// for fewer than all threads, only those that the rows refer to are included.
export function ceilingsOf(
  peaks: Peak[],
  device: string,
  source: string,
  heldAgainst: readonly number[] = [],
): Ceilings {
  const own = peaks.filter((peak) => peak.device === device);
  const from = own.some((peak) => peak.source === source) ? source : (own[0]?.source ?? source);
  const chosen = own.filter((peak) => peak.source === from);
  const isHeld = (one: Ceiling) =>
    heldAgainst.some((value) => Math.abs(value / one.value - 1) < 1e-6);
  return {
    source: from,
    compute: named(chosen, '_flops_per_s').filter(
      (one) => isHeld(one) || !one.name.endsWith('_thread'),
    ),
    memory: named(chosen, '_bytes_per_s').filter((one) => isHeld(one) || !one.name.includes('_')),
  };
}

export const ideal = (flopsPerS: number, bytesPerS: number) => flopsPerS / bytesPerS;

export interface Frame {
  x: [number, number]; // flops per byte
  y: [number, number]; // flops per second
}

// Rounds to half decades, so that points stay away from the edges.
const floorHalf = (value: number) => 10 ** (Math.floor(Math.log10(value) * 2) / 2);
const ceilHalf = (value: number) => 10 ** (Math.ceil(Math.log10(value) * 2) / 2);

// Returns a frame that shows all points, the ideal intensities of `roofs` with a decade around them, and
// their tops. Points far below everything else (a ten-millionth of the roof) are cut at eight decades.
export function frameOf(points: { x: number; y: number }[], roofs: Ceilings): Frame {
  const ideals = roofs.compute.flatMap((pipe) =>
    roofs.memory.map((memory) => ideal(pipe.value, memory.value)),
  );
  const xs = [...points.map((point) => point.x), ...ideals.flatMap((one) => [one / 3, one * 3])];
  const tops = roofs.compute.map((one) => one.value);
  const ys = [...points.map((point) => point.y), ...tops.map((one) => one * 1.3)];
  if (xs.length === 0 || ys.length === 0) return { x: [0.1, 1000], y: [1e9, 1e12] };
  const x: [number, number] = [floorHalf(Math.min(...xs) / 1.2), ceilHalf(Math.max(...xs) * 1.2)];
  const top = ceilHalf(Math.max(...ys));
  const least = points.length ? Math.min(...points.map((point) => point.y)) / 1.5 : top / 1e4;
  const bottom = Math.max(floorHalf(Math.min(least, top / 1e3)), top / 1e8);
  return { x, y: [bottom, top] };
}

export interface Line {
  name: string;
  from: { x: number; y: number };
  to: { x: number; y: number };
}

// Returns a memory's roof: from the frame's edge up to the highest of the pipes.
export function slanted(memory: Ceiling, top: number, frame: Frame): Line {
  const left = Math.max(frame.x[0], frame.y[0] / memory.value);
  const right = Math.min(frame.x[1], top / memory.value);
  return {
    name: memory.name,
    from: { x: left, y: left * memory.value },
    to: { x: right, y: right * memory.value },
  };
}

// Returns a pipe's roof: from its intersection with the widest memory to the frame's edge.
export function flat(pipe: Ceiling, widest: number | undefined, frame: Frame): Line {
  const left = widest ? Math.max(frame.x[0], ideal(pipe.value, widest)) : frame.x[0];
  return {
    name: pipe.name,
    from: { x: left, y: pipe.value },
    to: { x: frame.x[1], y: pipe.value },
  };
}

export interface RoofLabel {
  y: number; // pixel
  text: string;
  isHeld: boolean;
}

const spelled = (name: string) => name.replaceAll('_', ' ');

// Combines labels of flat roofs that would overlap: "bf16 tensor, fp16 tensor 967 Tflop/s".
export function labelsOf(
  pipes: { name: string; value: number; y: number; isHeld: boolean }[],
  apart = 13,
): RoofLabel[] {
  const groups: (typeof pipes)[] = [];
  for (const pipe of [...pipes].sort((a, b) => a.y - b.y)) {
    const last = groups.at(-1);
    const lowest = last?.[0];
    if (last && lowest && pipe.y - lowest.y < apart) last.push(pipe);
    else groups.push([pipe]);
  }
  return groups.map((group) => {
    const held = group.filter((one) => one.isHeld);
    const said = held.length ? held : group;
    const first = said[0] as (typeof pipes)[number];
    const names = said.map((one) => spelled(one.name)).join(', ');
    return {
      y: Math.min(...group.map((one) => one.y)),
      text: `${names} ${format('flops_per_s', first.value)}`,
      isHeld: held.length > 0,
    };
  });
}

// Returns the radius of a point by its share of the time: the area is proportional to the share, between the
// smallest size that can be clicked and a size that hides little, which a share of `most` has.
export function radiusOf(share: number, most = 1): number {
  return 3 + 13 * Math.sqrt(Math.min(1, Math.max(0, share / most)));
}

// Returns the value up to which half of the weight lies.
export function weightedMedian(values: [value: number, weight: number][]): number | null {
  const total = values.reduce((sum, [, weight]) => sum + weight, 0);
  let below = 0;
  for (const [value, weight] of [...values].sort((a, b) => a[0] - b[0])) {
    below += weight;
    if (below >= total / 2) return value;
  }
  return null;
}

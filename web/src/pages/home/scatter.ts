// The evaluations as points: any two of their figures, and the front of those that no other one beats.
import type { EvaluationEntry } from '../../data/types';
import { FACETS, figuresAt, measuredAt, type Figures, type Known } from './list';

export interface Axis {
  name: string;
  unit: string; // 'moment': milliseconds of UNIX time
  better: 'less' | 'more' | ''; // which values are better; empty: neither
  of?: (one: EvaluationEntry, figures: Figures) => number | null;
  from?: [analysis: string, column: string]; // else the analysis has it, by `batch`
}

// Figures of an analysis that the list itself does not ask, by evaluation and then by batch size.
export type Found = Record<string, Map<number, number>>;

export const AXES: Axis[] = [
  { name: 'latency', unit: 'ns', better: 'less', of: (_, figures) => figures.latency },
  { name: 'throughput', unit: 'per_s', better: 'more', of: (_, figures) => figures.throughput },
  { name: 'p99 latency', unit: 'ns', better: 'less', of: (_, figures) => figures.p99 },
  { name: 'energy of an input', unit: 'j', better: 'less', from: ['energy', 'input_j'] },
  { name: 'mean power', unit: 'w', better: 'less', from: ['energy', 'mean_w'] },
  { name: 'cost of a million', unit: 'number', better: 'less', from: ['cost', 'cost_per_million'] },
  { name: 'kernel share', unit: 'pct', better: '', from: ['kernels_in_model', 'gpu_share_pct'] },
  { name: 'batch', unit: 'count', better: '', of: (_, figures) => figures.batch },
  { name: 'measured', unit: 'moment', better: '', of: (one) => momentOf(one) },
  { name: 'file size', unit: 'bytes', better: '', of: (one) => one.size_bytes },
];

const momentOf = (one: EvaluationEntry): number | null => {
  const moment = Date.parse(measuredAt(one));
  return Number.isNaN(moment) ? null : moment;
};

export const axisOf = (name: string | null, otherwise: string): Axis =>
  (AXES.find((one) => one.name === name) ?? AXES.find((one) => one.name === otherwise)) as Axis;

export interface Dot {
  id: string;
  model: string;
  batch: number;
  isDoubtful: boolean;
  x: number;
  y: number;
  of: string; // value of the facet that colours it
}

const valueOf = (axis: Axis, one: EvaluationEntry, figures: Figures, found: Found) =>
  axis.of ? axis.of(one, figures) : (found[one.id]?.get(figures.batch) ?? null);

// Returns the points, and how many evaluations have none because a figure is not known. `everyBatch`: a point for each
// batch size, else one at `batch`, or at the smallest.
export function dotsOf(
  list: EvaluationEntry[],
  known: Known,
  batch: number | null,
  everyBatch: boolean,
  [x, y]: [Axis, Axis],
  [foundX, foundY]: [Found, Found],
  facet: string,
): { dots: Dot[]; without: number } {
  const dots: Dot[] = [];
  let without = 0;
  for (const one of list) {
    const own = known[one.id] ?? [];
    const at = figuresAt(own, batch);
    const before = dots.length;
    for (const figures of everyBatch ? own : at ? [at] : []) {
      const px = valueOf(x, one, figures, foundX);
      const py = valueOf(y, one, figures, foundY);
      if (px === null || py === null) continue;
      const values = facet === 'batch' ? [String(figures.batch)] : (FACETS[facet]?.(one) ?? []);
      dots.push({
        id: one.id,
        model: one.facts['model'] ?? '',
        batch: figures.batch,
        isDoubtful: figures.isDoubtful,
        x: px,
        y: py,
        of: values.join(', '),
      });
    }
    if (dots.length === before) ++without;
  }
  return { dots, without };
}

// Returns the positions of the points that no other point beats: none is at least as good in both figures, and
// better in one. They are in the order of x. Empty if one of the figures has no better end.
export function frontOf(dots: readonly { x: number; y: number }[], x: Axis, y: Axis): number[] {
  if (x.better === '' || y.better === '') return [];
  const [signX, signY] = [x.better === 'less' ? 1 : -1, y.better === 'less' ? 1 : -1];
  const order = dots
    .map((one, at) => ({ x: signX * one.x, y: signY * one.y, at }))
    .sort((a, b) => a.x - b.x || a.y - b.y);
  const front: number[] = [];
  let best = Infinity; // y of those before
  let last: { x: number; y: number } | null = null;
  for (const one of order) {
    const isEqual = last !== null && one.x === last.x && one.y === last.y;
    if (one.y < best || isEqual) {
      front.push(one.at);
      last = one;
    }
    best = Math.min(best, one.y);
  }
  return signX < 0 ? front.reverse() : front;
}

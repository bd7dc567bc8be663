// The durations at each batch size and their variation: a layer's executions as a box, a kernel's as a dot
// for each layer that calls it.
import { number, text, type Row } from '../data/records';

export interface Execution {
  batch: number;
  label: string;
  least: number;
  middle: number; // mean over the typical inferences
  most: number;
  half: [number, number] | null; // the range of the middle half
}

export function spreadOfLayer(rows: readonly Row[]): Execution[] {
  return rows.flatMap((row) => {
    const values = ['batch', 'min_ns', 'latency_ns', 'max_ns', 'quartile1_ns', 'quartile3_ns'];
    const [batch, least, middle, most, low, high] = values.map((name) => number(row[name]));
    if (batch == null || least == null || middle == null || most == null) return [];
    const half: [number, number] | null = low == null || high == null ? null : [low, high];
    return [{ batch, label: '', least, middle, most, half }];
  });
}

export function spreadOfKernel(rows: readonly Row[]): Execution[] {
  return rows.flatMap((row) => {
    const values = ['batch', 'min_ns', 'latency_ns', 'max_ns', 'per_inference'];
    const [batch, least, sum, most, times] = values.map((name) => number(row[name]));
    if (batch == null || least == null || sum == null || most == null || !times) return [];
    const label = text(row['layer']) || 'in no layer';
    return [{ batch, label, least, middle: sum / times, most, half: null }];
  });
}

// Returns the end of the axis: most executions stay below it. A single one far above is cut, which is
// reported.
export function topOf(executions: readonly Execution[]): number {
  const usual = executions.map((one) => Math.max(one.middle, one.half?.[1] ?? 0));
  const most = executions.map((one) => one.most);
  return Math.min(Math.max(...most), 1.6 * Math.max(...usual));
}

// Returns "4 times the inputs take 1.08 times as long": from the smallest batch size to the largest.
export function growthOf(executions: readonly Execution[]): string {
  const sums = new Map<number, { sum: number; count: number }>();
  for (const { batch, middle } of executions) {
    const known = sums.get(batch) ?? { sum: 0, count: 0 };
    sums.set(batch, { sum: known.sum + middle, count: known.count + 1 });
  }
  const batches = [...sums.keys()].sort((a, b) => a - b);
  const [first, last] = [batches[0], batches.at(-1)];
  if (first === undefined || last === undefined || first === last) return '';
  const [from, to] = [first, last].map((batch) => sums.get(batch) ?? { sum: 0, count: 1 });
  if (!from || !to || !(from.sum > 0)) return '';
  const times = to.sum / to.count / (from.sum / from.count);
  return `${+(last / first).toPrecision(3)} times the inputs: ${times.toFixed(2)} times the time.`;
}

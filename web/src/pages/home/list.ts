// The list of evaluations: the values by which its columns are sorted.
import type { EvaluationEntry } from '../../data/types';

export interface Speed {
  batch: number;
  latency: number; // ns
}

export const COLUMNS = [
  'evaluation',
  'model',
  'framework',
  'device',
  'batch sizes',
  'latency',
  'measured',
  'size',
] as const;
export type Column = (typeof COLUMNS)[number];

export const frameworkOf = (one: EvaluationEntry) =>
  `${one.facts['framework'] ?? ''} ${one.facts['framework_version'] ?? ''}`.trim();
// Files that say nothing about it were made by older versions, or elsewhere: then the file's own time.
export const measuredAt = (one: EvaluationEntry) => one.facts['started_at'] ?? one.modified;
export const deviceOf = (one: EvaluationEntry) =>
  one.facts['gpu.0.name'] ?? one.facts['device'] ?? '';

function keyOf(one: EvaluationEntry, column: Column, speed: Speed | undefined): string | number {
  switch (column) {
    case 'evaluation':
      return one.id;
    case 'model':
      return one.facts['model'] ?? '';
    case 'framework':
      return frameworkOf(one);
    case 'device':
      return deviceOf(one);
    case 'batch sizes':
      return one.batches.length;
    case 'latency':
      return speed?.latency ?? Infinity;
    case 'measured':
      return measuredAt(one);
    case 'size':
      return one.size_bytes;
  }
}

const collator = new Intl.Collator('en', { numeric: true });

// The order is stable. Files that cannot be read come last in both directions.
export function ordered(
  list: EvaluationEntry[],
  column: Column,
  isDescending: boolean,
  speeds: Record<string, Speed>,
): EvaluationEntry[] {
  const sign = isDescending ? -1 : 1;
  return [...list].sort((a, b) => {
    const unreadable = Number(a.status !== 'ok') - Number(b.status !== 'ok');
    if (unreadable !== 0) return unreadable;
    const [x, y] = [keyOf(a, column, speeds[a.id]), keyOf(b, column, speeds[b.id])];
    if (x === y) return 0;
    if (typeof x === 'number' && typeof y === 'number') return sign * (x < y ? -1 : 1);
    return sign * collator.compare(String(x), String(y));
  });
}

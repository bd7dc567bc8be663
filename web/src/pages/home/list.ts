// The list of evaluations: its columns, the values by which it is searched, chosen, grouped and ordered.
import { isEarly, timeOf } from '../../data/model';
import { number, type Row } from '../../data/records';
import type { EvaluationEntry } from '../../data/types';

// One batch size has these figures in model_information.
export interface Figures {
  batch: number;
  hasBatch: boolean; // whether the batch size is known
  latency: number; // ns
  low: number | null; // its 95 % interval; null: too few blocks
  high: number | null;
  throughput: number | null; // inputs per second
  p99: number | null; // ns
  isDoubtful: boolean;
}
export type Known = Record<string, Figures[]>; // by evaluation, in the order of the batch sizes

// The ways in which the list is shown.
export const SHOWS = ['table', 'chart', 'history'] as const;
export type Show = (typeof SHOWS)[number];

export const COLUMNS = [
  'evaluation',
  'model',
  'framework',
  'device',
  'machine',
  'batch sizes',
  'latency',
  'throughput',
  'best batch',
  'measured',
  'size',
] as const;
export type Column = (typeof COLUMNS)[number];
// The machine and the file's size are there on demand.
export const FIRST_COLUMNS = COLUMNS.filter((one) => one !== 'machine' && one !== 'size');
export const isNumber = (column: Column) =>
  ['latency', 'throughput', 'best batch', 'size'].includes(column);

export const frameworkOf = (one: EvaluationEntry) =>
  `${one.facts['framework'] ?? ''} ${one.facts['framework_version'] ?? ''}`.trim();
// Files that say nothing about it were made by older versions, or elsewhere: then the file's own time.
export const measuredAt = (one: EvaluationEntry) => one.facts['started_at'] ?? one.modified;
export const deviceOf = (one: EvaluationEntry) =>
  one.facts['gpu.0.name'] ?? one.facts['device'] ?? '';
export const machineOf = (one: EvaluationEntry) =>
  [one.facts['machine.cpu'], one.facts['machine.host']].filter(Boolean).join(', ');
export const tagsOf = (one: EvaluationEntry): string[] =>
  Object.entries(one.facts)
    .filter(([key]) => key.startsWith('tag.'))
    .map(([key, value]) => `${key.slice(4)}=${value}`);

export function figuresOf(rows: Row[]): Figures[] {
  return rows.flatMap((row) => {
    const [batch, latency] = [number(row['batch']), timeOf(row)];
    if (latency === null) return [];
    const throughput = number(row['throughput_per_s']);
    const p99 = number(row['p99_ns']);
    const ends = isEarly(row) ? ['step_low_ns', 'step_high_ns'] : ['low_ns', 'high_ns'];
    const [low, high] = ends.map((name) => number(row[name])) as [number | null, number | null];
    // A file whose batch is not known has one row, which addresses name by 1.
    const known = { batch: batch ?? 1, hasBatch: batch !== null };
    return [{ ...known, latency, low, high, throughput, p99, isDoubtful: Boolean(row['doubt']) }];
  });
}

// Returns "1, 16", or "1 to 256 (9)" of more than three.
export const batchesText = (batches: number[]): string =>
  batches.length > 3
    ? `${batches[0]} to ${batches.at(-1)} (${batches.length})`
    : batches.join(', ');
// Returns the figures at a batch size, or at the smallest one.
export const figuresAt = (known: Figures[] | undefined, batch: number | null) =>
  batch === null ? known?.[0] : known?.find((one) => one.batch === batch);
export const bestOf = (known: Figures[] | undefined): Figures | undefined =>
  known?.reduce((best, one) => ((one.throughput ?? 0) > (best.throughput ?? 0) ? one : best));

// The user chooses among these facets; each returns the values of an evaluation.
export const FACETS: Record<string, (one: EvaluationEntry) => string[]> = {
  model: (one) => [one.facts['model'] ?? ''],
  framework: (one) => [frameworkOf(one)],
  device: (one) => [deviceOf(one)],
  machine: (one) => [machineOf(one)],
  batch: (one) => one.batches.map(String),
  date: (one) => [measuredAt(one).slice(0, 10)],
  tag: tagsOf,
};
export type Choices = Record<string, string>; // by facet; those that are missing leave everything

const hasWord = (one: EvaluationEntry, word: string) =>
  [one.id, ...Object.values(FACETS).flatMap((values) => values(one))].some((text) =>
    text.toLowerCase().includes(word),
  );

// Returns the evaluations that have every word and every chosen value.
export function chosenOf(
  list: EvaluationEntry[],
  words: string,
  choices: Choices,
): EvaluationEntry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return list.filter(
    (one) =>
      wanted.every((word) => hasWord(one, word)) &&
      Object.entries(choices).every(([facet, value]) => FACETS[facet]?.(one).includes(value)),
  );
}

const collator = new Intl.Collator('en', { numeric: true });

// Returns the values of a facet with the number of evaluations that have them, if the facet alone were chosen
// anew.
export function valuesOf(
  list: EvaluationEntry[],
  words: string,
  choices: Choices,
  facet: string,
): [value: string, count: number][] {
  const others = Object.fromEntries(Object.entries(choices).filter(([name]) => name !== facet));
  const counts = new Map<string, number>();
  for (const one of chosenOf(list, words, others)) {
    for (const value of FACETS[facet]?.(one) ?? [])
      if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => collator.compare(a[0], b[0]));
}

function keyOf(
  one: EvaluationEntry,
  column: Column,
  known: Figures[] | undefined,
  batch: number | null,
): string | number {
  switch (column) {
    case 'evaluation':
      return one.id;
    case 'model':
      return one.facts['model'] ?? '';
    case 'framework':
      return frameworkOf(one);
    case 'device':
      return deviceOf(one);
    case 'machine':
      return machineOf(one);
    case 'batch sizes':
      return one.batches.length;
    case 'latency':
      return figuresAt(known, batch)?.latency ?? NaN;
    case 'throughput':
      return figuresAt(known, batch)?.throughput ?? NaN;
    case 'best batch':
      return bestOf(known)?.hasBatch ? (bestOf(known)?.batch ?? NaN) : NaN;
    case 'measured':
      return measuredAt(one);
    case 'size':
      return one.size_bytes;
  }
}

// The order is stable. In both directions, files that cannot be read come last, and before them those whose
// figure is not known.
export function ordered(
  list: EvaluationEntry[],
  column: Column,
  isDescending: boolean,
  known: Known,
  batch: number | null = null,
): EvaluationEntry[] {
  const sign = isDescending ? -1 : 1;
  const keys = new Map(list.map((one) => [one, keyOf(one, column, known[one.id], batch)]));
  const last = (one: EvaluationEntry) =>
    one.status !== 'ok' ? 2 : Number.isNaN(keys.get(one)) ? 1 : 0;
  return [...list].sort((a, b) => {
    const [x, y] = [keys.get(a) ?? '', keys.get(b) ?? ''];
    if (last(a) !== last(b)) return last(a) - last(b);
    if (last(a) > 0 || x === y) return 0;
    if (typeof x === 'number' && typeof y === 'number') return sign * (x < y ? -1 : 1);
    return sign * collator.compare(String(x), String(y));
  });
}

// Returns the groups of a facet, in the order of the list; without a facet, one without a name.
export function groupsOf(
  list: EvaluationEntry[],
  facet: string,
): [name: string, EvaluationEntry[]][] {
  const groups = new Map<string, EvaluationEntry[]>();
  for (const one of list) {
    const name = FACETS[facet]?.(one).join(', ') ?? '';
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups];
}

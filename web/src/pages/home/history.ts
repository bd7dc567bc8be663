// A model's latency from evaluation to evaluation, in the order in which they were measured.
import type { EvaluationEntry } from '../../data/types';
import { deviceOf, figuresAt, machineOf, measuredAt, type Figures, type Known } from './list';

export interface Moment {
  id: string;
  place: number; // among all evaluations of the model, from 0
  label: string;
  facts: Record<string, string>;
  figures: Figures;
}

// One framework on one device of one machine: only these are compared with each other.
export interface Series {
  name: string;
  moments: Moment[];
}

// Returns the models of a list, those with the most evaluations first.
export function modelsOf(list: EvaluationEntry[]): string[] {
  const counts = new Map<string, number>();
  for (const one of list) {
    const model = one.facts['model'] ?? '';
    if (model !== '') counts.set(model, (counts.get(model) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([name]) => name);
}

const DATE = 'date';
const VERSION = 'framework version';

// Returns what can name a moment: the tags that some evaluation has, its framework's version, its date. A tag that
// is called like a commit or a version comes first.
export function labelsOf(list: EvaluationEntry[]): string[] {
  const tags = new Set(
    list.flatMap((one) => Object.keys(one.facts).filter((key) => key.startsWith('tag.'))),
  );
  const names = [...tags].map((key) => key.slice(4)).sort();
  const rank = (name: string) =>
    /commit|revision|sha/.test(name) ? 0 : /version/.test(name) ? 1 : 2;
  names.sort((a, b) => rank(a) - rank(b));
  return [...names, DATE, VERSION];
}

// Returns the label as it is written below the axis. A hash is told apart by its first characters.
export function labelOf(one: EvaluationEntry, by: string): string {
  if (by === DATE) return measuredAt(one).slice(0, 10);
  if (by === VERSION) return one.facts['framework_version'] ?? '';
  const value = one.facts[`tag.${by}`] ?? '';
  return /^[0-9a-f]{12,}$/.test(value) ? value.slice(0, 8) : value;
}

// Returns the series of a model, those with the most moments first, and how many evaluations lack the figures.
export function seriesOf(
  list: EvaluationEntry[],
  model: string,
  known: Known,
  batch: number | null,
  by: string,
): { series: Series[]; count: number; without: number } {
  const all = list
    .filter((one) => one.status === 'ok' && one.facts['model'] === model)
    .sort((a, b) => measuredAt(a).localeCompare(measuredAt(b)) || a.id.localeCompare(b.id));
  const found = new Map<string, Moment[]>();
  let without = 0;
  all.forEach((one, place) => {
    const figures = figuresAt(known[one.id], batch);
    if (!figures) {
      ++without;
      return;
    }
    const name = [one.facts['framework'], deviceOf(one), machineOf(one)].filter(Boolean).join(', ');
    const moments = found.get(name) ?? [];
    moments.push({ id: one.id, place, label: labelOf(one, by), facts: one.facts, figures });
    found.set(name, moments);
  });
  const series = [...found].map(([name, moments]) => ({ name, moments }));
  series.sort((a, b) => b.moments.length - a.moments.length || a.name.localeCompare(b.name));
  return { series, count: all.length, without };
}

// Returns each moment with the one before it in its series, where both have the same batch size.
export function pairsOf(series: Series[]): [before: Moment, after: Moment][] {
  return series.flatMap(({ moments }) =>
    moments.slice(1).flatMap((after, at): [Moment, Moment][] => {
      const before = moments[at] as Moment;
      return before.figures.batch === after.figures.batch ? [[before, after]] : [];
    }),
  );
}

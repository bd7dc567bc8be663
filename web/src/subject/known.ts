// Collects the rows of every analysis about one layer or one kernel, over the batch sizes.
import { analysis as ask, catalogue, evaluation } from '../data/source';
import { recordsOf, type Row } from '../data/records';
import type { Analysis, Cell, Rows } from '../data/types';
import { subjectOf } from '../views/subject';

export type Kind = 'layer' | 'kernel';

export interface Known {
  analysis: Analysis;
  rows: Cell[][]; // rows about the subject
  answers: Rows[]; // all rows, one answer per batch size
}

// Returns the rows that name the subject, from answers for one batch size each.
export function rowsAbout(analysis: Analysis, answers: Rows[], kind: Kind, name: string): Cell[][] {
  const column = subjectOf(analysis.needs, analysis.columns)[kind];
  if (column === null) return [];
  return answers.flatMap((answer) => answer.rows.filter((row) => row[column] === name));
}

// Asks the analyses one after the other, those of `first` first. Calls `onknown` with each that has rows
// about the subject, and `onlost` with the requests that failed. An analysis that fails does not stop the
// others.
export async function collect(
  id: string,
  kind: Kind,
  name: string,
  first: readonly string[],
  isWanted: () => boolean,
  onknown: (known: Known) => void,
  onlost: (title: string, reason: string) => void,
): Promise<void> {
  const [{ analyses }, about] = await Promise.all([catalogue(), evaluation(id)]);
  const place = (one: Analysis) => {
    const at = first.indexOf(one.name);
    return at < 0 ? first.length : at;
  };
  for (const one of [...analyses].sort((a, b) => place(a) - place(b))) {
    if (!isWanted()) return;
    if (subjectOf(one.needs, one.columns)[kind] === null) continue;
    const takesBatch = one.params.some((param) => param.name === 'batch');
    const batches = takesBatch ? about.batches : [undefined];
    try {
      const answers = await Promise.all(batches.map((batch) => ask(id, one.name, { batch })));
      const rows = rowsAbout(one, answers, kind, name);
      if (rows.length > 0 && isWanted()) onknown({ analysis: one, rows, answers });
    } catch (error) {
      if (isWanted()) onlost(one.title, (error as Error).message);
    }
  }
}

// Returns the rows of one analysis about the subject at one batch size.
export function recordsAt(known: readonly Known[], name: string, batch: number): Row[] {
  const one = known.find(({ analysis }) => analysis.name === name);
  if (!one) return [];
  const all = recordsOf({ columns: one.analysis.columns, rows: one.rows });
  return all.filter((row) => row['batch'] === batch);
}

// Returns the subject's rank by a column among all rows of that analysis at that batch size; the largest
// value has rank 1.
export function rankOf(known: readonly Known[], name: string, batch: number, column: string) {
  const one = known.find(({ analysis }) => analysis.name === name);
  const own = recordsAt(known, name, batch)[0]?.[column];
  if (!one || typeof own !== 'number') return null;
  const all = one.answers.flatMap(recordsOf).filter((row) => row['batch'] === batch);
  const larger = all.filter((row) => typeof row[column] === 'number' && row[column] > own);
  return { rank: larger.length + 1, of: all.length };
}

// Returns the names before and after this one, in the order of execution, in the rows of layer_information or
// kernel_information.
export function neighbours(names: string[], name: string): { before?: string; after?: string } {
  const at = names.indexOf(name);
  const [before, after] = [names[at - 1], names[at + 1]];
  return at < 0 ? {} : { ...(before ? { before } : {}), ...(after ? { after } : {}) };
}

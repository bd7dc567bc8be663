// Everything that is known of one layer or one kernel: the rows about it of every analysis, over the batch sizes.
import { analysis as ask, catalogue, evaluation } from '../data/source';
import type { Analysis, Cell, Rows } from '../data/types';
import { subjectOf } from '../views/subject';

export type Kind = 'layer' | 'kernel';

export interface Known {
  analysis: Analysis;
  rows: Cell[][];
}

// The rows that name it, of answers for one batch size each.
export function rowsAbout(analysis: Analysis, answers: Rows[], kind: Kind, name: string): Cell[][] {
  const column = subjectOf(analysis.needs, analysis.columns)[kind];
  if (column === null) return [];
  return answers.flatMap((answer) => answer.rows.filter((row) => row[column] === name));
}

// One analysis after the other, as the answers come: `onknown` is called with each that has rows about it.
export async function collect(
  id: string,
  kind: Kind,
  name: string,
  isWanted: () => boolean,
  onknown: (known: Known) => void,
): Promise<void> {
  const [{ analyses }, about] = await Promise.all([catalogue(), evaluation(id)]);
  for (const one of analyses) {
    if (!isWanted()) return;
    if (subjectOf(one.needs, one.columns)[kind] === null) continue;
    const takesBatch = one.params.some((param) => param.name === 'batch');
    const batches = takesBatch ? about.batches : [undefined];
    const answers = await Promise.all(batches.map((batch) => ask(id, one.name, { batch })));
    const rows = rowsAbout(one, answers, kind, name);
    if (rows.length > 0 && isWanted()) onknown({ analysis: one, rows });
  }
}

// The one before and the one after, in the order of execution, of the rows of layer_information or
// kernel_information.
export function neighbours(names: string[], name: string): { before?: string; after?: string } {
  const at = names.indexOf(name);
  const [before, after] = [names[at - 1], names[at + 1]];
  return at < 0 ? {} : { ...(before ? { before } : {}), ...(after ? { after } : {}) };
}

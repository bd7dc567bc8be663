// Determines which column of an analysis names the layer, and which one the kernel, of a row.
//
// The rule, by the columns' names and the analysis's needs:
//   * a text column `layer` names the layer, a text column `kernel` the kernel;
//   * a text column `name` names the deepest level that is needed: the kernel, or else the layer;
//   * a text column `label` is the form in which that name is shown.
//
// The names are those of the framework and of the device: the pages of a layer and of a kernel use them.
import type { Cell } from '../data/types';

export interface Subject {
  layer: number | null; // index of the column
  kernel: number | null;
  label: number | null; // column with the name of the row
  own: 'layer' | 'kernel' | null; // the kind of the row itself
}

export interface Chosen {
  layer?: string | undefined;
  kernel?: string | undefined;
}

interface Named {
  name: string;
  unit: string;
}

export function subjectOf(needs: readonly string[], columns: readonly Named[]): Subject {
  const find = (name: string) => {
    const index = columns.findIndex((one) => one.name === name && one.unit === 'text');
    return index < 0 ? null : index;
  };
  let layer = find('layer');
  let kernel = find('kernel');
  const name = find('name');
  if (name !== null && kernel === null && needs.includes('kernel')) kernel = name;
  else if (name !== null && layer === null && needs.includes('layer')) layer = name;
  const own = kernel !== null ? 'kernel' : layer !== null ? 'layer' : null;
  return { layer, kernel, label: find('label') ?? (own === 'kernel' ? kernel : layer), own };
}

const text = (row: readonly Cell[], index: number | null): string | undefined => {
  const cell = index === null ? undefined : row[index];
  return typeof cell === 'string' && cell !== '' ? cell : undefined;
};

export const layerOf = (subject: Subject, row: readonly Cell[]) => text(row, subject.layer);
export const kernelOf = (subject: Subject, row: readonly Cell[]) => text(row, subject.kernel);
export const labelOf = (subject: Subject, row: readonly Cell[]) => text(row, subject.label);

// Returns the selection that choosing this row makes: the row's own subject, or none if it is selected
// already.
export function choiceOf(
  subject: Subject,
  row: readonly Cell[],
  now: Chosen = {},
): Record<string, string | null> {
  const name = subject.own && text(row, subject[subject.own]);
  if (!subject.own || !name) return {};
  return { [subject.own]: now[subject.own] === name ? null : name };
}

// Returns whether this row is about the selected layer and kernel; true if the rows name neither.
export function isChosen(subject: Subject, row: readonly Cell[], chosen: Chosen): boolean {
  const agrees = (index: number | null, wanted: string | undefined) =>
    index === null || wanted === undefined || row[index] === wanted;
  return agrees(subject.layer, chosen.layer) && agrees(subject.kernel, chosen.kernel);
}

// Returns whether the selection distinguishes some of these rows. If it matches none of them, it is about
// something else.
export function isChoiceAbout(subject: Subject, rows: readonly Cell[][], chosen: Chosen): boolean {
  const said =
    (subject.layer !== null && chosen.layer !== undefined) ||
    (subject.kernel !== null && chosen.kernel !== undefined);
  return said && rows.some((row) => isChosen(subject, row, chosen));
}

// Which column of an analysis names the layer, and which the kernel, that a row is about.
//
// The rule, by the columns' names and what the analysis needs:
//   * a text column `layer` names the layer, a text column `kernel` the kernel;
//   * a text column `name` names what the deepest level that is needed has: the kernel, or else the layer;
//   * a text column `label` is how that name is shown.
// The names are those of the framework and of the device: what the pages of a layer and of a kernel go by.
import type { Cell } from '../data/types';

export interface Subject {
  layer: number | null; // index of the column
  kernel: number | null;
  label: number | null; // how the row itself is called
  own: 'layer' | 'kernel' | null; // what the row itself is
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

// What choosing this row chooses: the row's own subject; choosing it again lets go of it.
export function choiceOf(
  subject: Subject,
  row: readonly Cell[],
  now: Chosen = {},
): Record<string, string | null> {
  const name = subject.own && text(row, subject[subject.own]);
  if (!subject.own || !name) return {};
  return { [subject.own]: now[subject.own] === name ? null : name };
}

// Is this row about the layer and the kernel that are chosen? Where the rows name neither, all of them are.
export function isChosen(subject: Subject, row: readonly Cell[], chosen: Chosen): boolean {
  const agrees = (index: number | null, wanted: string | undefined) =>
    index === null || wanted === undefined || row[index] === wanted;
  return agrees(subject.layer, chosen.layer) && agrees(subject.kernel, chosen.kernel);
}

// Does the choice tell some of these rows from others? If it fits none of them, it is about something else.
export function isChoiceAbout(subject: Subject, rows: readonly Cell[][], chosen: Chosen): boolean {
  const said =
    (subject.layer !== null && chosen.layer !== undefined) ||
    (subject.kernel !== null && chosen.kernel !== undefined);
  return said && rows.some((row) => isChosen(subject, row, chosen));
}

// Formats the columns of a table and computes their widths, from all of its rows, so that scrolling moves
// nothing.
import type { Cell } from '../data/types';
import { format, labelOfName, largestOf, Scale } from '../data/units';
import { isSentence, linesOf, shortened, type Described } from './rows';

export interface TableColumn {
  index: number; // in the rows
  name: string;
  label: string;
  unit: string; // as shown: "ms"
  description: string;
  isText: boolean;
  characters: number; // characters of its longest cell, or its heading
  least?: number; // characters below which it is not cut
  hasSentences: boolean; // its cells wrap into more than two lines where they get little room
  write: (row: Cell[]) => string;
}

const SENTENCE = 30; // characters: the least width of a column of sentences
const LOOKED_AT = 5000; // rows, spread evenly: a sample of a hundred thousand is enough for the widths

const oneLine = (text: string) => text.replace(/[\u0000-\u001f\u007f]/g, ' ');

function writer(
  columns: Described[],
  rows: Cell[][],
  index: number,
  shown: number[],
): { unit: string; write: (row: Cell[]) => string } {
  const column = columns[index] as Described;
  if (column.unit.startsWith('by:')) {
    const from = columns.findIndex((one) => one.name === column.unit.slice(3));
    return { unit: '', write: (row) => format(String(row[from] ?? 'number'), row[index]) };
  }
  if (column.unit === 'text' || column.unit === 'bool') {
    return { unit: '', write: (row) => oneLine(format(column.unit, row[index])) };
  }
  const beside = shown.filter((other) => columns[other]?.unit === column.unit);
  const values = function* () {
    for (const row of rows) {
      const cell = row[index];
      if (typeof cell === 'number') yield cell;
    }
  };
  const scale = new Scale(column.unit, values(), largestOf(rows, beside));
  const write = (row: Cell[]) => {
    const cell = row[index];
    return typeof cell === 'number' ? scale.text(cell) : oneLine(format('text', cell));
  };
  return { unit: scale.label, write };
}

export function tableColumns(columns: Described[], rows: Cell[][], shown: number[]): TableColumn[] {
  const step = Math.max(1, Math.floor(rows.length / LOOKED_AT));
  return shown.map((index) => {
    const column = columns[index] as Described;
    const { unit, write } = writer(columns, rows, index, shown);
    const isText = column.unit === 'text' || column.unit === 'bool';
    const label = labelOfName(column.name, column.unit);
    let characters = Math.max(label.length, unit.length);
    let hasSentences = false;
    for (let at = 0; at < rows.length; at += step) {
      const text = write(rows[at] as Cell[]);
      characters = Math.max(characters, text.length);
      hasSentences ||= isText && text.length > 2 * SENTENCE && isSentence(text);
    }
    const description = column.description ?? '';
    return {
      index,
      name: column.name,
      label,
      unit,
      description,
      isText,
      characters,
      hasSentences,
      write,
    };
  });
}

// Returns the fewest characters, from `least` on, at which no two different texts are cut to the same one; `most`
// if there are none.
export function tellingApart(texts: string[], least: number, most: number): number {
  const all = [...new Set(texts)];
  for (let room = least; room < most; room++) {
    if (new Set(all.map((one) => shortened(one, room))).size === all.length) return room;
  }
  return most;
}

// Returns widths in characters: the widest texts are cut until all fit, none of them below `least`,
// and columns of sentences not below a width that reads well.
export function fitted(columns: TableColumn[], room: number, least = 12): number[] {
  const widths = columns.map((one) => one.characters);
  const leastOf = (one: TableColumn) =>
    Math.max(least, one.hasSentences ? SENTENCE : 0, Math.min(one.least ?? 0, one.characters));
  let over = widths.reduce((sum, one) => sum + one, 0) - room;
  while (over > 0) {
    let widest = -1;
    let second = 0;
    columns.forEach((column, at) => {
      const width = widths[at] as number;
      if (!column.isText || width <= leastOf(column)) return;
      if (widest < 0 || width > (widths[widest] as number)) {
        if (widest >= 0) second = Math.max(second, widths[widest] as number);
        widest = at;
      } else {
        second = Math.max(second, width);
      }
    });
    if (widest < 0) break;
    const width = widths[widest] as number;
    const floor = Math.max(second, leastOf(columns[widest] as TableColumn));
    const cut = Math.min(over, Math.max(1, width - floor));
    widths[widest] = width - cut;
    over -= cut;
  }
  return widths;
}

// Columns without a single value were not measured: they are named below the table instead of shown.
export function splitEmpty(rows: Cell[][], shown: number[]): { full: number[]; empty: number[] } {
  if (rows.length === 0) return { full: shown, empty: [] };
  const isEmpty = (index: number) =>
    rows.every((row) => row[index] === null || row[index] === undefined);
  const empty = shown.filter(isEmpty);
  return { full: shown.filter((index) => !empty.includes(index)), empty };
}

// Returns whether a column has the same value in every row: only then is it a caption of them all.
export const sameIn = (rows: Cell[][]) => (index: number) => {
  const first = rows[0]?.[index] ?? null;
  return first !== null && rows.every((row) => row[index] === first);
};

// Returns how many lines the tallest row takes where so many characters fit each column.
export function tallest(
  columns: TableColumn[],
  rows: Cell[][],
  fits: (at: number) => number,
): number {
  let most = 1;
  columns.forEach((column, at) => {
    if (!column.isText) return;
    for (const row of rows) most = Math.max(most, linesOf(column.write(row), fits(at)));
  });
  return most;
}

// Returns the mean width of a character of an element's font, in pixels, or 0 if it cannot be told.
export function characterWidth(element: HTMLElement): number {
  const context = document.createElement('canvas').getContext('2d');
  if (!context) return 0;
  context.font = getComputedStyle(element).font;
  // Letters are a little narrower than figures.
  return context.measureText('0').width * 0.94;
}

// Rows as objects, for pages that know the columns they ask for.
import type { Cell, Rows } from './types';

export type Row = Record<string, Cell>;

export const recordsOf = (rows: Pick<Rows, 'rows'> & { columns: { name: string }[] }): Row[] =>
  rows.rows.map((row) =>
    Object.fromEntries(rows.columns.map(({ name }, at) => [name, row[at] ?? null])),
  );

// Returns a cell as a number, or null if it is none.
export const number = (cell: Cell | undefined): number | null =>
  typeof cell === 'number' ? cell : null;

export const text = (cell: Cell | undefined): string =>
  cell === null || cell === undefined ? '' : String(cell);

// Returns the reason after "not measured: ", or the whole text.
export const reasonOf = (rows: Rows): string =>
  (rows.not_measured ?? '').replace(/^not measured: /, '');

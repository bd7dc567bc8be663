// Reads the rows of an analysis for the charts.
import type { Analysis, Cell, Column, View } from '../../data/types';
import { sharesOf } from '../../data/shares';
import { format, labelOfName } from '../../data/units';
import { optionList } from '../rows';

export interface Field {
  index: number; // in the rows
  name: string;
  unit: string;
  label: string;
}

export function fieldOf(columns: Column[], name: string | undefined): Field | null {
  const index = columns.findIndex((one) => one.name === name);
  const column = columns[index];
  if (!column) return null;
  return {
    index,
    name: column.name,
    unit: column.unit,
    label: labelOfName(column.name, column.unit),
  };
}

// Returns the columns that an option of a view lists.
export function fieldsOf(analysis: Analysis, view: View, option: string): Field[] {
  return optionList(view.options[option]).flatMap((name) => fieldOf(analysis.columns, name) ?? []);
}

export const numberAt = (row: Cell[] | undefined, field: Field | null): number | null => {
  const cell = field ? row?.[field.index] : null;
  return typeof cell === 'number' && Number.isFinite(cell) ? cell : null;
};

export const textAt = (row: Cell[] | undefined, field: Field | null): string => {
  const cell = field ? row?.[field.index] : null;
  return cell === null || cell === undefined ? '' : String(cell);
};

// Returns a column that the view draws but that is empty in all rows: then there is nothing to draw.
export function emptyField(analysis: Analysis, view: View, rows: Cell[][]): Field | null {
  const drawn = ['y', 'value', 'median'].flatMap((option) => fieldsOf(analysis, view, option));
  const isKnown = drawn.some((field) => rows.some((row) => numberAt(row, field) !== null));
  return (rows.length > 0 && !isKnown && drawn[0]) || null;
}

// Returns all cells of a row as words with units, without the empty ones.
export function factsOf(columns: Column[], row: Cell[]): [label: string, text: string][] {
  return columns.flatMap((column, index): [string, string][] => {
    const unit = column.unit.startsWith('by:')
      ? String(row[columns.findIndex((one) => one.name === column.unit.slice(3))] ?? 'number')
      : column.unit;
    const text = format(unit, row[index]);
    return text === '' ? [] : [[labelOfName(column.name, column.unit), text]];
  });
}

// Returns a title such as "latency (ms)".
export const axisTitle = (label: string, unit: string) => (unit ? `${label} (${unit})` : label);

export interface Slice {
  label: string;
  value: number;
  share: number; // in per cent, as it is written: the slices' shares add up to 100
  rows: number[]; // several rows: those without a colour of the palette
}

// Returns the parts of a whole, the largest first. If there are more than `most`, the smallest are combined.
export function slicesOf(
  rows: Cell[][],
  label: Field,
  value: Field,
  most: number,
  of: Field | null = null, // rows whose cell is empty here are no part of the whole
): { slices: Slice[]; total: number } {
  const isPart = ({ rows: [index = 0] }: { rows: number[] }) =>
    !of || numberAt(rows[index], of) !== null;
  const all = rows
    .map((row, index) => ({
      label: textAt(row, label),
      value: numberAt(row, value) ?? 0,
      rows: [index],
    }))
    .filter((slice) => slice.value > 0 && isPart(slice))
    .sort((a, b) => b.value - a.value);
  const total = all.reduce((sum, slice) => sum + slice.value, 0);
  if (all.length <= most) return { slices: withShares(all), total };
  const rest = all.slice(most - 1);
  const other = {
    label: `${rest.length} others`,
    value: rest.reduce((sum, slice) => sum + slice.value, 0),
    rows: rest.flatMap((slice) => slice.rows),
  };
  return { slices: withShares([...all.slice(0, most - 1), other]), total };
}
function withShares(slices: Omit<Slice, 'share'>[]): Slice[] {
  const values = slices.map((one) => one.value);
  const shares = sharesOf(
    values,
    values.reduce((sum, one) => sum + one, 0),
  );
  return slices.map((one, at) => ({ ...one, share: shares[at] ?? 0 }));
}

// Neighbouring rows may share a pixel: returns the row with the largest value of each pixel.
export function binned(values: (number | null)[], pixels: number): number[] {
  const all = values.map((_, index) => index);
  if (values.length <= pixels) return all;
  const per = values.length / pixels;
  const kept: number[] = [];
  for (let pixel = 0; pixel < pixels; ++pixel) {
    const from = Math.floor(pixel * per);
    let best = from;
    for (let at = from; at < Math.floor((pixel + 1) * per); ++at) {
      if ((values[at] ?? -Infinity) > (values[best] ?? -Infinity)) best = at;
    }
    kept.push(best);
  }
  return kept;
}

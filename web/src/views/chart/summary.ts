// Describes a chart in words, for users who cannot see it.
import type { Cell } from '../../data/types';
import { format } from '../../data/units';
import { numberAt, textAt, type Field, type Slice } from './data';

interface Titled {
  title(row: Cell[] | undefined): string;
}

export function summaryOf(rows: Cell[][], xs: Field[], y: Field, titled: Titled): string {
  let least: Cell[] | undefined;
  let most: Cell[] | undefined;
  let known = 0;
  for (const row of rows) {
    const value = numberAt(row, y);
    if (value === null) continue;
    ++known;
    if (!least || value < (numberAt(least, y) ?? 0)) least = row;
    if (!most || value > (numberAt(most, y) ?? 0)) most = row;
  }
  if (!least || !most) return `${y.label}: not measured.`;
  const called = (row: Cell[]) => {
    const at = xs.map((x) => `${x.label} ${textAt(row, x)}`).join(', ');
    const title = titled.title(row);
    return `${format(y.unit, numberAt(row, y))} at ${at}${title ? ` (${title})` : ''}`;
  };
  if (known === 1) return `${y.label}: ${called(most)}.`;
  return `${y.label} of ${known} rows: from ${called(least)} to ${called(most)}.`;
}

export function summaryOfSlices(slices: Slice[], total: number, value: Field): string {
  const said = slices.slice(0, 4).map((one) => `${one.label} ${format('pct', one.share)}`);
  return `${value.label}, ${format(value.unit, total)} in all: ${said.join(', ')}.`;
}

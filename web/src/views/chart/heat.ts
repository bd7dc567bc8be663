// The fields of a heat map: the share of each value of the largest value in its line.
import type { Cell } from '../../data/types';
import { numberAt, textAt, type Field } from './data';

export interface HeatCell {
  row: number;
  x: number; // positions
  y: number;
  share: number; // share of the largest value of its line: 0 to 1
}

export interface Heat {
  xs: string[];
  ys: string[]; // in the order of the rows
  cells: HeatCell[];
}

export function heatOf(rows: Cell[][], x: Field, y: Field, value: Field): Heat {
  const xs = new Map<string, number>();
  const ys = new Map<string, number>();
  const largest = new Map<string, number>();
  const names = rows.map((row) => ({ x: textAt(row, x), y: textAt(row, y) }));
  const order = [...new Set(names.map((one) => one.x))].sort((a, b) =>
    x.unit === 'text' ? 0 : Number(a) - Number(b),
  );
  order.forEach((name, index) => xs.set(name, index));
  rows.forEach((row, index) => {
    const name = names[index]?.y ?? '';
    if (!ys.has(name)) ys.set(name, ys.size);
    largest.set(name, Math.max(largest.get(name) ?? 0, numberAt(row, value) ?? 0));
  });
  const cells = rows.flatMap((row, index) => {
    const name = names[index] ?? { x: '', y: '' };
    const number = numberAt(row, value);
    if (number === null) return [];
    const most = largest.get(name.y) || 1;
    return [
      {
        row: index,
        x: xs.get(name.x) ?? 0,
        y: ys.get(name.y) ?? 0,
        share: Math.max(0, number / most),
      },
    ];
  });
  return { xs: order, ys: [...ys.keys()], cells };
}

// The points of a roofline: rows that have flops and bytes, with their positions and sizes.
import type { Cell } from '../../data/types';
import { numberAt, textAt, type Field } from './data';
import { radiusOf } from './roofline';

export interface Point {
  row: number;
  level: number; // index of the x column: the memory of the intensity
  x: number; // flops per byte
  y: number; // flops per second
  radius: number;
  share: number; // share of the time of all rows
  category: string;
}

export interface Points {
  points: Point[]; // the largest first, so that the small ones lie on top
  leftOut: number; // rows without flops or bytes: they have no place on a log scale
  leftOutShare: number; // their share of the time
}

export function pointsOf(
  rows: Cell[][],
  xs: Field[],
  y: Field,
  size: Field | null,
  category: Field | null,
): Points {
  const total = rows.reduce((sum, row) => sum + Math.max(0, numberAt(row, size) ?? 0), 0);
  const largest = rows.reduce((most, row) => Math.max(most, numberAt(row, size) ?? 0), 0);
  // Many similar points stay small, so that they do not hide each other.
  const most = total > 0 ? Math.max(0.1, largest / total) : 4;
  const points: Point[] = [];
  let leftOut = 0;
  let leftOutShare = 0;
  rows.forEach((row, index) => {
    const share = total > 0 ? Math.max(0, numberAt(row, size) ?? 0) / total : 1 / rows.length;
    const value = numberAt(row, y) ?? 0;
    let placed = 0;
    xs.forEach((x, level) => {
      const intensity = numberAt(row, x) ?? 0;
      if (!(value > 0) || !(intensity > 0)) return;
      ++placed;
      const text = textAt(row, category);
      points.push({
        row: index,
        level,
        x: intensity,
        y: value,
        radius: radiusOf(share, most),
        share,
        category: text,
      });
    });
    if (!placed) {
      ++leftOut;
      leftOutShare += share;
    }
  });
  points.sort((a, b) => b.radius - a.radius);
  return { points, leftOut, leftOutShare };
}

// Returns the memory of an intensity. "dram_flops_per_byte" is that of the device's memory, whose roof is
// called `memory` among the peaks.
export function memoryOf(x: Field): string {
  const level = x.name.replace(/_?flops_per_byte$/, '');
  return level === 'l2' || level === 'l1' ? level : 'memory';
}

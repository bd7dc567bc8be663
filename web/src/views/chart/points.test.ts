import { expect, it } from 'vitest';
import type { Field } from './data';
import { memoryOf, pointsOf } from './points';

const field = (index: number, name: string, unit = 'number'): Field => ({
  index,
  name,
  unit,
  label: name,
});

it('places what has flops and bytes, and counts what has not', () => {
  const rows = [
    [10, 1e12, 300, 'memory'],
    [0, 0, 100, 'memory'],
    [20, 2e12, 600, 'compute'],
  ];
  const made = pointsOf(rows, [field(0, 'x')], field(1, 'y'), field(2, 'ns'), field(3, 'bound'));
  expect(made.points.map((one) => [one.row, one.share, one.category])).toEqual([
    [2, 0.6, 'compute'],
    [0, 0.3, 'memory'],
  ]);
  expect(made.leftOut).toBe(1);
  expect(made.leftOutShare).toBeCloseTo(0.1);
});

it('places a row once for each memory', () => {
  const xs = [field(0, 'dram_flops_per_byte'), field(1, 'l2_flops_per_byte')];
  const made = pointsOf([[100, 10, 1e12]], xs, field(2, 'y'), null, null);
  expect(made.points.map((one) => [one.level, one.x])).toEqual([
    [0, 100],
    [1, 10],
  ]);
  expect(xs.map(memoryOf)).toEqual(['memory', 'l2']);
  expect(memoryOf(field(0, 'intensity_flops_per_byte'))).toBe('memory');
});

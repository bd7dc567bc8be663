import { expect, it } from 'vitest';
import type { Field } from './data';
import { summaryOf, summaryOfSlices } from './summary';

const x: Field = { index: 0, name: 'index', unit: 'count', label: 'index' };
const y: Field = { index: 1, name: 'latency_ns', unit: 'ns', label: 'latency' };
const titled = { title: (row?: unknown[]) => String(row?.[2] ?? '') };

it('names the smallest and the largest', () => {
  const rows = [
    [0, 1000, 'a'],
    [1, null, 'b'],
    [2, 3000, 'c'],
  ];
  expect(summaryOf(rows, [x], y, titled)).toBe(
    'latency of 2 rows: from 1.000 us at index 0 (a) to 3.000 us at index 2 (c).',
  );
  expect(summaryOf(rows.slice(0, 1), [x], y, titled)).toBe('latency: 1.000 us at index 0 (a).');
  expect(summaryOf([], [x], y, titled)).toBe('latency: not measured.');
});

it('names the largest parts', () => {
  const slices = [
    { label: 'Conv', value: 3000, rows: [0], share: 75 },
    { label: 'Relu', value: 1000, rows: [1], share: 25 },
  ];
  expect(summaryOfSlices(slices, 4000, y)).toBe(
    'latency, 4.000 us in all: Conv 75.0 %, Relu 25.0 %.',
  );
});

import { expect, it } from 'vitest';
import type { Cell } from '../data/types';
import { fitted, sameIn, splitEmpty, tableColumns } from './columns';

const columns = [
  { name: 'name', unit: 'text', description: 'What it is called.' },
  { name: 'latency_ns', unit: 'ns' },
  { name: 'self_ns', unit: 'ns' },
  { name: 'value', unit: 'by:unit' },
  { name: 'unit', unit: 'text' },
];
const rows: Cell[][] = [
  ['a long name of a layer', 2_000_000, 100_000, 1024, 'bytes'],
  ['b\nc', 1_000_000, null, 1500, 'ns'],
];

it('columns of one unit share a scale; a value may bring its own unit', () => {
  const made = tableColumns(columns, rows, [0, 1, 2, 3]);
  expect(made.map((one) => one.unit)).toEqual(['', 'ms', 'ms', '']);
  expect(made.map((one) => one.write(rows[0] as Cell[]))).toEqual([
    'a long name of a layer',
    '2.000',
    '0.100',
    '1.00 KiB',
  ]);
  expect(made.map((one) => one.write(rows[1] as Cell[]))).toEqual(['b c', '1.000', '', '1.500 us']);
  expect(made[0]?.characters).toBe(22);
});

it('the widest texts give way first, numbers never', () => {
  const made = tableColumns(columns, rows, [0, 1]);
  expect(fitted(made, 100)).toEqual([22, 7]);
  expect(fitted(made, 25)).toEqual([18, 7]);
  expect(fitted(made, 3)).toEqual([12, 7]);
  const said = made.map((one) => ({ ...one, characters: 80, hasSentences: one.isText }));
  expect(fitted(said, 3)[0]).toBe(30);
});

it('columns that are empty throughout are apart', () => {
  const some: Cell[][] = [
    [1, null],
    [2, null],
  ];
  expect(splitEmpty(some, [0, 1])).toEqual({ full: [0], empty: [1] });
  expect(splitEmpty([], [0, 1])).toEqual({ full: [0, 1], empty: [] });
});

it('a caption is what every row says', () => {
  const some: Cell[][] = [
    [1, null, 5, null],
    [1, null, 6, 7],
  ];
  expect([0, 1, 2, 3].filter(sameIn(some))).toEqual([0]);
  expect([0].filter(sameIn([]))).toEqual([]);
});

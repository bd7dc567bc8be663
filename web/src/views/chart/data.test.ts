import { expect, it } from 'vitest';
import type { Analysis, Column, View } from '../../data/types';
import { binned, emptyField, factsOf, fieldOf, slicesOf } from './data';

const columns: Column[] = [
  { name: 'type', unit: 'text', description: '' },
  { name: 'latency_ns', unit: 'ns', description: '' },
  { name: 'value', unit: 'by:unit', description: '' },
  { name: 'unit', unit: 'text', description: '' },
];

it('says all that a row has, in units', () => {
  expect(factsOf(columns, ['Conv', 1500, 2048, 'bytes'])).toEqual([
    ['type', 'Conv'],
    ['latency', '1.500 us'],
    ['value', '2.00 KiB'],
    ['unit', 'bytes'],
  ]);
  expect(factsOf(columns, [null, null, null, null])).toEqual([]);
});

it('slices are in order, and the smallest ones are together', () => {
  const label = fieldOf(columns, 'type');
  const value = fieldOf(columns, 'latency_ns');
  if (!label || !value) throw new Error('no such column');
  const rows = [
    ['a', 1],
    ['b', 5],
    ['c', null],
    ['d', 2],
    ['e', 3],
  ];
  const { slices, total } = slicesOf(rows, label, value, 3);
  expect(total).toBe(11);
  expect(slices).toEqual([
    { label: 'b', value: 5, share: 45.5, rows: [1] },
    { label: 'e', value: 3, share: 27.3, rows: [4] },
    { label: '2 others', value: 3, share: 27.2, rows: [3, 0] },
  ]);
});

it('what has no share is no part of the whole', () => {
  const [label, value] = [fieldOf(columns, 'type'), fieldOf(columns, 'latency_ns')];
  const share = { index: 2, name: 'share_pct', unit: 'pct', label: 'share' };
  if (!label || !value) throw new Error('no such column');
  const rows = [
    ['busy', 6, 60],
    ['idle', 4, 40],
    ['less the cost of recording', 5, null],
  ];
  expect(slicesOf(rows, label, value, 8, share).total).toBe(10);
});

it('of many bars each pixel shows the largest', () => {
  expect(binned([1, 9, null, 3], 2)).toEqual([1, 3]);
  expect(binned([1, 2], 5)).toEqual([0, 1]);
});

it('a chart whose values are all unknown is not drawn', () => {
  const analysis = { columns } as Analysis;
  const view: View = { kind: 'bar', options: { x: 'type', y: 'latency_ns' } };
  expect(emptyField(analysis, view, [['a', null]])?.label).toBe('latency');
  expect(
    emptyField(analysis, view, [
      ['a', null],
      ['b', 0],
    ]),
  ).toBeNull();
  expect(emptyField(analysis, view, [])).toBeNull();
  expect(emptyField(analysis, { kind: 'table', options: {} }, [['a', null]])).toBeNull();
});

import { expect, it } from 'vitest';
import { heatOf } from './heat';

it('each line goes by its own largest value, the columns by number', () => {
  const field = (index: number, unit: string) => ({ index, name: '', unit, label: '' });
  const rows = [
    ['conv', 16, 5],
    ['conv', 1, 10],
    ['relu', 1, 2],
    ['relu', 16, null],
  ];
  const heat = heatOf(rows, field(1, 'count'), field(0, 'text'), field(2, 'ns'));
  expect(heat.xs).toEqual(['1', '16']);
  expect(heat.ys).toEqual(['conv', 'relu']);
  expect(heat.cells).toEqual([
    { row: 0, x: 1, y: 0, share: 0.5 },
    { row: 1, x: 0, y: 0, share: 1 },
    { row: 2, x: 0, y: 1, share: 1 },
  ]);
});

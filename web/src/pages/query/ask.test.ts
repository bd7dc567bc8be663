import { expect, test } from 'vitest';
import { drawingOf, type Answer } from './ask';

const answer: Answer = {
  analysis: '',
  parameters: {},
  columns: [
    { name: 'batch', unit: 'number' },
    { name: 'type', unit: 'text' },
    { name: 'time_ns', unit: 'ns' },
  ],
  rows: [[1, 'Conv', 5]],
  total_rows: 1,
  is_cut: false,
};

test('without a wish an answer is a table, and a drawing has the last number over the first column', () => {
  expect(drawingOf(answer, new URLSearchParams())).toEqual({
    kind: '',
    x: 'batch',
    y: 'time_ns',
    series: '',
  });
});

test('a wish for a column that the answer lacks is no wish', () => {
  const wanted = new URLSearchParams('draw=line&x=type&y=gone_ns&series=type');
  expect(drawingOf(answer, wanted)).toEqual({
    kind: 'line',
    x: 'type',
    y: 'time_ns',
    series: 'type',
  });
  expect(drawingOf(answer, new URLSearchParams('draw=pie')).kind).toBe('');
});

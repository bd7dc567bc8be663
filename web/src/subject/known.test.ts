import { describe, expect, it } from 'vitest';
import type { Analysis, Rows } from '../data/types';
import { neighbours, rowsAbout } from './known';

const analysis: Analysis = {
  id: 'x',
  name: 'x',
  title: '',
  question: '',
  description: '',
  needs: ['layer'],
  params: [],
  columns: [
    { name: 'batch', unit: 'count', description: '' },
    { name: 'layer', unit: 'text', description: '' },
  ],
  views: [],
};
const answer = (rows: Rows['rows']): Rows => ({
  analysis: 'x',
  parameters: {},
  columns: analysis.columns,
  rows,
  total_rows: rows.length,
});

describe('rowsAbout', () => {
  it('takes the rows of one layer from every batch size', () => {
    const answers = [
      answer([
        [1, 'conv1'],
        [1, 'relu'],
      ]),
      answer([[2, 'conv1']]),
    ];
    expect(rowsAbout(analysis, answers, 'layer', 'conv1')).toEqual([
      [1, 'conv1'],
      [2, 'conv1'],
    ]);
  });
  it('has none where rows are about something else', () => {
    expect(rowsAbout(analysis, [answer([[1, 'conv1']])], 'kernel', 'conv1')).toEqual([]);
  });
});

describe('neighbours', () => {
  it('are those of the order of execution', () => {
    expect(neighbours(['a', 'b', 'c'], 'b')).toEqual({ before: 'a', after: 'c' });
    expect(neighbours(['a', 'b'], 'a')).toEqual({ after: 'b' });
    expect(neighbours(['a'], 'z')).toEqual({});
  });
});

import { expect, it } from 'vitest';
import type { Row } from '../data/records';
import { differenceColour, mergedParts } from './parts';

const row = (depth: number, name: string, share: number): Row => ({
  depth,
  tree: `${'  '.repeat(depth)}${name}`,
  share_ns: share,
});
const a = [
  row(0, 'inference', 100),
  row(1, 'resnet50', 100),
  row(2, 'conv', 70),
  row(3, 'gemm', 70),
  row(2, 'pool', 30),
];
const b = [
  row(0, 'inference', 90),
  row(1, 'resnet50 in 16 bits', 90),
  row(2, 'conv', 40),
  row(3, 'gemm16', 40),
  row(2, 'pool', 30),
  row(2, 'cast', 20),
];

it('parts with the same path are one, others are of one model alone', () => {
  const rows = mergedParts(a, b);
  expect(rows.map(([depth, name, first, second]) => [depth, name, first, second])).toEqual([
    [0, 'inference', 100, 90],
    [1, 'resnet50, resnet50 in 16 bits', 100, 90],
    [2, 'conv', 70, 40],
    [3, 'gemm', 70, 0],
    [3, 'gemm16', 0, 40],
    [2, 'pool', 30, 30],
    [2, 'cast', 0, 20],
  ]);
});

it('differences and widths of the parts add up to those of the whole', () => {
  const rows = mergedParts(a, b);
  for (const column of [4, 5]) {
    const sum = rows
      .filter(([depth]) => depth === 2)
      .reduce((total, one) => total + Number(one[column]), 0);
    expect(sum).toBe(rows[0]?.[column]);
  }
});

it('red is longer, blue is shorter, and equal times are grey', () => {
  expect(differenceColour(1, 2)).toContain('--c4');
  expect(differenceColour(2, 1)).toContain('--c1');
  expect(differenceColour(5, 5)).toContain('* 0.00');
});

import { describe, expect, it } from 'vitest';
import { segmentsOf, summed } from './levels';

const parts = (...values: number[]) => values.map((value, at) => ({ name: `p${at}`, value }));

describe('segmentsOf', () => {
  it('adds up to the whole', () => {
    const segments = segmentsOf(100, parts(30, 50), 'between');
    expect(segments.map((one) => one.name)).toEqual(['p1', 'p0', 'between']);
    expect(segments.reduce((sum, one) => sum + one.value, 0)).toBe(100);
    expect(segments.reduce((sum, one) => sum + one.share, 0)).toBeCloseTo(1);
  });
  it('puts the small ones together', () => {
    const segments = segmentsOf(36, parts(1, 2, 3, 4, 5, 6, 7, 8), 'between', 4);
    expect(segments.map((one) => one.name)).toEqual(['p7', 'p6', 'p5', '5 others']);
    expect(segments.at(-1)?.value).toBe(15);
  });
  it('is as long as parts that exceed the whole', () => {
    const segments = segmentsOf(10, parts(8, 4), 'between');
    expect(segments.map((one) => one.kind)).toEqual(['part', 'part']);
    expect(segments[0]?.share).toBeCloseTo(8 / 12);
  });
  it('has nothing to show of nothing', () => {
    expect(segmentsOf(0, [], 'between')).toEqual([]);
  });
});

describe('summed', () => {
  it('adds parts of one name', () => {
    expect(
      summed([
        { name: 'Conv', value: 2 },
        { name: 'Relu', value: 1 },
        { name: 'Conv', value: 3 },
      ]),
    ).toEqual([
      { name: 'Conv', value: 5, detail: '2 of them' },
      { name: 'Relu', value: 1 },
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { below, modelOf, nsOf, restOf, segmentsOf, unmeasured, writtenOf } from './levels';

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

const row = (level: string, parent: string | null, name: string, ns: number, isRest = false) => ({
  level,
  parent,
  name,
  share_ns: ns,
  is_rest: isRest,
  detail: '',
});
const rows = [
  row('model', null, 'small', 10),
  row('layer type', 'small', 'Conv', 7),
  row('layer type', 'small', 'between layers', 3, true),
  row('layer', 'Conv', 'conv1', 4),
  row('layer', 'Conv', 'conv2', 3),
];

describe('writtenOf', () => {
  it('adds up to what the bar above says of the part', () => {
    const above = segmentsOf(300, parts(100, 100, 100), 'between');
    const shares = writtenOf(above, 300, 100);
    expect(shares).toEqual([33.4, 33.3, 33.3]);
    const inside = writtenOf(segmentsOf(0, parts(50, 50), ''), 300, shares[0]);
    expect(inside).toEqual([16.7, 16.7]);
  });
  it('says more than the part where kernels overlap', () => {
    expect(writtenOf(segmentsOf(0, parts(100, 100), ''), 300, 33.3)).toEqual([33.4, 33.3]);
  });
});

describe('below', () => {
  it('has the parts of one row', () => {
    expect(below(rows, 'layer', 'Conv').map((one) => one.name)).toEqual(['conv1', 'conv2']);
    expect(below(rows, 'layer', 'Gemm')).toEqual([]);
  });
  it('tells what the parts leave', () => {
    const types = below(rows, 'layer type', 'small');
    expect(restOf(types)).toBe('between layers');
    expect(restOf(below(rows, 'layer', 'Conv'))).toBe('');
    const segments = segmentsOf(nsOf(modelOf(rows)), types, restOf(types));
    expect(segments.map((one) => [one.name, one.kind, one.value])).toEqual([
      ['Conv', 'part', 7],
      ['between layers', 'rest', 3],
    ]);
  });
  it('tells what was not measured from what takes something off the sum', () => {
    const off = { level: 'layer type', parent: 'small', name: 'less the cost of recording' };
    const slower = { ...off, latency_ns: -1, share_pct: null, share_ns: null, is_rest: true };
    expect(unmeasured([...rows, slower])).toBe(undefined);
    expect(restOf(below([slower, ...rows], 'layer type', 'small'))).toBe('between layers');
    const missing = { ...off, name: 'layers', latency_ns: null, share_pct: null };
    expect(unmeasured([...rows, missing])?.['name']).toBe('layers');
  });
});

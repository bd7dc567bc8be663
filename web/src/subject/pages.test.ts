import { describe, expect, it } from 'vitest';
import type { Analysis, Cell, Column } from '../data/types';
import { kernelFigures, layerFigures, ordinal } from './figures';
import type { Known } from './known';
import { isSingle, matrixOf } from './matrix';
import { growthOf, spreadOfKernel, spreadOfLayer, topOf } from './spread';

const units: Record<string, string> = { name: 'text', layer: 'text', type: 'text', bound: 'text' };
const columnOf = (name: string): Column => ({
  name,
  unit: units[name] ?? /_(ns|pct|bytes)$/.exec(name)?.[1] ?? (name === 'flops' ? name : 'count'),
  description: '',
});
function known(name: string, needs: string[], columns: string[], rows: Cell[][], all = rows) {
  const described = columns.map(columnOf);
  const analysis = { name, title: name, needs, columns: described } as unknown as Analysis;
  const answer = { analysis: name, parameters: {}, columns: described, rows: all, total_rows: 2 };
  return { analysis, rows, answers: [answer] } as Known;
}
const info = known(
  'layer_information',
  ['layer'],
  ['batch', 'name', 'type', 'latency_ns', 'self_ns', 'layers_share_pct', 'memory_bytes'],
  [
    [1, 'conv', 'Conv', 2000, 2000, 40, 1024],
    [4, 'conv', 'Conv', 6000, 6000, 30, null],
  ],
  [
    [1, 'conv', 'Conv', 2000, 2000, 40, 1024],
    [1, 'relu', 'Relu', 3000, 3000, 60, 0],
  ],
);

describe('key figures', () => {
  it('are of the batch size, with the rank among all', () => {
    const figures = layerFigures([info], 1);
    expect(figures.map((one) => [one.title, one.value])).toEqual([
      ['Latency, on the host', '2.000 us'],
      ['Share', '40.0 %'],
      ['Memory', '1.00 KiB'],
    ]);
    expect(figures[1]?.details).toContain('2nd of 2 layers');
  });
  it('leave out what was not measured', () => {
    expect(layerFigures([info], 4).map((one) => one.title)).not.toContain('Memory');
    expect(layerFigures([], 1)).toEqual([]);
    expect(layerFigures([info], 2)).toEqual([]);
    expect(kernelFigures([info], 1)).toEqual([]);
  });
  it('count in order', () => {
    expect([1, 2, 3, 4, 11, 22].map(ordinal)).toEqual(['1st', '2nd', '3rd', '4th', '11th', '22nd']);
  });
});

describe('the matrix', () => {
  it('has a column for each batch size, and says nothing twice', () => {
    const again = known(
      'again',
      ['layer'],
      ['batch', 'name', 'latency_ns'],
      [
        [1, 'conv', 2000],
        [4, 'conv', 6000],
      ],
    );
    const groups = matrixOf([info, again], [1, 4]);
    expect(groups.map((one) => one.analysis.name)).toEqual(['layer_information']);
    const facts = groups[0]?.facts ?? [];
    expect(facts.find((one) => one.name === 'latency_ns')).toMatchObject({
      unit: 'us',
      texts: ['2.000', '6.000'],
    });
    expect(facts.find((one) => one.name === 'type')).toMatchObject({ isSame: true });
    expect(facts.find((one) => one.name === 'memory_bytes')?.texts).toEqual(['1.00', '']);
    expect(facts.some((one) => one.name === 'name')).toBe(false);
  });
  it('leaves rows that are several at a batch size to a table', () => {
    const several = known(
      'several',
      ['layer'],
      ['batch', 'name'],
      [
        [1, 'conv'],
        [1, 'conv'],
      ],
    );
    expect(isSingle(info)).toBe(true);
    expect(isSingle(several)).toBe(false);
  });
});

describe('the spread', () => {
  it('is a box of a layer, a dot of one execution of a kernel', () => {
    const row = {
      batch: 2,
      min_ns: 1,
      quartile1_ns: 2,
      quartile3_ns: 4,
      max_ns: 90,
      latency_ns: 3,
    };
    const [box] = spreadOfLayer([row]);
    expect(box).toMatchObject({ batch: 2, half: [2, 4], middle: 3 });
    expect(spreadOfLayer([{ ...row, max_ns: null }])).toEqual([]);
    const [dot] = spreadOfKernel([{ ...row, per_inference: 3, layer: null }]);
    expect(dot).toMatchObject({ middle: 1, half: null, label: 'in no layer' });
  });
  it('cuts what lies far above, and no more', () => {
    const one = { batch: 1, label: '', least: 1, middle: 10, most: 100, half: null };
    expect(topOf([one])).toBe(16);
    expect(topOf([{ ...one, most: 12 }])).toBe(12);
  });
  it('tells how the time grows with the batch size', () => {
    const at = (batch: number, middle: number) => ({
      batch,
      label: '',
      least: 1,
      middle,
      most: 1,
      half: null,
    });
    expect(growthOf([at(1, 10), at(4, 20)])).toBe('4 times the inputs: 2.00 times the time.');
    expect(growthOf([at(1, 10)])).toBe('');
  });
});

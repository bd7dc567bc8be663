import { describe, expect, it } from 'vitest';
import type { Cell } from '../data/types';
import {
  causes,
  facts,
  hasName,
  inWords,
  items,
  modelRows,
  ownName,
  type Comparison,
} from './comparison';
import { sums } from './sums';

function comparison(
  table: Comparison['comparison'],
  columns: string[],
  ...rows: Cell[][]
): Comparison {
  return {
    comparison: table,
    evaluations: ['a.xsp', 'b.xsp'],
    batch: 1,
    warnings: [],
    columns: columns.map((name) => ({ name, unit: 'number' })),
    rows,
    total_rows: rows.length,
  };
}

const layers = comparison(
  'layers',
  [
    'index',
    'layer',
    'type',
    'matched_b',
    'layer_b',
    'type_b',
    'latency_a_ns',
    'latency_b_ns',
    'difference_b_ns',
    'share_b_pct',
    'analytic_a_flops',
    'moved_a_bytes',
    'names_a',
    'names_b',
  ],
  [0, 'conv +bn', 'Conv', 'group', 'f', 'Fused', 30, 10, -20, 200, 6, 2, '["conv","bn"]', '["f"]'],
  [null, 'new', 'Add', 'none', 'new', 'Add', null, 10, 10, -100, null, null, null, '["new"]'],
);

describe('items', () => {
  const [group, added] = items(layers);
  it('have a side for each evaluation', () => {
    expect(group?.sides.map((side) => side.label)).toEqual(['conv +bn', 'f']);
    expect(group?.sides.map((side) => side.latency)).toEqual([30, 10]);
    expect(group?.sides[1]?.matched).toBe('group');
    expect(group?.sides[0]?.flops).toBe(6);
    expect(group?.sides[1]?.flops).toBeNull();
  });
  it('of which one may be missing', () => {
    expect(added?.sides[0]?.label).toBeNull();
    expect(added?.sides[0]?.latency).toBeNull();
    expect(added?.index).toBeNull();
  });
  it('are found by any of their names, and go by the reference’s', () => {
    expect(hasName(group!, 'bn')).toBe(true);
    expect(hasName(group!, 'f')).toBe(true);
    expect(hasName(group!, 'conv +bn')).toBe(false);
    expect(hasName(group!, undefined)).toBe(false);
    expect(ownName(group!)).toBe('conv');
    expect(ownName(added!)).toBe('new');
  });
  it('add up to the difference of the sums', () => {
    const total = sums(items(layers), 1);
    expect(total.latencies).toEqual([30, 20]);
    expect(total.difference).toBe(-10);
    expect(total.share).toBe(100);
    expect(sums([], 1)).toEqual({ latencies: [], difference: 0, share: null });
  });
});

describe('modelRows', () => {
  it('tell what was measured from what was not', () => {
    const [row] = modelRows(
      comparison(
        'model',
        ['batch', 'iterations_a', 'latency_a_ns', 'latency_b_ns', 'significant_b', 'verdict_b'],
        [4, 12, 100, null, null, 'not measured: why'],
      ),
    );
    expect(row?.batch).toBe(4);
    expect(row?.sides[0]?.iterations).toBe(12);
    expect(row?.sides[0]?.median).toBe(100);
    expect(row?.sides[1]).toBeNull();
    expect(row?.verdicts[0]).toBeNull();
    expect(row?.verdicts[1]?.significant).toBeNull();
    expect(row?.verdicts[1]?.text).toBe('not measured: why');
  });
});

describe('modelRows of watched programs', () => {
  it('say that the step is compared', () => {
    const [row] = modelRows(
      comparison(
        'model',
        ['batch', 'unit_a', 'latency_a_ns', 'unit_b', 'latency_b_ns'],
        [1, 'step', 51e6, 'inference', 7e6],
      ),
    );
    expect(row?.sides.map((side) => side?.isStep)).toEqual([true, false]);
    expect(row?.sides[0]?.throughput).toBeNull();
  });
});

describe('causes', () => {
  it('have the times of all, and the difference of the chosen one', () => {
    const rows = causes(
      comparison(
        'causes',
        ['cause', 'latency_a_ns', 'latency_b_ns', 'difference_b_ns', 'share_b_pct'],
        ['launch', 900, 100, -800, 80],
        ['copy', null, 20, 20, -2],
        ['together', 2000, 1000, -1000, 100],
      ),
      1,
    );
    expect(rows.map((row) => row.cause)).toEqual(['launch', 'copy', 'all together']);
    expect(rows[0]).toMatchObject({ times: [900, 100], difference: -800, share: 80 });
    expect(rows[1]?.times).toEqual([null, 20]);
    expect(rows.map((row) => row.isWhole)).toEqual([false, false, true]);
  });
});

describe('facts', () => {
  it('name an evaluation by its model, framework and device', () => {
    const all = facts(
      comparison(
        'facts',
        ['subject', 'fact', 'differs', 'value_a', 'value_b'],
        ['model', 'model', false, 'resnet50', 'resnet50'],
        ['framework', 'framework', true, 'torch', 'onnxruntime'],
        ['framework', 'framework_version', true, '2.11.0', '1.31.1'],
        ['device', 'gpu.0.name', true, 'NVIDIA H200', null],
        ['machine', 'machine.cpu', true, 'Xeon', 'EPYC'],
        ['record', 'command', null, 'x', 'y'],
        ['record', 'setting.compiler', true, 'aotinductor', null],
      ),
    );
    expect(inWords(all, 0)).toBe('resnet50 · torch+aotinductor 2.11.0 · NVIDIA H200');
    expect(inWords(all, 1)).toBe('resnet50 · onnxruntime 1.31.1 · EPYC');
    expect(all[5]?.differs).toBeNull();
  });
});

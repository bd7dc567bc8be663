import { describe, expect, it } from 'vitest';
import type { EvaluationEntry } from '../../data/types';
import {
  batchesText,
  chosenOf,
  deviceOf,
  figuresOf,
  groupsOf,
  measuredAt,
  ordered,
  valuesOf,
} from './list';

const entry = (id: string, size: number, facts: Record<string, string> = {}): EvaluationEntry => ({
  id,
  size_bytes: size,
  modified: '2026-01-01T00:00:00Z',
  status: 'ok',
  reason: '',
  facts,
  batches: [1],
});
const broken: EvaluationEntry = { ...entry('a', 0), status: 'unreadable', reason: 'cut short' };
const list = [broken, entry('b10', 3), entry('b9', 7)];
const ids = (some: EvaluationEntry[]) => some.map((one) => one.id);

describe('batch sizes', () => {
  it('are all there, or the first, the last and how many', () => {
    expect(batchesText([1, 16])).toBe('1, 16');
    expect(batchesText([1, 2, 4, 8])).toBe('1 to 8 (4)');
  });
});

describe('ordered', () => {
  it('orders by a column, what cannot be read last', () => {
    expect(ids(ordered(list, 'size', false, {}))).toEqual(['b10', 'b9', 'a']);
    expect(ids(ordered(list, 'size', true, {}))).toEqual(['b9', 'b10', 'a']);
    expect(ids(ordered(list, 'evaluation', false, {}))).toEqual(['b9', 'b10', 'a']);
  });
  it('orders by latency, the unknown after the known', () => {
    const at = (batch: number, latency: number) => ({
      batch,
      latency,
      throughput: batch / latency,
      low: null,
      high: null,
      p99: null,
      hasBatch: true,
      isDoubtful: false,
    });
    const known = { b9: [at(1, 5), at(8, 20)], b10: [at(8, 10)] };
    expect(ids(ordered(list, 'latency', false, { b9: [at(1, 5)] }))).toEqual(['b9', 'b10', 'a']);
    expect(ids(ordered(list, 'latency', true, { b9: [at(1, 5)] }))).toEqual(['b9', 'b10', 'a']);
    expect(ids(ordered(list, 'latency', false, known))).toEqual(['b9', 'b10', 'a']);
    expect(ids(ordered(list, 'latency', false, known, 8))).toEqual(['b10', 'b9', 'a']);
    expect(ids(ordered(list, 'throughput', true, known, 8))).toEqual(['b10', 'b9', 'a']);
  });
  it('keeps the order of equals', () => {
    expect(ids(ordered(list, 'model', true, {}))).toEqual(['b10', 'b9', 'a']);
  });
});

describe('measuredAt', () => {
  it('is when the measurement began, or else the time of the file', () => {
    expect(measuredAt(entry('a', 1, { started_at: '2025-12-01T08:00:00Z' }))).toBe(
      '2025-12-01T08:00:00Z',
    );
    expect(measuredAt(entry('a', 1))).toBe('2026-01-01T00:00:00Z');
  });
  it('orders a copied file by its measurement', () => {
    const copied = entry('c', 1, { started_at: '2025-12-01T08:00:00Z' });
    expect(ids(ordered([entry('b', 1), copied], 'measured', false, {}))).toEqual(['c', 'b']);
  });
});

describe('deviceOf', () => {
  it('is the GPU by its name', () => {
    expect(deviceOf(entry('a', 1, { device: 'cuda:0', 'gpu.0.name': 'H200' }))).toBe('H200');
    expect(deviceOf(entry('a', 1, { device: 'cpu' }))).toBe('cpu');
  });
});

describe('what is chosen', () => {
  const some = [
    entry('a', 1, { model: 'resnet50', framework: 'torch', 'tag.who': 'me', 'machine.host': 'h1' }),
    entry('b', 1, { model: 'resnet50', framework: 'onnxruntime' }),
    { ...entry('c', 1, { model: 'bert', framework: 'torch' }), batches: [4, 8] },
  ];
  it('has every word, wherever it stands, and every value', () => {
    expect(ids(chosenOf(some, 'RESNET torch', {}))).toEqual(['a']);
    expect(ids(chosenOf(some, 'h1', {}))).toEqual(['a']);
    expect(ids(chosenOf(some, '', { framework: 'torch' }))).toEqual(['a', 'c']);
    expect(ids(chosenOf(some, '', { framework: 'torch', batch: '8' }))).toEqual(['c']);
    expect(ids(chosenOf(some, '', { tag: 'who=me' }))).toEqual(['a']);
    expect(ids(chosenOf(some, 'nobody', {}))).toEqual([]);
  });
  it('is counted as if only that facet were chosen anew', () => {
    expect(valuesOf(some, '', { model: 'resnet50' }, 'model')).toEqual([
      ['bert', 1],
      ['resnet50', 2],
    ]);
    expect(valuesOf(some, '', { model: 'resnet50' }, 'framework')).toEqual([
      ['onnxruntime', 1],
      ['torch', 1],
    ]);
  });
  it('is grouped in the order of the list', () => {
    expect(groupsOf(some, 'framework').map(([name, all]) => [name, ids(all)])).toEqual([
      ['torch', ['a', 'c']],
      ['onnxruntime', ['b']],
    ]);
    expect(groupsOf(some, '')).toHaveLength(1);
  });
});

it('the figures of each batch size; a row without a latency has none', () => {
  expect(
    figuresOf([
      { batch: 1, latency_ns: 5, throughput_per_s: 2, doubt: 'not settled' },
      { batch: 2, latency_ns: null },
    ]),
  ).toEqual([
    {
      batch: 1,
      hasBatch: true,
      latency: 5,
      low: null,
      high: null,
      throughput: 2,
      p99: null,
      isDoubtful: true,
    },
  ]);
});

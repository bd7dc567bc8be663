import { describe, expect, it } from 'vitest';
import type { EvaluationEntry } from '../../data/types';
import { deviceOf, measuredAt, ordered } from './list';

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

describe('ordered', () => {
  it('orders by a column, what cannot be read last', () => {
    expect(ids(ordered(list, 'size', false, {}))).toEqual(['b10', 'b9', 'a']);
    expect(ids(ordered(list, 'size', true, {}))).toEqual(['b9', 'b10', 'a']);
    expect(ids(ordered(list, 'evaluation', false, {}))).toEqual(['b9', 'b10', 'a']);
  });
  it('orders by latency, the unknown after the known', () => {
    const speeds = { b9: { batch: 1, latency: 5 } };
    expect(ids(ordered(list, 'latency', false, speeds))).toEqual(['b9', 'b10', 'a']);
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

import { expect, test } from 'vitest';
import type { EvaluationEntry } from '../../data/types';
import { labelOf, labelsOf, modelsOf, pairsOf, seriesOf } from './history';
import { figuresOf } from './list';

const entry = (id: string, at: string, facts: Record<string, string> = {}): EvaluationEntry => ({
  id,
  size_bytes: 1,
  modified: '2026-12-01T00:00:00Z',
  status: 'ok',
  reason: '',
  facts: { model: 'net', framework: 'torch', device: 'cpu', started_at: at, ...facts },
  batches: [1],
});
const figures = (batch: number, latency_ns: number) =>
  figuresOf([{ batch, latency_ns, low_ns: latency_ns - 1, high_ns: latency_ns + 1 }]);

const list = [
  entry('c', '2026-11-03', { 'tag.commit': '0123456789abcdef', 'tag.branch': 'main' }),
  entry('a', '2026-11-01', { 'tag.commit': 'fedcba9876543210' }),
  entry('b', '2026-11-02', { framework: 'onnxruntime' }),
  entry('d', '2026-11-04'),
  entry('other', '2026-11-04', { model: 'else' }),
];
const known = { a: figures(1, 100), b: figures(1, 50), c: figures(1, 120), d: figures(2, 200) };

test('a history is in the order of measurement, a series for each framework and device', () => {
  const { series, count, without } = seriesOf(list, 'net', known, null, 'commit');
  expect(count).toBe(4);
  expect(without).toBe(0);
  expect(series.map(({ name, moments }) => [name, moments.map((one) => one.id)])).toEqual([
    ['torch, cpu', ['a', 'c', 'd']],
    ['onnxruntime, cpu', ['b']],
  ]);
  expect(series[0]?.moments.map((one) => one.label)).toEqual(['fedcba98', '01234567', '']);
  expect(series[0]?.moments[0]?.figures).toMatchObject({ low: 99, high: 101 });
});

test('only neighbours of one series with equal batch sizes are compared', () => {
  const { series } = seriesOf(list, 'net', known, null, 'date');
  expect(pairsOf(series).map(([before, after]) => [before.id, after.id])).toEqual([['a', 'c']]);
  expect(seriesOf(list, 'net', known, 2, 'date').without).toBe(3);
});

test('commits name the moments if there are any, and the date otherwise', () => {
  expect(labelsOf(list)).toEqual(['commit', 'branch', 'date', 'framework version']);
  expect(labelsOf([entry('x', '2026-11-01')])[0]).toBe('date');
  expect(labelOf(list[0] as EvaluationEntry, 'branch')).toBe('main');
  expect(labelOf(list[0] as EvaluationEntry, 'date')).toBe('2026-11-03');
});

test('the model with the most evaluations comes first', () => {
  expect(modelsOf(list)).toEqual(['net', 'else']);
});

import { expect, test } from 'vitest';
import type { EvaluationEntry } from '../../data/types';
import { figuresOf } from './list';
import { axisOf, dotsOf, frontOf } from './scatter';

const [latency, throughput] = [axisOf('latency', ''), axisOf('throughput', '')];
const entry = (id: string, facts: Record<string, string> = {}): EvaluationEntry => ({
  id,
  size_bytes: 1,
  modified: '2026-11-20T10:00:00Z',
  status: 'ok',
  reason: '',
  facts,
  batches: [1],
});
const figures = (...rows: [number, number, number][]) =>
  figuresOf(
    rows.map(([batch, latency_ns, throughput_per_s]) => ({ batch, latency_ns, throughput_per_s })),
  );

test('the front has what no other point beats, by less latency and more throughput', () => {
  const dots = [
    { x: 10, y: 100 },
    { x: 20, y: 90 }, // beaten by the first
    { x: 20, y: 150 },
    { x: 30, y: 150 }, // as good as the third in one, worse in the other
    { x: 40, y: 400 },
    { x: 10, y: 100 }, // equal to the first: neither beats the other
  ];
  expect(frontOf(dots, latency, throughput).sort()).toEqual([0, 2, 4, 5]);
  expect(frontOf(dots, throughput, latency)).toEqual([1, 3, 4]);
  expect(frontOf(dots, latency, axisOf('measured', ''))).toEqual([]);
});

test('the front agrees with its definition on random points', () => {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) % 20;
  const dots = Array.from({ length: 300 }, () => ({ x: random(), y: random() }));
  const beaten = (one: { x: number; y: number }) =>
    dots.some((by) => by.x <= one.x && by.y >= one.y && (by.x < one.x || by.y > one.y));
  const expected = dots.flatMap((one, at) => (beaten(one) ? [] : [at]));
  expect(frontOf(dots, latency, throughput).sort((a, b) => a - b)).toEqual(expected);
});

test('a point for each evaluation, or for each batch size; what lacks a figure is counted', () => {
  const list = [entry('a', { model: 'm', framework: 'torch' }), entry('b'), entry('c')];
  const known = { a: figures([1, 10, 100], [4, 20, 200]), b: figures([2, 30, 66]) };
  const axes: [typeof latency, typeof latency] = [latency, throughput];
  const one = dotsOf(list, known, null, false, axes, [{}, {}], 'framework');
  expect(one.dots.map(({ id, batch, of }) => [id, batch, of])).toEqual([
    ['a', 1, 'torch'],
    ['b', 2, ''],
  ]);
  expect(one.without).toBe(1);
  const every = dotsOf(list, known, null, true, axes, [{}, {}], 'batch');
  expect(every.dots.map(({ of }) => of)).toEqual(['1', '4', '2']);
  expect(dotsOf(list, known, 4, false, axes, [{}, {}], 'model').without).toBe(2);
  const energy = axisOf('energy of an input', '');
  const found = { a: new Map([[4, 0.5]]) };
  const asked = dotsOf(list, known, null, true, [latency, energy], [{}, found], 'model');
  expect(asked.dots.map(({ batch, y }) => [batch, y])).toEqual([[4, 0.5]]);
});

import { describe, expect, it } from 'vitest';
import type { Peak } from '../../data/types';
import {
  ceilingsOf,
  flat,
  frameOf,
  ideal,
  labelsOf,
  radiusOf,
  slanted,
  weightedMedian,
} from './roofline';

// A V100 and the kernels of ResNet50 v1.5 on it, as XSP (arXiv 1908.06869) prints them: per batch size the
// kernel latency in ms, Gflop, and MiB read and written.
const FLOPS = 15.7e12;
const BYTES = 900e9;
const PRINTED = [
  [1, 5.01, 7.94, 192.49, 194.16, 19.58],
  [2, 5.93, 16.08, 290.41, 354.54, 23.78],
  [4, 7.68, 30.95, 659.11, 720.15, 21.4],
  [8, 11.6, 60.66, 1676.07, 1496.81, 18.23],
  [16, 20.14, 118.04, 3969.19, 3024.09, 16.1],
  [32, 37.14, 232.78, 7711.5, 5823.97, 16.4],
  [64, 67.72, 429.08, 10932.22, 9268.27, 20.26],
  [128, 131.79, 873.63, 16071.32, 16105.4, 25.89],
  [256, 254.25, 1742.39, 23185.11, 31095.45, 30.61],
] as const;

describe('on the numbers of the paper', () => {
  it('the roofs meet at 17.44 flops per byte', () => {
    expect(ideal(FLOPS, BYTES)).toBeCloseTo(17.44, 2);
  });
  it('batch sizes 16 and 32 are memory-bound, and all are under the roof', () => {
    const bound: number[] = [];
    for (const [batch, ms, gflop, read, written, intensity] of PRINTED) {
      const counted = (gflop * 1e9) / ((read + written) * 1048576);
      expect(Math.abs(counted - intensity)).toBeLessThan(0.03);
      if (counted < ideal(FLOPS, BYTES)) bound.push(batch);
      expect((gflop * 1e9) / (ms / 1e3)).toBeLessThan(Math.min(FLOPS, counted * BYTES));
    }
    expect(bound).toEqual([16, 32]);
  });
});

const peak = (name: string, value: number, source = 'measured', device = 'cuda:0'): Peak => ({
  device,
  name,
  value,
  source,
});
const peaks = [
  peak('fp32_flops_per_s', 65e12),
  peak('bf16_tensor_flops_per_s', 967e12),
  peak('fp32_1_thread_flops_per_s', 1e12),
  peak('int8_tensor_ops_per_s', 1.9e15),
  peak('memory_bytes_per_s', 4.6e12),
  peak('memory_read_bytes_per_s', 4.5e12),
  peak('l2_bytes_per_s', 7.5e12),
  peak('fp32_flops_per_s', 67e12, 'attribute'),
  peak('fp32_flops_per_s', 2e11, 'measured', 'cpu'),
];

describe('ceilings', () => {
  it('are those of one device and one source', () => {
    const found = ceilingsOf(peaks, 'cuda:0', 'measured');
    expect(found.compute.map((one) => one.name)).toEqual(['bf16_tensor', 'fp32']);
    expect(found.memory.map((one) => one.name)).toEqual(['l2', 'memory']);
    expect(ceilingsOf(peaks, 'cuda:0', 'attribute').compute).toEqual([
      { name: 'fp32', value: 67e12 },
    ]);
    expect(ceilingsOf(peaks, 'cpu', 'attribute').source).toBe('measured');
    expect(ceilingsOf(peaks, 'cuda:9', 'measured').compute).toEqual([]);
  });
  it('of fewer threads count where rows were held against them', () => {
    const found = ceilingsOf(peaks, 'cuda:0', 'measured', [1e12]);
    expect(found.compute.map((one) => one.name)).toContain('fp32_1_thread');
  });
});

it('a frame holds every point and every roof; lines end in it', () => {
  const roofs = ceilingsOf(peaks, 'cuda:0', 'measured');
  const frame = frameOf(
    [
      { x: 0.3, y: 2e9 },
      { x: 868, y: 25e12 },
    ],
    roofs,
  );
  expect(frame.x[0]).toBeLessThan(0.3);
  expect(frame.x[1]).toBeGreaterThan(868);
  expect(frame.y[0]).toBeLessThan(2e9);
  expect(frame.y[1]).toBeGreaterThan(967e12);
  const memory = { name: 'memory', value: 4.6e12 };
  const rising = slanted(memory, 967e12, frame);
  expect(rising.from.y).toBeCloseTo(rising.from.x * 4.6e12);
  expect(rising.to.y).toBeCloseTo(967e12, -9);
  const level = flat({ name: 'fp32', value: 65e12 }, 7.5e12, frame);
  expect(level.from.x).toBeCloseTo(65 / 7.5);
  expect(level.to.x).toBe(frame.x[1]);
});

it('a frame without anything is a frame', () => {
  const frame = frameOf([], { compute: [], memory: [], source: '' });
  expect(frame.x[0]).toBeLessThan(frame.x[1]);
});

it('labels that would lie over one another are one', () => {
  const at = (name: string, value: number, y: number, isHeld = false) => ({
    name,
    value,
    y,
    isHeld,
  });
  const labels = labelsOf([
    at('fp32', 65e12, 80, true),
    at('bf16_tensor', 967e12, 10),
    at('fp16_tensor', 918e12, 12),
  ]);
  expect(labels.map((one) => one.text)).toEqual([
    'bf16 tensor, fp16 tensor 967 Tflop/s',
    'fp32 65.0 Tflop/s',
  ]);
  expect(labels.map((one) => one.isHeld)).toEqual([false, true]);
});

it('the area of a point grows with its share', () => {
  expect(radiusOf(0)).toBe(3);
  expect(radiusOf(1)).toBe(16);
  expect(radiusOf(0.25)).toBeCloseTo(9.5);
  expect(radiusOf(0.1, 0.1)).toBe(16);
});

it('the middle goes by weight', () => {
  expect(
    weightedMedian([
      [14, 1],
      [104, 5],
      [28, 1],
    ]),
  ).toBe(104);
  expect(weightedMedian([])).toBeNull();
});

import { describe, expect, it } from 'vitest';
import type { Item, ItemSide } from './comparison';
import {
  arrows,
  decadeDomain,
  decades,
  linear,
  logarithmic,
  ratioDomain,
  roofOf,
  shownRoofs,
  ticks,
} from './geometry';

const side = (latency: number | null, flops: number | null, bytes: number | null): ItemSide => ({
  label: 'x',
  type: 'Conv',
  matched: 'name',
  names: ['x'],
  latency,
  count: null,
  flops,
  bytes,
  difference: 0,
  share: null,
});
const item = (...sides: ItemSide[]): Item => ({
  label: 'x',
  type: 'Conv',
  index: 0,
  layers: null,
  sides,
});

describe('scales', () => {
  it('place the ends of the domain at the ends of the range', () => {
    expect(linear([0, 10], [0, 100])(5)).toBe(50);
    expect(linear([3, 3], [0, 100])(3)).toBe(0);
    expect(logarithmic([1, 100], [0, 100])(10)).toBeCloseTo(50);
  });
  it('have round ticks that hold the largest value', () => {
    expect(ticks(46.4)).toEqual([0, 20, 40, 60]);
    expect(ticks(0)).toEqual([0]);
    expect(ticks(100, 4)).toEqual([0, 25, 50, 75, 100]);
    expect(decades(0.3, 42)).toEqual([0.1, 1, 10, 100]);
    expect(decadeDomain([3, 420])).toEqual([1, 1000]);
    expect(decadeDomain([])).toEqual([0.1, 10]);
    expect(decadeDomain([10])).toEqual([10, 100]);
  });
  it('put a ratio of one in the middle', () => {
    const [low, high] = ratioDomain([0.9, 1.2]);
    expect(low * high).toBeCloseTo(1);
    expect(high).toBeGreaterThan(1.2);
  });
});

describe('the roofline', () => {
  it('has an arrow for what is known on both sides', () => {
    const found = arrows(
      [
        item(side(1000, 2000, 100), side(500, 2000, 50)),
        item(side(1000, 2000, 100), side(null, null, null)),
        item(side(1000, 0, 100), side(500, 0, 50)),
      ],
      1,
    );
    expect(found).toHaveLength(1);
    expect(found[0]?.from.intensity).toBe(20);
    expect(found[0]?.from.speed).toBeCloseTo(2e9);
    expect(found[0]?.to.intensity).toBe(40);
    expect(found[0]?.to.speed).toBeCloseTo(4e9);
  });
  it('takes measured ceilings of its own device before attributes', () => {
    const peak = (device: string, name: string, value: number, source: string) => ({
      device,
      name,
      value,
      source,
    });
    const roof = roofOf(
      [
        peak('cpu', 'fp32_flops_per_s', 1, 'measured'),
        peak('cuda:0', 'fp32_flops_per_s', 60, 'attribute'),
        peak('cuda:0', 'fp32_flops_per_s', 50, 'measured'),
        peak('cuda:0', 'fp16_tensor_flops_per_s', 900, 'measured'),
        peak('cuda:0', 'fp64_flops_per_s', 30, 'measured'),
        peak('cuda:0', 'fp32_1_thread_flops_per_s', 2, 'measured'),
        peak('cuda:0', 'memory_bytes_per_s', 4, 'attribute'),
      ],
      'cuda:0',
    );
    expect(roof?.memory).toBe(4);
    expect(roof?.compute.map((one) => one.name)).toEqual(['fp16 tensor', 'fp32', 'fp64']);
    expect(shownRoofs(roof!).map((one) => one.flops)).toEqual([900, 50]);
    expect(roofOf([], 'cpu')).toBeNull();
  });
});

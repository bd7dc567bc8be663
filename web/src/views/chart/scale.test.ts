import { describe, expect, it } from 'vitest';
import { linear, logarithmic, logTicks, nearest, niceEnd, niceTicks, unitTicks } from './scale';

it('scales map ends to ends', () => {
  const down = linear([0, 10], [100, 0]);
  expect([0, 5, 10].map(down)).toEqual([100, 50, 0]);
  const log = logarithmic([1, 100], [0, 10]);
  expect([1, 10, 100].map(log)).toEqual([0, 5, 10]);
  expect(linear([3, 3], [0, 10])(3)).toBe(0);
});

describe('ticks', () => {
  it('are multiples of 1, 2 or 5', () => {
    expect(niceTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(niceTicks(0.1, 0.5, 4).map((one) => +one.toFixed(6))).toEqual([0.1, 0.2, 0.3, 0.4, 0.5]);
  });
  it('are in the unit that fits, with as many decimals as tell them apart', () => {
    expect(unitTicks('ns', 0, 1_500_000, 3)).toEqual({
      unit: 'ms',
      ticks: [
        { at: 0, text: '0.0' },
        { at: 500_000, text: '0.5' },
        { at: 1_000_000, text: '1.0' },
        { at: 1_500_000, text: '1.5' },
      ],
    });
    expect(unitTicks('bytes', 0, 2048, 2).ticks.map((one) => one.text)).toEqual(['0', '1', '2']);
    expect(unitTicks('per_s', 0, 12000, 3).ticks.at(-1)?.text).toBe('10,000');
    expect(unitTicks('count', 0, 1, 5).ticks.map((one) => one.text)).toEqual(['0', '1']);
  });
  it('end an axis on a tick', () => {
    expect(niceEnd('ns', 1_390_000, 4)).toBe(1_500_000);
    expect(niceEnd('pct', 0, 4)).toBe(1);
  });
  it('of a log axis are the decades, with more where these are few', () => {
    const named = (from: number, to: number, factor = 1) =>
      logTicks(from, to, factor).flatMap((one) => (one.text ? [one.text] : []));
    expect(named(0.1, 1000)).toEqual(['0.1', '1', '10', '100', '1,000']);
    expect(named(1, 20)).toEqual(['1', '2', '5', '10', '20']);
    expect(named(1e9, 1e12, 1e12)).toEqual(['0.001', '0.01', '0.1', '1']);
    expect(logTicks(1, 10)).toHaveLength(10);
  });
});

it('finds what is nearest, within reach', () => {
  const points = [
    { x: 0, y: 0 },
    { x: 10, y: 90 },
  ];
  expect(nearest(points, 8, null)).toBe(1);
  expect(nearest(points, 8, 0)).toBe(0);
  expect(nearest(points, 50, 50, 10)).toBe(-1);
});

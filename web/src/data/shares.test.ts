import { expect, it } from 'vitest';
import { apportioned, sharesOf } from './shares';

const sum = (some: number[]) => some.reduce((all, one) => all + one, 0);

it('rounds shares so that they add up', () => {
  expect(apportioned([1, 1, 1], 100)).toEqual([34, 33, 33]);
  expect(sharesOf([1, 1, 1], 3)).toEqual([33.4, 33.3, 33.3]);
  expect(sharesOf([2, 2, 2, 2, 2, 2, 1], 13)).toEqual([15.4, 15.4, 15.4, 15.4, 15.4, 15.3, 7.7]);
  expect(apportioned([], 100)).toEqual([]);
  expect(apportioned([0, 0], 100)).toEqual([0, 0]);
  expect(sharesOf([1], 0)).toEqual([0]);
});

it('rounds the largest as a sentence does', () => {
  // Without its exception for the largest, the rule gives 97.8 in the first case and 97.9 in the second.
  expect(sharesOf([97.853, 1.277, 0.607, 0.263], 100)).toEqual([97.9, 1.3, 0.6, 0.2]);
  expect(sharesOf([97.845, 1.235, 0.635, 0.285], 100)).toEqual([97.8, 1.3, 0.6, 0.3]);
});

it('rounds the largest once, where the sum was rounded, too', () => {
  // Of the 99.1 % that 99.06 % are written as, 98.048 % would be 98.1 %.
  expect(apportioned([98.048, 0.75, 0.215, 0.047], 991)).toEqual([981, 8, 2, 0]);
  expect(apportioned([98.048, 0.75, 0.215, 0.047], 991, 990.6)).toEqual([980, 8, 2, 1]);
  expect(sum(apportioned([3, 2, 1], 990, 990.4))).toBe(990);
  expect(sum(apportioned([3, 2, 1], 990, 900))).toBe(990); // not what was rounded
});

it('gives each at least its share rounded down, and at most rounded up', () => {
  let state = 7;
  const next = () => (state = (state * 48271) % 2147483647) / 2147483647;
  for (let turn = 0; turn < 500; ++turn) {
    const parts = Array.from({ length: 1 + Math.floor(20 * next()) }, () => next() ** 3);
    const whole = sum(parts);
    const units = apportioned(parts, 100);
    expect(sum(units)).toBe(100);
    units.forEach((one, at) => {
      const exact = (100 * (parts[at] as number)) / whole;
      expect(Math.abs(one - exact)).toBeLessThan(1);
    });
  }
});

it('adds up to what is written of the sum, if that is the sum', () => {
  // 12.25 % of the whole, which the bar above calls 12.3 %.
  expect(sum(sharesOf([6.125, 6.125], 100, 12.3))).toBeCloseTo(12.3, 9);
  expect(sum(sharesOf([6.125, 6.125], 100, 12.2))).toBeCloseTo(12.2, 9);
  // Kernels that overlap take more than their layer.
  expect(sum(sharesOf([10, 10], 100, 12.3))).toBeCloseTo(20, 9);
});

import { expect, test } from 'vitest';
import { axisOver, canBeLog, MOMENT, momentText } from './axis';

test('every value lies between the ends, linear and logarithmic', () => {
  for (const isLog of [false, true]) {
    const axis = axisOver('ns', [2e6, 9e6, 4e8], isLog, [50, 650], 6);
    for (const value of [2e6, 9e6, 4e8]) {
      expect(axis.to(value)).toBeGreaterThan(50);
      expect(axis.to(value)).toBeLessThan(650);
    }
    expect(axis.unit).toBe('ms');
    expect(axis.ticks.length).toBeGreaterThan(2);
  }
});

test('an axis begins at zero unless its values are far from it', () => {
  expect(axisOver('ns', [1e6, 9e6], false, [0, 100], 5).to(0)).toBe(0);
  expect(axisOver('ns', [8e6, 9e6], false, [0, 100], 5).to(7e6)).toBeLessThan(0);
});

test('zero has no place on a logarithmic axis, which is linear then', () => {
  expect(canBeLog('ns', [0, 1])).toBe(false);
  expect(axisOver('ns', [0, 10], true, [0, 100], 5).to(0)).toBe(0);
});

test('moments have days or minutes as ticks', () => {
  const day = Date.parse('2026-11-20T00:00:00Z');
  const days = axisOver(MOMENT, [day, day + 6 * 86_400_000], false, [0, 600], 6);
  expect(days.ticks.map(({ text }) => text)).toContain('2026-11-23');
  const one = axisOver(MOMENT, [day], false, [0, 600], 6);
  expect(one.ticks.some(({ text }) => text === '2026-11-20 00:00')).toBe(true);
  expect(momentText(day)).toBe('2026-11-20 00:00');
});

test('equal values have an axis', () => {
  expect(axisOver('ns', [5, 5], false, [0, 100], 5).to(5)).toBeGreaterThan(0);
  expect(axisOver('count', [], false, [0, 100], 5).ticks.length).toBeGreaterThan(0);
});

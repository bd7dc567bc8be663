import { expect, it } from 'vitest';
import { windowOf } from './window';

it('draws what is in view and keeps the height of all', () => {
  const all = windowOf(100_000, 24, 24 * 50_000, 480, 10);
  expect(all).toEqual({ first: 49_990, end: 50_030, before: 49_990 * 24, after: 49_970 * 24 });
  expect(windowOf(3, 24, 0, 480)).toEqual({ first: 0, end: 3, before: 0, after: 0 });
  expect(windowOf(0, 24, 999, 480)).toEqual({ first: 0, end: 0, before: 0, after: 0 });
});

import { describe, expect, it } from 'vitest';
import { statementOf } from './words';
import type { Verdict } from './comparison';

const verdict = (ratio: number, low: number, high: number): Verdict => ({
  ratio,
  low,
  high,
  significant: low > 1 || high < 1,
  text: '',
});
const detail = (ratio: number, low: number, high: number) =>
  statementOf(verdict(ratio, low, high), 'B', 'A');

describe('statementOf', () => {
  it('says less time in percent, the near end first', () => {
    expect(detail(0.877, 0.871, 0.882)).toEqual({
      tone: 'good',
      lead: 'B is faster than A',
      detail: '12.3 % less time [11.8, 12.9]',
    });
  });
  it('says more time in percent', () => {
    const one = detail(1.0414, 1.0411, 1.0417);
    expect(one.tone).toBe('bad');
    expect(one.detail).toBe('4.14 % more time [4.11, 4.17]');
  });
  it('says factors beyond double and half', () => {
    expect(detail(0.1, 0.099, 0.101).detail).toBe('10.00 times as fast [9.90, 10.10]');
    expect(detail(29.85, 29.4, 30.2).detail).toBe('29.9 times as long [29.4, 30.2]');
  });
  it('keeps the near end from reading as zero', () => {
    expect(detail(0.59, 0.32, 0.997).detail).toBe('41.0 % less time [0.3, 68.0]');
  });
  it('says that nothing is certain, with the interval', () => {
    const one = detail(1.001, 0.992, 1.012);
    expect(one.tone).toBe('same');
    expect(one.lead).toBe('no significant difference');
    expect(one.detail).toBe('latency changes by 0.1 % [-0.8, 1.2]');
  });
  it('of equal evaluations says zero, without a sign', () => {
    expect(detail(1, 1, 1).detail).toBe('latency changes by 0.0 % [0.0, 0.0]');
  });
  it('says why it does not know', () => {
    const unknown = { ratio: null, low: null, high: null, significant: null, text: 'too few: why' };
    expect(statementOf(unknown, 'B', 'A')).toEqual({
      tone: 'unknown',
      lead: 'no statement',
      detail: 'too few: why',
    });
  });
});

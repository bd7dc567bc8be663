import { describe, expect, it } from 'vitest';
import { interval, overhead, throughputInterval, workBound } from './words';

describe('the sentences of the overview', () => {
  it('give the interval of what is shown, or say that there is none', () => {
    expect(interval({ latency_ns: 1e6, low_ns: 0.9e6, high_ns: 1.1e6 })).toBe(
      'within 900.0 us – 1.100 ms (95 %)',
    );
    expect(interval({ latency_ns: 1e6, low_ns: null, high_ns: null })).toBe(
      'too few blocks for an interval',
    );
    expect(interval(undefined)).toBe('too few blocks for an interval');
  });

  it('turn the interval of the latency into that of the throughput', () => {
    const said = throughputInterval({ batch: 2, low_ns: 1e6, high_ns: 2e6 });
    expect(said).toMatch(/^within 1\D?000.* – 2\D?000/);
    expect(throughputInterval({ batch: null, low_ns: 1e6, high_ns: 2e6 })).toBe(
      'too few blocks for an interval',
    );
  });

  it('show a difference and its interval in one form, significant or not', () => {
    const row = { without_ns: 1e6, overhead_pct: 2, low_ns: -41e3, high_ns: 80e3 };
    expect(overhead(row)).toBe('2.0 % (-4.1 to 8.0)');
    expect(overhead({ ...row, overhead_pct: 23, low_ns: 2e5, high_ns: 2.6e5 })).toBe(
      '23.0 % (20.0 to 26.0)',
    );
    expect(overhead({ ...row, low_ns: null })).toBe('2.0 % (too few blocks for an interval)');
  });

  it('tell what bounds the work for itself', () => {
    const row = { work: 'kernels', work_pct: 20.3, work_bound: 'memory', work_bound_pct: 55 };
    expect(workBound(row)).toBe(
      'kernels run 20.3 % of the latency; 55.0 % of that is bound by memory',
    );
    expect(workBound({ ...row, work_bound: 'unknown' })).toBe(
      'kernels run 20.3 % of the latency; for 55.0 % of that it is not known what bounds them',
    );
    expect(workBound({ ...row, work_bound: null, work_bound_pct: null })).toBe('');
  });
});

import { describe, expect, it } from 'vitest';
import { timeOf } from '../../data/model';
import {
  deviceTimes,
  interval,
  overhead,
  percentile,
  throughputInterval,
  workBound,
} from './words';

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
    const said = throughputInterval({
      throughput_per_s: 1600,
      latency_ns: 1.25e6,
      low_ns: 1e6,
      high_ns: 2e6,
    });
    expect(said).toMatch(/^within 1\D?000.* – 2\D?000/);
    expect(throughputInterval({ throughput_per_s: 1600, latency_ns: 1e6, low_ns: null })).toBe(
      'too few blocks for an interval',
    );
    // A rate that was not measured has no interval either, whatever the blocks.
    expect(throughputInterval({ throughput_per_s: null, low_ns: 1e6, high_ns: 2e6 })).toBe('');
  });

  it('have the step, where the call returns before the device is done', () => {
    const device = {
      latency_ns: 80e3,
      device_ns: 970e3,
      span_ns: 14e6,
      low_ns: 79e3,
      high_ns: 81e3,
    };
    expect(timeOf(device)).toBe(80e3);
    const early = { ...device, headline: 'one step every 1.00 ms', step_ns: 1e6 };
    const row = { ...early, step_low_ns: 0.9e6, step_high_ns: 1.1e6, throughput_per_s: 4000 };
    expect(timeOf(row)).toBe(1e6);
    expect(interval(row)).toBe('within 900.0 us – 1.100 ms (95 %)');
    expect(throughputInterval(row)).toMatch(/^within 3\D?636.* – 4\D?444/);
    expect(timeOf({ ...early, step_ns: null })).toBe(14e6);
    expect(deviceTimes(row)).toBe(
      'on the device 970.0 us; from the first launch to the last end, while kernels are recorded, 14.00 ms',
    );
    expect(deviceTimes({ latency_ns: 80e3 })).toBe('');
  });

  it('show a difference and its interval in one form, significant or not', () => {
    const row = { without_ns: 1e6, overhead_pct: 2, low_ns: -41e3, high_ns: 80e3 };
    expect(overhead(row)).toBe('adds nothing that is certain: 2.0 % (-4.1 to 8.0)');
    expect(overhead({ ...row, overhead_pct: 23, low_ns: 2e5, high_ns: 2.6e5 })).toBe(
      'adds 23.0 % (20.0 to 26.0)',
    );
    expect(overhead({ ...row, low_ns: null })).toBe('adds 2.0 % (too few blocks for an interval)');
  });

  it('say of how few inferences a percentile is', () => {
    expect(percentile({ p99_ns: 2e6, iterations: 100 })).toBe('99th percentile 2.000 ms');
    expect(percentile({ p99_ns: 2e6, iterations: 5 })).toBe(
      '99th percentile 2.000 ms, of only 5 inferences',
    );
  });

  it('tell what bounds the work for itself', () => {
    const row = { work: 'kernels', work_pct: 20.3, work_bound: 'memory', work_bound_pct: 55 };
    expect(workBound(row)).toBe(
      'kernels run 20.3 % of the latency; the memory limits 55.0 % of that',
    );
    expect(workBound({ ...row, work_bound: 'l2' })).toBe(
      'kernels run 20.3 % of the latency; the L2 cache limits 55.0 % of that',
    );
    expect(workBound({ ...row, work_bound: 'unknown' })).toBe(
      'kernels run 20.3 % of the latency; for 55.0 % of that it is not known what bounds them',
    );
    expect(workBound({ ...row, work_bound: 'latency' })).toBe(
      'kernels run 20.3 % of the latency; neither memory nor arithmetic limits 55.0 % of that: too small, or waiting',
    );
    expect(workBound({ ...row, work_bound: null, work_bound_pct: null })).toBe('');
  });
});

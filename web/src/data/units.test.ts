import { describe, expect, it } from 'vitest';
import { fixed, format, labelOfName, Scale } from './units';

describe('a scale', () => {
  it('writes what the terminal writes', () => {
    expect(format('ns', 1000)).toBe('1.000 us');
    expect(format('ns', 999)).toBe('999 ns');
    expect(format('ns', 4674123)).toBe('4.674 ms');
    expect(format('bytes', 13946060)).toBe('13.3 MiB');
    expect(format('flops', 602_000_000)).toBe('602 Mflop');
    expect(format('flops_per_s', 129.4e9)).toBe('129 Gflop/s');
    expect(format('pct', 96.7123)).toBe('96.7 %');
    expect(format('count', 1234567)).toBe('1,234,567');
    expect(format('number', 0.0125)).toBe('0.0125');
    expect(format('number', 1.5e-7)).toBe('1.5e-07');
    expect(format('number', 1234567.5)).toBe('1.23457e+06');
    expect(format('number', 3)).toBe('3');
    expect(format('bool', true)).toBe('yes');
    expect(format('ns', null)).toBe('');
  });

  it('is one for a column, by its largest and its middle value', () => {
    const scale = new Scale('ns', [181920, 146820, 18340, 2950, 4940]);
    expect(scale.label).toBe('us');
    expect([181920, 2950].map((value) => scale.text(value))).toEqual(['181.92', '2.95']);
  });

  it('is shared with the columns beside it, unless this one is far below them', () => {
    expect(new Scale('ns', [420_000], 5_000_000).label).toBe('ms');
    expect(new Scale('ns', [420], 5_000_000).label).toBe('ns');
  });

  it('leaves moments and what is not a number alone', () => {
    expect(new Scale('ns', [1.7e18]).text(1.7e18)).toBe('1.7e+18');
    expect(new Scale('ns', [1]).text(NaN)).toBe('nan');
    expect(new Scale('pct', []).text(0)).toBe('0.0');
  });

  it('rounds what lies exactly between to even, as C++ does', () => {
    expect(fixed(0.125, 2)).toBe('0.12');
    expect(fixed(0.375, 2)).toBe('0.38');
    expect(fixed(2.5, 0)).toBe('2');
    expect(fixed(3.5, 0)).toBe('4');
    expect(fixed(-2.5, 0)).toBe('-2');
    expect(fixed(1.005, 2)).toBe('1.00');
    expect(fixed(10.0625, 3)).toBe('10.062');
  });
});

it('a label leaves out the unit', () => {
  expect(labelOfName('latency_ns', 'ns')).toBe('latency');
  expect(labelOfName('throughput_per_s', 'per_s')).toBe('throughput');
  expect(labelOfName('flops', 'flops')).toBe('flops');
  expect(labelOfName('peak_bytes_per_s', 'bytes_per_s')).toBe('peak');
  expect(labelOfName('sm_clock_mhz', 'number')).toBe('sm clock mhz');
});

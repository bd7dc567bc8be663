import { describe, expect, it } from 'vitest';
import type { Cell } from '../data/types';
import {
  csv,
  filterOf,
  isSentence,
  linesOf,
  shortened,
  shortenedApart,
  sorted,
  sortedBy,
} from './rows';

const all = (rows: Cell[][]) => rows.map((_, index) => index);

describe('sorting', () => {
  it('is stable, numeric, and leaves what is empty at the end', () => {
    const rows: Cell[][] = [
      [2, 'a'],
      [null, 'b'],
      [10, 'c'],
      [2, 'd'],
      [NaN, 'e'],
    ];
    expect(sorted(rows, all(rows), 0, 'ascending')).toEqual([0, 3, 2, 1, 4]);
    expect(sorted(rows, all(rows), 0, 'descending')).toEqual([2, 0, 3, 1, 4]);
  });
  it('goes by several columns', () => {
    const rows: Cell[][] = [
      ['b', 16],
      ['a', 128],
      ['a', null],
      ['a', 16],
    ];
    expect(sortedBy(rows, [0, 1])).toEqual([rows[3], rows[1], rows[2], rows[0]]);
    expect(sortedBy(rows, [])).toEqual(rows);
  });
  it('counts in names', () => {
    const rows: Cell[][] = [['conv10'], ['conv2'], ['Add']];
    expect(sorted(rows, all(rows), 0, 'ascending')).toEqual([2, 1, 0]);
  });
  it('puts no before yes', () => {
    const rows: Cell[][] = [[true], [false]];
    expect(sorted(rows, all(rows), 0, 'ascending')).toEqual([1, 0]);
  });
});

describe('filtering', () => {
  const columns = [
    { name: 'name', unit: 'text' },
    { name: 'latency_ns', unit: 'ns' },
    { name: 'memory_bytes', unit: 'bytes' },
    { name: 'share_pct', unit: 'pct' },
    { name: 'fused', unit: 'bool' },
  ];
  const rows: Cell[][] = [
    ['Conv one', 2_000_000, 2048, 60, true],
    ['Relu', 500_000, 1048576, 40, false],
    ['Add', null, null, null, null],
  ];
  const left = (text: string) =>
    rows.filter(filterOf(text, columns)).map((row) => String(row[0]).slice(0, 4));

  it('finds words, whatever their case, all of them', () => {
    expect(left('')).toHaveLength(3);
    expect(left('conv ONE')).toEqual(['Conv']);
    expect(left('"conv one"')).toEqual(['Conv']);
    expect(left('"one conv"')).toEqual([]);
    expect(left('-conv')).toEqual(['Relu', 'Add']);
    expect(left('yes')).toEqual(['Conv']);
  });
  it('compares numbers in their units', () => {
    expect(left('>1ms')).toEqual(['Conv']);
    expect(left('>1MiB')).toEqual([]);
    expect(left('>=1mib')).toEqual(['Relu']);
    expect(left('latency<1ms')).toEqual(['Relu']);
    expect(left('latency_ns=500000')).toEqual(['Relu']);
    expect(left('share>=40')).toEqual(['Conv', 'Relu']);
    expect(left('share>50 conv')).toEqual(['Conv']);
  });
  it('takes what compares nothing as a word', () => {
    expect(left('a>b')).toEqual([]);
    expect(left('nonesuch>3')).toEqual([]);
  });
});

it('CSV keeps every digit and quotes what needs it', () => {
  const text = csv(
    ['a', 'b,c'],
    [
      [0.1 + 0.2, 'x"y'],
      [null, 'line\nbreak'],
      [true, ' lead'],
    ],
  );
  expect(text).toBe('a,"b,c"\r\n0.30000000000000004,"x""y"\r\n,"line\nbreak"\r\ntrue," lead"\r\n');
});

it('names are shortened in the middle', () => {
  expect(shortened('layer4/0/conv2/_convolution', 11)).toBe('layer…ution');
  expect(shortened('short', 5)).toBe('short');
  expect(shortened('long', 1)).toBe('…');
});

it('different names look different', () => {
  const kernels = [
    'sm80_xmma_gemm_tilesize128x64_stage3_cublas',
    'layer',
    'sm80_xmma_gemm_tilesize64x64_stage3_cublas',
    'sm80_xmma_gemm_tilesize64x64_stage4_cublas',
    'sm80_xmma_gemm_tilesize64x64_stage3_cublas',
  ];
  expect([...shortenedApart(kernels, 16).values()]).toEqual([
    'sm80…128x64_sta…',
    'layer',
    'sm80…age3_cublas',
    'sm80…age4_cublas',
  ]);
  expect([...shortenedApart(['module/1/conv', 'module/2/conv'], 3).values()]).toEqual([
    '…1…',
    '…2…',
  ]);
  expect([...shortenedApart(['module/1/conv', 'module/2/conv'], 1).values()]).toEqual(['…', '…']);
});

it('sentences take whole lines, names one', () => {
  expect(isSentence('not settled: samples drift')).toBe(true);
  expect(isSentence('void gemm<float, 128>(float const*)')).toBe(false);
  expect(linesOf('layer4/0/conv2/_convolution', 5)).toBe(1);
  expect(linesOf('one two three', 13)).toBe(1);
  expect(linesOf('one two three', 8)).toBe(2);
  expect(linesOf('one two three', 3)).toBe(4);
});

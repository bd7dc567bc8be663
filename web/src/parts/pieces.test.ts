import { expect, it } from 'vitest';
import { pieces } from './pieces';

it('breaks names behind what joins their words, and loses nothing', () => {
  expect(pieces('layer1/0/conv1/_convolution')).toEqual([
    'layer1/',
    '0/',
    'conv1/_',
    'convolution',
  ]);
  expect(pieces('at::native::max_pool<float, 4>(int)')).toEqual([
    'at::',
    'native::',
    'max_',
    'pool',
    '<float,',
    ' 4>',
    '(int)',
  ]);
  expect(pieces('gemm')).toEqual(['gemm']);
  expect(pieces('')).toEqual(['']);
});

import { expect, it } from 'vitest';
import type { Analysis, Param } from '../data/types';
import { choicesOf, parametersOf, problemOf } from './parameters';

const param = (name: string, type: Param['type'], value: string | null, description = 'x') => ({
  name,
  type,
  default: value,
  description,
});
const analysis = {
  params: [param('batch', 'integer', null), param('depth', 'integer', '2')],
} as Analysis;

it('takes what the address says of its own parameters', () => {
  const query = new URLSearchParams('e=a.xsp&batch=4&depth=3&layer=x');
  expect(parametersOf(analysis, query, [1, 4])).toEqual({ batch: '4', depth: '3' });
});

it('leaves a batch size that was not measured to the analysis', () => {
  expect(parametersOf(analysis, new URLSearchParams('batch=8&depth='), [1, 4])).toEqual({});
});

it('finds the choices that a description lists', () => {
  const peaks = 'Which ceilings: measured or attribute (of the device); the other where none.';
  expect(choicesOf(param('peaks', 'text', 'measured', peaks))).toEqual(['measured', 'attribute']);
  expect(choicesOf(param('of', 'text', 'a', 'One of: a, b or c'))).toEqual(['a', 'b', 'c']);
  expect(choicesOf(param('name', 'text', null, 'Which: one or two'))).toEqual([]);
});

it('says what a number is not', () => {
  expect(problemOf(param('n', 'integer', null), '1.5')).toBe('a whole number');
  expect(problemOf(param('n', 'double', null), '1.5')).toBe('');
  expect(problemOf(param('n', 'double', null), 'x')).toBe('a number');
  expect(problemOf(param('n', 'integer', null), '')).toBe('');
});

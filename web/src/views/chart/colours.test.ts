import { expect, it } from 'vitest';
import { coloursOf, legendOf, OTHER } from './colours';

it('a category keeps its colour from view to view', () => {
  const first = coloursOf([
    ['Conv', 9],
    ['Relu', 1],
  ]);
  const second = coloursOf([
    ['Gemm', 99],
    ['Relu', 5],
    ['Conv', 1],
  ]);
  expect(second.get('Conv')).toBe(first.get('Conv'));
  expect(second.get('Relu')).toBe(first.get('Relu'));
  expect(new Set(second.values()).size).toBe(3);
  expect([...second.keys()]).toEqual(['Gemm', 'Relu', 'Conv']);
});

it('beyond the palette is other, the lightest ones', () => {
  const many = coloursOf(Array.from({ length: 10 }, (_, at) => [`t${at}`, 10 - at]));
  expect([...many.values()].filter((one) => one === OTHER)).toHaveLength(3);
  expect(many.get('t0')).not.toBe(OTHER);
  expect(legendOf(many).at(-1)).toEqual({ label: '3 others', colour: OTHER });
});

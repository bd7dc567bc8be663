import { expect, it } from 'vitest';
import type { Analysis, Evaluation } from '../../data/types';
import { measured } from '../../data/measured';
import { found, grouped } from './groups';

const analysis = (id: string, ...needs: string[]) =>
  ({
    id,
    name: `name_${id}`,
    title: `Title ${id}`,
    question: 'How fast?',
    description: '',
    needs,
    columns: [{ name: 'latency_ns', unit: 'ns', description: 'Trimmed mean.' }],
  }) as unknown as Analysis;

it('groups by what is needed, in an order of its own', () => {
  const groups = grouped([
    analysis('x3'),
    analysis('a9', 'kernel', 'counters', 'peak'),
    analysis('a2', 'layer'),
    analysis('a1', 'model'),
    analysis('a11', 'model', 'kernel'),
    analysis('x13', 'memory'),
    analysis('x33', 'steps'),
    analysis('x34', 'samples'),
  ]);
  expect(groups.map((one) => [one.title, ...one.analyses.map((each) => each.id)])).toEqual([
    ['The program', 'x33', 'x34'],
    ['Model', 'a1'],
    ['Layers', 'a2'],
    ['Kernels', 'a11'],
    ['Rooflines', 'a9'],
    ['Memory', 'x13'],
    ['The measurement', 'x3'],
  ]);
});

it('finds by every word of what an analysis says', () => {
  const all = [analysis('a1', 'model'), analysis('a2', 'layer')];
  expect(found(all, 'title a2')).toHaveLength(1);
  expect(found(all, 'TRIMMED fast')).toHaveLength(2);
  expect(found(all, 'nonesuch')).toHaveLength(0);
});

it('knows by the runs what was measured', () => {
  const evaluation = {
    runs: [{ levels: 'model,layer', counters: null }],
    peaks: [{}],
  } as unknown as Evaluation;
  const levels = ['model', 'layer', 'kernel'];
  expect(measured(analysis('a', 'layer', 'peak'), evaluation, levels)).toBe('yes');
  expect(measured(analysis('a', 'kernel', 'memory'), evaluation, levels)).toBe('no');
  expect(measured(analysis('a', 'layer', 'counters'), evaluation, levels)).toBe('no');
  expect(measured(analysis('a', 'memory'), evaluation, levels)).toBe('perhaps');
  expect(measured(analysis('a'), evaluation, levels)).toBe('yes');
});

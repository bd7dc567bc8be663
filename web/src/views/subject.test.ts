import { expect, it } from 'vitest';
import { choiceOf, isChoiceAbout, isChosen, labelOf, subjectOf } from './subject';

const columns = (...names: string[]) =>
  names.map((name) => ({ name, unit: ['index', 'batch'].includes(name) ? 'count' : 'text' }));

it('a name is the deepest level that is needed', () => {
  expect(subjectOf(['layer'], columns('index', 'name', 'type', 'label'))).toEqual({
    layer: 1,
    kernel: null,
    label: 3,
    own: 'layer',
  });
  expect(subjectOf(['model', 'kernel'], columns('batch', 'name'))).toEqual({
    layer: null,
    kernel: 1,
    label: 1,
    own: 'kernel',
  });
});

it('a layer beside a kernel is the layer', () => {
  const subject = subjectOf(['kernel', 'counters'], columns('index', 'layer', 'name', 'label'));
  expect(subject).toEqual({ layer: 1, kernel: 2, label: 3, own: 'kernel' });
  expect(labelOf(subject, [0, 'conv1', 'void k<int>()', 'k'])).toBe('k');
});

it('a layer alone is the row itself; a model has neither', () => {
  expect(subjectOf(['kernel'], columns('index', 'layer', 'type')).own).toBe('layer');
  expect(subjectOf(['model'], columns('batch', 'role')).own).toBeNull();
});

it('choosing a row twice lets go of it', () => {
  const subject = subjectOf(['layer'], columns('index', 'name'));
  expect(choiceOf(subject, [0, 'conv1'])).toEqual({ layer: 'conv1' });
  expect(choiceOf(subject, [0, 'conv1'], { layer: 'conv1' })).toEqual({ layer: null });
  expect(choiceOf(subject, [0, null])).toEqual({});
});

it('what is chosen tells rows apart where they name it', () => {
  const subject = subjectOf(['kernel'], columns('layer', 'name'));
  const rows = [
    ['conv1', 'a'],
    ['conv2', 'a'],
  ];
  expect(rows.map((row) => isChosen(subject, row, { layer: 'conv1' }))).toEqual([true, false]);
  expect(rows.map((row) => isChosen(subject, row, { layer: 'conv1', kernel: 'b' }))).toEqual([
    false,
    false,
  ]);
  expect(isChoiceAbout(subject, rows, { layer: 'conv1' })).toBe(true);
  expect(isChoiceAbout(subject, rows, { layer: 'elsewhere' })).toBe(false);
  expect(isChoiceAbout(subjectOf(['model'], columns('batch')), [[1]], { layer: 'x' })).toBe(false);
});

import { describe, expect, it } from 'vitest';
import type { Cell } from '../../data/types';
import type { Field } from './data';
import { boxesOf, firstOf, foundIn, framesOf, neighbour, pathTo } from './flame';

const field = (name: string, index: number, unit = 'text'): Field => ({
  name,
  index,
  unit,
  label: name,
});
const fields = {
  depth: field('depth', 0, 'count'),
  name: field('tree', 1),
  kind: field('kind', 2),
  value: field('total_ns', 3, 'ns'),
  own: field('self_ns', 4, 'ns'),
};
const rows: Cell[][] = [
  [0, 'process 6 sh', null, 50, 0],
  [1, '  thread 6 (main)', null, 50, 50],
  [0, 'process 7 python3', null, 1000, 0],
  [1, '  thread 7 (main)', null, 600, 0],
  [2, '    <module>', 'python', 600, 10],
  [3, '      main', 'python', 500, 0],
  [4, '        slow', 'python', 490, 490],
  [4, '        take', 'python', 4, 4],
  [4, '        give', 'python', 3, 3],
  [3, '      main', 'python', 60, 60],
  [1, '  thread 8', null, 400, 400],
];
const frames = framesOf(rows, fields);
const named = (name: string) => frames.findIndex((one) => one.name === name);

describe('frames', () => {
  it('are a tree, in the order of the rows', () => {
    expect(frames).toHaveLength(rows.length);
    expect(pathTo(frames, named('slow')).map((one) => frames[one]?.name)).toEqual([
      'process 7 python3',
      'thread 7 (main)',
      '<module>',
      'main',
      'slow',
    ]);
  });

  it('know what is in no row: neither their own nor called', () => {
    expect(frames.map((one) => one.leftOut)).toEqual([0, 0, 0, 0, 30, 3, 0, 0, 0, 0, 0]);
  });

  it('without time are left out, with all below them', () => {
    const running = rows.map((row, at) => (at === 5 ? [...row.slice(0, 3), 0, 0] : row));
    expect(framesOf(running, fields).map((one) => one.name)).not.toContain('slow');
    expect(framesOf(running, fields).at(-1)?.parent).toBe(2);
    expect(framesOf(rows, { ...fields, own: null }).every((one) => one.leftOut === 0)).toBe(true);
  });

  it('open at the main thread of the process with the most time', () => {
    expect(frames[firstOf(frames)]?.name).toBe('thread 7 (main)');
    expect(firstOf([])).toBe(-1);
  });
});

describe('boxes', () => {
  const boxes = boxesOf(frames, named('thread 7 (main)'), 600);
  const of = (name: string) =>
    boxes.find((one) => one.of === 'frame' && frames[one.frames[0] ?? -1]?.name === name);

  it('are as wide as their time, below their caller, beside one another', () => {
    expect(of('process 7 python3')).toMatchObject({ depth: 0, x: 0, width: 600 });
    expect(of('<module>')).toMatchObject({ depth: 2, x: 0, width: 600 });
    expect(of('main')).toMatchObject({ depth: 3, x: 0, width: 500 });
    expect(of('thread 8')).toBeUndefined();
    const inLine = boxes.filter((one) => one.depth === 3);
    expect(inLine.map((one) => [one.x, one.width])).toEqual([
      [0, 500],
      [500, 60],
      [560, 30],
    ]);
  });

  it('that are too narrow are one, and what has no row is one', () => {
    const small = boxes.find((one) => one.of === 'smaller');
    expect(small).toMatchObject({ depth: 4, x: 490, width: 7, value: 7 });
    expect(small?.frames.map((one) => frames[one]?.name)).toEqual(['take', 'give']);
    expect(boxes.filter((one) => one.of === 'left out')).toMatchObject([
      { frames: [named('<module>')], depth: 3, value: 30 },
    ]);
  });

  it('lose nothing: every line within a box is at most as long as it', () => {
    for (const zoom of [-1, ...frames.keys()]) {
      for (const width of [320, 1200]) {
        const all = boxesOf(frames, zoom, width);
        for (const depth of new Set(all.map((one) => one.depth))) {
          const line = all.filter((one) => one.depth === depth).sort((a, b) => a.x - b.x);
          line.forEach((one, at) => {
            expect(one.x + one.width).toBeLessThanOrEqual((line[at + 1]?.x ?? width) + 1e-6);
          });
        }
        expect(new Set(all.map((one) => one.key)).size).toBe(all.length);
      }
    }
    expect(boxesOf(frames, -1, 1050).filter((one) => one.depth === 0)).toHaveLength(2);
    expect(boxesOf([], -1, 100)).toEqual([]);
  });

  it('of a single narrow frame stay its own', () => {
    const box = boxesOf(frames, -1, 60).find((one) => one.frames[0] === 0);
    expect(box).toMatchObject({ of: 'frame', depth: 0 });
    expect(box?.width).toBeLessThan(5);
  });

  it('are walked through with the arrow keys', () => {
    const at = boxes.indexOf(of('main') as (typeof boxes)[number]);
    const go = (key: string) => boxes[neighbour(boxes, at, key)];
    expect(go('ArrowUp')).toBe(of('<module>'));
    expect(go('ArrowDown')).toBe(of('slow'));
    expect(go('ArrowRight')).toMatchObject({ x: 500, width: 60 });
    expect(go('ArrowLeft')).toBe(of('main'));
    expect(neighbour(boxes, -1, 'ArrowDown')).toBe(0);
  });
});

describe('a search', () => {
  const look = (zoom: number, text: string) =>
    foundIn(frames, zoom, text, (frame) => `${frame.name} prog.py:${frame.row}`);

  it('counts nested frames once', () => {
    expect(look(-1, 'MAIN')?.value).toBe(50 + 600);
    expect(look(named('<module>'), 'main')?.value).toBe(560);
    expect(look(named('<module>'), 'main')?.frames.size).toBe(2);
  });

  it('looks at places, too, and at nothing where nothing is asked', () => {
    expect(look(-1, 'py:6')?.value).toBe(490);
    expect(look(-1, ' ')).toBeNull();
    expect(look(-1, 'nonesuch')).toEqual({ frames: new Set(), value: 0 });
  });
});

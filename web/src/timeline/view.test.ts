import { describe, expect, it } from 'vitest';
import type { Run } from '../data/types';
import { blockShade, Colours, contrast, mix, parseColour, textOn, type Rgb } from './colours';
import { step } from './found';
import { keyAction } from './keys';
import { addressOf, laneAt, layOut, lookOf, ROW, scrollTo, SERIES, type Placed } from './layout';
import { seriesAxis } from './draw';
import { defaultRun, distortion } from './runs';
import type { Brief, Lane, Matches } from './types';
import {
  around,
  clamp,
  durationText,
  iterationAt,
  momentText,
  nextIteration,
  niceStep,
  reveal,
  tickText,
  zoomAt,
} from './view';

describe('the view', () => {
  it('keeps the moment under the pointer when it zooms', () => {
    const view = zoomAt({ from: 0, to: 1000 }, 250, 0.5);
    expect(view).toEqual({ from: 125, to: 625 });
  });
  it('stays with the run, and is never closer than clocks are fine', () => {
    expect(clamp({ from: -1e9, to: -1e9 + 100 }, 1000).to).toBeGreaterThan(0);
    expect(clamp({ from: 1e9, to: 1e9 + 100 }, 1000).from).toBeLessThan(1000);
    const close = clamp({ from: 500, to: 500.001 }, 1000);
    expect(close.to - close.from).toBe(20);
    const wide = clamp({ from: -1e9, to: 1e9 }, 1000);
    expect(wide.to - wide.from).toBeCloseTo(1100);
  });
  it('moves only if it must to show a span', () => {
    const view = { from: 0, to: 100 };
    expect(reveal(view, 10, 20)).toBe(view);
    expect(reveal(view, 200, 20)).toEqual({ from: 160, to: 260 });
    expect(reveal(view, 0, 1000)).toEqual(around(0, 1000));
  });
  it('steps through iterations', () => {
    const starts = [0, 100, 200];
    expect([iterationAt(starts, -1), iterationAt(starts, 150), iterationAt(starts, 999)]).toEqual([
      -1, 1, 2,
    ]);
    expect(nextIteration(starts, { from: 100, to: 140 }, 1)).toBe(2);
    expect(nextIteration(starts, { from: 100, to: 140 }, -1)).toBe(0);
    expect(nextIteration(starts, { from: 200, to: 240 }, 1)).toBe(2);
    expect(nextIteration(starts, { from: -50, to: -40 }, -1)).toBe(0);
  });
  it('writes moments and durations', () => {
    expect(niceStep(3)).toBe(5);
    expect(niceStep(0.7)).toBe(1);
    expect(tickText(1500, 500)).toBe('1.5 us');
    expect(tickText(0, 1000)).toBe('0 us');
    expect(momentText(1192957505)).toBe('1,192.957505 ms');
    expect(durationText(0)).toBe('0 ns');
    expect(durationText(999)).toBe('999 ns');
    expect(durationText(1234567)).toBe('1.235 ms');
    expect(durationText(45.6e9)).toBe('45.60 s');
  });
});

const run = (
  run_id: number,
  levels: string,
  batch: number,
  counters: string | null,
  iterations = 10,
) => ({ run_id, levels, batch, counters, iterations, status: 'ok', spans: 5 }) as Run;

describe('runs', () => {
  const runs = [
    run(1, 'model', 1, null),
    run(2, 'model,layer', 1, ''),
    run(3, 'model,layer,api,kernel', 1, 'none'),
    run(4, 'model,layer,api,kernel', 1, 'roofline', 99),
    run(5, 'model', 4, null),
    { ...run(6, 'model,layer', 4, null), status: 'failed' },
  ];
  it('shows the deepest without counters first', () => {
    expect(defaultRun(runs)?.run_id).toBe(3);
    expect(defaultRun(runs, 4)?.run_id).toBe(5);
    expect(defaultRun(runs, 64)?.run_id).toBe(3);
    expect(defaultRun([])).toBeUndefined();
  });
  it('says in words how far deeper levels distort it', () => {
    expect(distortion(130, 100, 6)).toContain('30 % over the undisturbed one');
    expect(distortion(101, 100, 6)).toContain('1.0 % over');
    expect(distortion(99, 100, 3)).toContain('1.0 % below');
    expect(distortion(100, 100, 2)).toContain('undisturbed');
    expect(distortion(100, null, 6)).toContain('not measured');
    expect(distortion(null, 100, 6)).toContain('No inference');
  });
});

const lane = (rows: number, kind: 'spans' | 'series' = 'spans') => ({ rows, kind }) as Lane;

describe('the layout', () => {
  const laid = layOut([lane(1), lane(3), lane(1, 'series')]);
  const { placed, height } = laid;
  it('puts rows of nesting below one another', () => {
    expect(placed[1]?.height).toBe(3 * ROW);
    expect(height).toBeGreaterThan(4 * ROW + SERIES);
  });
  it('knows the lane and the row under a point', () => {
    const second = placed[1]!;
    expect(laneAt(laid, second.top + 2 * ROW + 1, 0)).toEqual({ placed: second, row: 2 });
    expect(laneAt(laid, second.top - 1, 0)).toBeUndefined();
    expect(laneAt(laid, 1e6, 0)).toBeUndefined();
  });
  it('keeps pinned lanes at the top, over those that scroll below them', () => {
    const lanes = [lane(1), lane(2), lane(1)].map((one, at) => ({ ...one, lane: at }) as Lane);
    const own = layOut(lanes, lookOf(new URLSearchParams('pin=2&size=1:2,0:7')));
    expect(own.placed.map((one) => [one.lane.lane, one.isPinned])).toEqual([
      [2, true],
      [0, false],
      [1, false],
    ]);
    expect(own.placed.map((one) => one.height)).toEqual([ROW, ROW, 4 * ROW]);
    const [pinned, second] = own.placed as [Placed, Placed, Placed];
    expect(laneAt(own, pinned.top + 1, 500)?.placed).toBe(pinned);
    expect(laneAt(own, second.top + 1, 0)?.placed).toBe(second);
    expect(laneAt(own, second.top + 1 - 5, 5)?.placed).toBeUndefined(); // the pinned lane covers it
    expect(scrollTo(40, 40, 18, 200, own.pinned)).toBeLessThanOrEqual(40 - own.pinned);
  });
  it('is in the address, without what is as usual', () => {
    const look = lookOf(new URLSearchParams('pin=2,x,1&hide=4&size=1:2,3:1,5:9'));
    expect(addressOf(look)).toEqual({ pin: '1,2', hide: '4', size: '1:2' });
    expect(addressOf(lookOf(new URLSearchParams()))).toEqual({ pin: null, hide: null, size: null });
  });
  it('scrolls no further than it must', () => {
    expect(scrollTo(50, 60, 18, 100)).toBe(50);
    expect(scrollTo(50, 10, 18, 100)).toBeLessThanOrEqual(10);
    expect(scrollTo(0, 300, 18, 100)).toBeGreaterThanOrEqual(218);
  });
});

describe('the axis of a series', () => {
  it('has nice values up to the greatest, in its unit, and more where there is room', () => {
    const axis = seriesAxis('bytes', 300 * 1048576, 44);
    expect(axis.unit).toBe('MiB');
    expect(axis.mostText).toBe('at most 300 MiB');
    expect(axis.marks.map(({ text }) => text)).toEqual(['0', '200']);
    expect(seriesAxis('bytes', 300 * 1048576, 132).marks.length).toBeGreaterThan(4);
  });
});

describe('colours', () => {
  it('are readable under their text, in every shade', () => {
    const pages: Rgb[] = [parseColour('#ffffff'), parseColour('#14171b')];
    for (const page of pages) {
      for (const hex of [
        '#0072b2',
        '#e69f00',
        '#009e73',
        '#d55e00',
        '#cc79a7',
        '#f0e442',
        '#8a8f98',
      ]) {
        for (const share of [1, 0.45, 0.65, 0.85, 0.28]) {
          const shown = mix(parseColour(hex), page, share);
          expect(contrast(shown, textOn(shown))).toBeGreaterThanOrEqual(4.4);
        }
      }
    }
  });
  it('tell types of layers apart, and copies from kernels', () => {
    const colours = new Colours();
    expect(colours.of(3, 'Conv')).toBe(new Colours().of(3, 'Conv'));
    expect(colours.of(3, 'Conv')).toBeGreaterThanOrEqual(6);
    expect(colours.of(6, 'kernel')).toBe(5);
    expect(colours.of(6, 'copy')).not.toBe(5);
    expect(colours.of(2, '')).toBe(1);
  });
  it('are not the same for two types, as long as there are any', () => {
    const types = ['Conv', 'Relu', 'Add', 'Gemm', 'MaxPool', 'Concat', 'Softmax', 'Reshape'];
    const colours = new Colours();
    const given = types.map((type) => colours.of(3, type));
    expect(new Set(given).size).toBe(types.length);
    expect(types.map((type) => colours.of(3, type))).toEqual(given);
    expect(colours.of(3, 'LayerNorm')).toBeGreaterThanOrEqual(6);
  });
  it('of a block say how busy it is', () => {
    expect([blockShade(1, 10), blockShade(5, 10), blockShade(9, 10)]).toEqual([1, 2, 3]);
    expect(blockShade(0, 0)).toBe(3);
  });
});

describe('search', () => {
  const at = (start_ns: number) => ({ start_ns, span: start_ns }) as Brief;
  const all = [10, 20, 30].map(at);
  const ask = ({ from, before }: { from?: number; before?: number }): Promise<Matches> => {
    const matches = all.filter((one) =>
      before === undefined ? one.start_ns >= (from ?? 0) : one.start_ns < before,
    );
    const first = before === undefined ? all.length - matches.length : 0;
    return Promise.resolve({ text: 'x', total: all.length, first, matches });
  };
  it('steps to the next and the last, and round the ends', async () => {
    expect(await step(ask, 10, 1)).toMatchObject({ match: { start_ns: 20 }, place: 1, total: 3 });
    expect(await step(ask, 30, 1)).toMatchObject({ match: { start_ns: 10 }, place: 0 });
    expect(await step(ask, 30, -1)).toMatchObject({ match: { start_ns: 20 }, place: 1 });
    expect(await step(ask, 10, -1)).toMatchObject({ match: { start_ns: 30 }, place: 2 });
    expect(
      await step(() => Promise.resolve({ text: '', total: 0, first: 0, matches: [] }), 0, 1),
    ).toBeNull();
  });
});

describe('keys', () => {
  const press = (key: string, more = {}) =>
    keyAction({ key, ctrlKey: false, metaKey: false, altKey: false, target: null, ...more });
  it('mean what the help says', () => {
    expect(press('w')).toEqual({ kind: 'hold', key: 'w' });
    expect(press('W')).toEqual({ kind: 'hold', key: 'w' });
    expect(press(']')).toEqual({ kind: 'iteration', by: 1 });
    expect(press('ArrowUp')).toEqual({ kind: 'level', by: -1 });
    expect(press('x')).toBeUndefined();
  });
  it('are left to whoever types, and to the browser', () => {
    expect(press('f', { ctrlKey: true })).toBeUndefined();
    expect(press('f', { target: { tagName: 'INPUT' } })).toBeUndefined();
  });
});

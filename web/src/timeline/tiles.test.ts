import { describe, expect, it } from 'vitest';
import { TileStore } from './store';
import {
  firstFrom,
  keyOf,
  loadTile,
  shortName,
  Texts,
  tileOf,
  tileRange,
  zoomFor,
  zoomOf,
} from './tiles';
import type { Lane, Tile, Timeline } from './types';
import { ApiError } from '../data/source';

const lane = (number: number, rows: number): Lane => ({
  lane: number,
  level: 3,
  kind: 'spans',
  title: 'Layers',
  unit: 'ns',
  process: 1,
  thread: 1,
  device: null,
  stream: null,
  rows,
  spans: 4,
});

const timeline: Timeline = {
  run: 1,
  base_ns: '1700000000000000000',
  duration_ns: 1000,
  axis_ns: 1024,
  cells: 16,
  max_zoom: 6,
  spans: 4,
  lanes: [lane(0, 2)],
  lanes_left_out: 0,
  spans_left_out: 0,
  latency_ns: null,
  undisturbed_ns: null,
  representative: null,
  iterations: { of: 'inference', total: 0, every: 1, iteration: [], start_ns: [], duration_ns: [] },
};

const tile = (zoom: number, number: number, complete: boolean): Tile => ({
  zoom,
  tile: number,
  complete,
  texts: ['', 'conv', 'Conv'],
  lanes: [
    {
      lane: 0,
      start_ns: [0, 100, 300, 110],
      duration_ns: [50, 150, 100, 40],
      row: [0, 0, 0, 1],
      span: [1, 2, 3, 4],
      count: [1, 1, 5, 1],
      busy_ns: [50, 150, 60, 40],
      name: [1, 1, 1, 1],
      type: [2, 2, 2, 2],
    },
  ],
  series: [],
});

describe('tile arithmetic', () => {
  it('has one number for a zoom and a tile', () => {
    expect([zoomOf(keyOf(33, 2 ** 33 - 1)), tileOf(keyOf(33, 2 ** 33 - 1))]).toEqual([
      33,
      2 ** 33 - 1,
    ]);
  });
  it('takes the coarsest zoom whose cells are no longer than a pixel', () => {
    expect(zoomFor(timeline, 64)).toBe(0);
    expect(zoomFor(timeline, 63)).toBe(1);
    expect(zoomFor(timeline, 32)).toBe(1);
    expect(zoomFor(timeline, 1e9)).toBe(0);
    expect(zoomFor(timeline, 1e-3)).toBe(6);
  });
  it('finds the tiles of a stretch, inside the axis', () => {
    expect(tileRange(timeline, 2, 256, 512)).toEqual([1, 1]);
    expect(tileRange(timeline, 2, 255, 513)).toEqual([0, 2]);
    expect(tileRange(timeline, 2, -1e6, 1e6)).toEqual([0, 3]);
    const [first, last] = tileRange(timeline, 2, -500, -100);
    expect(last).toBeLessThan(first);
  });
});

describe('columns', () => {
  const texts = new Texts();
  texts.number('before');
  const items = loadTile(tile(0, 0, true), timeline, texts).lanes[0]!;
  it('are split by row, with the texts of all tiles', () => {
    expect([...items.rowBegin]).toEqual([0, 3, 4]);
    expect(texts.all[items.name[0]!]).toBe('conv');
  });
  it('are entered at a moment, not after the span that reaches there', () => {
    const at = firstFrom(items, 0, 200);
    expect(items.start[at]).toBeLessThanOrEqual(100);
    expect(firstFrom(items, 1, 0)).toBe(3);
  });
});

describe('names', () => {
  it('of kernels lose what nobody reads', () => {
    expect(shortName('void cudnn::ops::nchwToNhwc<float, true>(cudnn::Param<float>)')).toBe(
      'nchwToNhwc',
    );
    expect(shortName('void (anonymous namespace)::softmax_warp<4>(float*)')).toBe('softmax_warp');
    expect(shortName('layer1/conv')).toBe('layer1/conv');
    expect(shortName('<lambda>')).toBe('<lambda>');
  });
});

const settle = async () => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

describe('the store', () => {
  it('draws coarser tiles until finer ones come, and aborts what is needed no more', async () => {
    const asked: string[] = [];
    const signals: AbortSignal[] = [];
    let open: (() => void) | undefined;
    const store = new TileStore(
      timeline,
      async (zoom, number, signal) => {
        asked.push(`${zoom}/${number}`);
        signals.push(signal);
        if (zoom > 0) await new Promise<void>((resolve) => (open = resolve));
        return tile(zoom, number, false);
      },
      () => undefined,
    );
    store.begin();
    await settle();
    expect(store.cover(2, 0, 3)).toBe(1);
    expect(store.piece(0)).toMatchObject({ from: 0, to: 4, exact: false, absent: false });
    store.request(2, 0, 200);
    await settle();
    expect(asked).toEqual(['0/0', '2/0', '2/1']); // the neighbour, too
    store.request(2, 800, 1000);
    expect(signals[1]?.aborted).toBe(true);
    open?.();
    await settle();
    expect(store.get(2, 0)).toBeUndefined();
  });
  it('asks for nothing finer than a complete tile', async () => {
    const asked: string[] = [];
    const store = new TileStore(
      timeline,
      (zoom, number) => {
        asked.push(`${zoom}/${number}`);
        return Promise.resolve(tile(zoom, number, true));
      },
      () => undefined,
    );
    store.begin();
    await settle();
    store.request(5, 0, 1000);
    await settle();
    expect(asked).toEqual(['0/0']);
    expect(store.cover(5, 0, 31)).toBe(1);
    expect(store.piece(0).exact).toBe(true);
  });
  it('in a report goes down as far as there are tiles, and knows where that ends', async () => {
    const there = new Set(['0/0', '1/0', '2/1']);
    const store = new TileStore(
      timeline,
      (zoom, number) =>
        there.has(`${zoom}/${number}`)
          ? Promise.resolve(tile(zoom, number, false))
          : Promise.reject(new ApiError('not in this report', 404)),
      () => store.request(4, 256, 500),
    );
    store.begin();
    for (let i = 0; i < 10; i++) await settle();
    expect(store.get(2, 1)).toBeDefined();
    const count = store.cover(4, 4, 7);
    expect(count).toBe(1);
    expect(store.piece(0)).toMatchObject({ key: keyOf(2, 1), exact: false, absent: true });
  });
  it('keeps to its bound, and always the coarsest tile', async () => {
    const store = new TileStore(
      timeline,
      (zoom, number) => Promise.resolve(tile(zoom, number, false)),
      () => undefined,
      3000,
    );
    store.begin();
    await settle();
    for (let number = 0; number < 16; number++) {
      store.request(4, number * 64, number * 64 + 10);
      await settle();
    }
    expect(store.bytes).toBeLessThanOrEqual(3000);
    expect(store.get(0, 0)).toBeDefined();
  });
});

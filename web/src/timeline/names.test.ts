import { describe, expect, it } from 'vitest';
import { ApiError } from '../data/source';
import { namesInTiles } from './names';
import type { Lane, Tile, Timeline } from './types';

const spans = [
  { span: 1, name: 'net', start: 0, duration: 1000, row: 0 },
  { span: 2, name: 'conv', start: 10, duration: 300, row: 1 },
  { span: 3, name: 'relu', start: 310, duration: 90, row: 1 },
  { span: 4, name: 'conv', start: 500, duration: 200, row: 1 },
  { span: 5, name: 'mark', start: 700, duration: 0, row: 1 },
];
const timeline = {
  axis_ns: 1024,
  max_zoom: 6,
  duration_ns: 1000,
  lanes: [{ lane: 0, level: 3 } as Lane],
} as Timeline;

// Makes the tile that the server would make, if it merged nothing.
function tileOf(zoom: number, tile: number, complete: boolean): Tile {
  const length = 1024 / 2 ** zoom;
  const inside = spans.filter(
    ({ start, duration }) => start < (tile + 1) * length && start + duration >= tile * length,
  );
  return {
    zoom,
    tile,
    complete,
    texts: ['', ...spans.map((one) => one.name)],
    lanes: [
      {
        lane: 0,
        start_ns: inside.map((one) => one.start),
        duration_ns: inside.map((one) => one.duration),
        row: inside.map((one) => one.row),
        span: inside.map((one) => one.span),
        count: inside.map(() => 1),
        busy_ns: inside.map((one) => one.duration),
        name: inside.map((one) => one.span),
        type: inside.map(() => 0),
      },
    ],
    series: [],
  };
}

const times = async (from: number, to: number, complete: number) => {
  const found = await namesInTiles(timeline, from, to, async (zoom, tile) =>
    tileOf(zoom, tile, zoom >= complete),
  );
  return Object.fromEntries(found.names.map((one) => [one.name, [one.spans, one.time_ns]]));
};

describe('the time of each name in a report', () => {
  it('is the same from coarse tiles and from fine ones', async () => {
    const expected = { net: [1, 400], conv: [2, 210], relu: [1, 90] };
    for (const complete of [0, 1, 3, 6]) expect(await times(200, 600, complete)).toEqual(expected);
  });
  it('adds up: two parts have the time of the whole', async () => {
    const [whole, left, right] = await Promise.all([
      times(0, 1000, 3),
      times(0, 333, 3),
      times(333, 1000, 3),
    ]);
    for (const [name, [, time]] of Object.entries(whole))
      expect((left[name]?.[1] ?? 0) + (right[name]?.[1] ?? 0)).toBe(time);
  });
  it('says what is known in blocks only, where the finer tiles are absent', async () => {
    const found = await namesInTiles(timeline, 0, 1000, async (zoom) => {
      if (zoom > 0) throw new ApiError('not in this report', 404);
      const one = tileOf(0, 0, false);
      (one.lanes[0] as { count: number[] }).count[1] = 7;
      return one;
    });
    expect(found.merged).toEqual({ spans: 7, time_ns: 300 });
    expect(found.names.map((one) => one.name)).toEqual(['net', 'conv', 'relu', 'mark']);
    expect(found.lanes[0]).toMatchObject({ spans: 11, time_ns: 1000 });
  });
});

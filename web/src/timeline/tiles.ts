// Tiles: the tiles that a view needs, and their columns. A run's time axis is a power of two of nanoseconds;
// zoom level Z divides it into 2^Z tiles, each of `cells` cells. src/desk/serve/timeline/items.h describes the
// content of a tile.
import type { Tile, TileLane, Timeline } from './types';

// Returns one number for a tile, so that a look-up needs no text. Zoom is below 64, the number below 2^40.
export const keyOf = (zoom: number, tile: number): number => tile * 64 + zoom;
export const zoomOf = (key: number): number => key % 64;
export const tileOf = (key: number): number => Math.floor(key / 64);

type Axis = Pick<Timeline, 'axis_ns' | 'cells' | 'max_zoom'>;

// Returns the coarsest zoom whose cells are no longer than a pixel.
export function zoomFor(axis: Axis, nsPerPixel: number): number {
  const wanted = Math.ceil(Math.log2(axis.axis_ns / (axis.cells * nsPerPixel)) - 1e-9);
  return Math.min(Math.max(wanted, 0), Math.min(axis.max_zoom, 40));
}

export const tileLength = (axis: Axis, zoom: number): number => axis.axis_ns / 2 ** zoom;

// Returns the first and the last tile of a stretch of time, inside the axis; last < first means none.
export function tileRange(axis: Axis, zoom: number, from: number, to: number): [number, number] {
  const length = tileLength(axis, zoom);
  return [
    Math.max(0, Math.floor(from / length)),
    Math.min(2 ** zoom - 1, Math.ceil(to / length) - 1),
  ];
}

// Holds texts that tiles share, by number. Values for drawing a name are computed once.
export class Texts {
  readonly all: string[] = [''];
  readonly short: string[] = [''];
  private readonly numbers = new Map<string, number>([['', 0]]);

  number(text: string): number {
    const known = this.numbers.get(text);
    if (known !== undefined) return known;
    const number = this.all.length;
    this.all.push(text);
    this.short.push(shortName(text));
    this.numbers.set(text, number);
    return number;
  }
}

// Returns the recognisable part of a kernel's name: without its result, its namespaces, and the parameters of
// its template and its own.
export function shortName(name: string): string {
  if (!name.includes('(') && !name.includes('<')) return name;
  let depth = 0;
  let out = '';
  for (const c of name.replace(/\(anonymous namespace\)::/g, '')) {
    if (c === '<') depth++;
    else if (c === '>') depth = Math.max(0, depth - 1);
    else if (depth === 0 && c === '(') break;
    else if (depth === 0) out += c;
  }
  out = out.replace(/^(void|static|inline)\s+/, '').trim();
  const last = out.split('::').filter(Boolean).pop();
  return last || name;
}

// Holds the columns of one lane in one tile, as numbers in arrays that are fast to traverse.
export interface LaneItems {
  start: Float64Array;
  duration: Float64Array;
  busy: Float64Array;
  span: Float64Array;
  count: Float64Array;
  name: Int32Array; // numbers of Texts
  type: Int32Array;
  rowBegin: Int32Array; // first item of each row; one more at the end
}

export interface Points {
  time: Float64Array;
  value: Float64Array; // NaN: not measured from here on
  low: Float64Array;
  high: Float64Array;
}

export interface Loaded {
  complete: boolean;
  lanes: (LaneItems | undefined)[]; // by lane
  series: (Points | undefined)[];
  bytes: number;
}

function laneItems(lane: TileLane, rows: number, numbers: Int32Array): LaneItems {
  const rowBegin = new Int32Array(rows + 1);
  for (const row of lane.row) rowBegin[Math.min(row, rows - 1) + 1]!++;
  for (let row = 0; row < rows; row++) rowBegin[row + 1]! += rowBegin[row]!;
  return {
    start: Float64Array.from(lane.start_ns),
    duration: Float64Array.from(lane.duration_ns),
    busy: Float64Array.from(lane.busy_ns),
    span: Float64Array.from(lane.span),
    count: Float64Array.from(lane.count),
    name: Int32Array.from(lane.name, (text) => numbers[text] ?? 0),
    type: Int32Array.from(lane.type, (text) => numbers[text] ?? 0),
    rowBegin,
  };
}

const numbersOf = (values: (number | null)[]) => Float64Array.from(values, (one) => one ?? NaN);

export function loadTile(tile: Tile, timeline: Timeline, texts: Texts): Loaded {
  const numbers = Int32Array.from(tile.texts, (text) => texts.number(text));
  const loaded: Loaded = { complete: tile.complete, lanes: [], series: [], bytes: 200 };
  for (const lane of tile.lanes) {
    const rows = timeline.lanes[lane.lane]?.rows ?? 1;
    loaded.lanes[lane.lane] = laneItems(lane, rows, numbers);
    loaded.bytes += lane.start_ns.length * 48 + 500;
  }
  for (const one of tile.series) {
    loaded.series[one.lane] = {
      time: Float64Array.from(one.time_ns),
      value: numbersOf(one.value),
      low: numbersOf(one.low),
      high: numbersOf(one.high),
    };
    loaded.bytes += one.time_ns.length * 32 + 200;
  }
  return loaded;
}

// Returns the first item of a row that may reach to `time` or beyond. Items of a row are in the order of
// their starts, and at most two of them, a span and a block, begin in one cell.
export function firstFrom(items: LaneItems, row: number, time: number): number {
  const begin = items.rowBegin[row] ?? 0;
  let low = begin;
  let high = items.rowBegin[row + 1] ?? begin;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items.start[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return Math.max(begin, low - 4);
}

// The time of the spans of each name between two moments: the server's answer or, in a report, the same from its
// recorded tiles. Neither depends on the zoom of the view.
import { ApiError, getOnce, isReport, routeOf } from '../data/source';
import { tileOf } from './ask';
import type { Tile, Timeline } from './types';

export interface LaneTime {
  lane: number | null;
  spans: number; // spans that touch the stretch
  time_ns: number; // of the outermost ones, within it
}

export interface NameTime extends LaneTime {
  level: number;
  name: string;
  type: string;
  mean_ns: number; // of whole spans
  longest_ns: number;
  span: number; // the longest one
}

export interface Names {
  lanes: LaneTime[];
  names: NameTime[]; // the most time first
  total_names: number;
  // Spans of a report that are merged into blocks, so that their names are not known, and some of them may lie
  // outside of the stretch.
  merged?: { spans: number; time_ns: number };
}

export async function namesOf(
  evaluation: string,
  run: number,
  timeline: Timeline,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Names> {
  const ask = (zoom: number, tile: number) => tileOf(evaluation, run, zoom, tile, signal);
  if (await isReport()) return namesInTiles(timeline, from, to, ask);
  return getOnce<Names>(`${routeOf(evaluation)}/timeline/names`, { run, from, to }, signal);
}

// Adds up spans by lane and by name.
class Sums {
  readonly lanes = new Map<number, LaneTime>();
  readonly names = new Map<string, NameTime & { whole_ns: number }>();
  merged = { spans: 0, time_ns: 0 };

  constructor(
    private readonly timeline: Timeline,
    private readonly from: number,
    private readonly to: number,
  ) {}

  // Adds the items of a tile that begin in [low, high); `first` also those that begin before.
  add(tile: Tile, low: number, high: number, first: boolean) {
    for (const items of tile.lanes) {
      for (const [at, start] of items.start_ns.entries()) {
        const duration = items.duration_ns[at] as number;
        const touches = start < this.to && (start + duration > this.from || start === this.from);
        if (!touches || start >= high || (start < low && !first)) continue;
        const inside = Math.min(start + duration, this.to) - Math.max(start, this.from);
        const count = items.count[at] as number;
        const part = duration > 0 ? inside / duration : 1;
        const time = count > 1 ? Math.round((items.busy_ns[at] as number) * part) : inside;
        const lane = this.lane(items.lane);
        lane.spans += count;
        if (items.row[at] === 0) lane.time_ns += time;
        if (count > 1) {
          this.merged.spans += count;
          this.merged.time_ns += time;
          continue;
        }
        const [name, type] = [
          tile.texts[items.name[at] as number],
          tile.texts[items.type[at] as number],
        ];
        const one = this.name(items.lane, name ?? '', type ?? '');
        one.spans += 1;
        one.time_ns += inside;
        one.whole_ns += duration;
        if (duration >= one.longest_ns) {
          one.longest_ns = duration;
          one.span = items.span[at] as number;
        }
      }
    }
  }

  private lane(lane: number): LaneTime {
    const known = this.lanes.get(lane) ?? { lane, spans: 0, time_ns: 0 };
    this.lanes.set(lane, known);
    return known;
  }

  private name(lane: number, name: string, type: string) {
    const key = `${lane}\n${name}\n${type}`;
    const level = this.timeline.lanes[lane]?.level ?? 0;
    const zero = { spans: 0, time_ns: 0, mean_ns: 0, longest_ns: 0, whole_ns: 0, span: 0 };
    const known = this.names.get(key) ?? { lane, level, name, type, ...zero };
    this.names.set(key, known);
    return known;
  }
}

// Goes from the coarsest tile to the finest that are there.
export async function namesInTiles(
  timeline: Timeline,
  from: number,
  to: number,
  ask: (zoom: number, tile: number) => Promise<Tile>,
): Promise<Names> {
  const sums = new Sums(timeline, from, to);

  async function visit(zoom: number, number: number): Promise<boolean> {
    const length = timeline.axis_ns / 2 ** zoom;
    const [low, high] = [number * length, (number + 1) * length];
    if (low >= to || high <= from) return true;
    let tile: Tile;
    try {
      tile = await ask(zoom, number);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
    // A span that begins before the stretch counts once, with the part that reaches into it.
    const isFirst = (begin: number) => begin <= from;
    if (tile.complete || zoom === timeline.max_zoom) {
      sums.add(tile, low, high, isFirst(low));
      return true;
    }
    const middle = (low + high) / 2;
    if (!(await visit(zoom + 1, 2 * number))) sums.add(tile, low, middle, isFirst(low));
    if (!(await visit(zoom + 1, 2 * number + 1))) sums.add(tile, middle, high, isFirst(middle));
    return true;
  }
  await visit(0, 0);
  const names = [...sums.names.values()].map(({ whole_ns, ...one }) => ({
    ...one,
    mean_ns: whole_ns / one.spans,
  }));
  names.sort((a, b) => b.time_ns - a.time_ns || b.spans - a.spans);
  return {
    lanes: [...sums.lanes.values()],
    names,
    total_names: names.length,
    ...(sums.merged.spans > 0 ? { merged: sums.merged } : {}),
  };
}

// Places lanes on the canvas, and finds the lane under a point. In CSS pixels.
import type { Lane } from './types';

export const ROW = 18;
export const SERIES = 44;
export const GAP = 7;

// How the user wants the lanes, by their numbers. Pinned ones stay at the top while the others scroll.
export interface Look {
  pinned: ReadonlySet<number>;
  hidden: ReadonlySet<number>;
  sizes: ReadonlyMap<number, number>; // times the usual height
}

export const PLAIN: Look = { pinned: new Set(), hidden: new Set(), sizes: new Map() };
export const SIZES = [0.5, 1, 1.5, 2, 3, 5];

export interface Placed {
  lane: Lane;
  top: number; // below the first lane's top
  height: number;
  row: number; // height of one row
  isPinned: boolean;
}

export interface Laid {
  placed: Placed[]; // the pinned ones first
  height: number;
  pinned: number; // height of the pinned ones; 0: there is none
}

export function layOut(lanes: Lane[], look: Look = PLAIN): Laid {
  let top = GAP;
  const isPinned = (lane: Lane) => look.pinned.has(lane.lane);
  const place = (lane: Lane): Placed => {
    const row = Math.round(ROW * (look.sizes.get(lane.lane) ?? 1));
    const height =
      lane.kind === 'series'
        ? Math.round(SERIES * (look.sizes.get(lane.lane) ?? 1))
        : lane.rows * row;
    const one = { lane, top, height, row, isPinned: isPinned(lane) };
    top += height + GAP;
    return one;
  };
  const first = lanes.filter(isPinned).map(place);
  const pinned = first.length > 0 ? top : 0;
  const rest = lanes.filter((lane) => !isPinned(lane)).map(place);
  return { placed: [...first, ...rest], height: top, pinned };
}

// Returns where the top of a lane is, below the first lane's place, after scrolling.
export const topOf = (one: Placed, scroll: number): number =>
  one.isPinned ? one.top : one.top - scroll;

// Returns the lane at a height below the first lane's place, and its row; nothing between lanes.
export function laneAt(
  { placed, pinned }: Laid,
  y: number,
  scroll: number,
): { placed: Placed; row: number } | undefined {
  for (const one of placed) {
    if (!one.isPinned && y < pinned) return undefined;
    const inside = y - topOf(one, scroll);
    if (inside < 0 || inside >= one.height) continue;
    return { placed: one, row: one.lane.kind === 'series' ? 0 : Math.floor(inside / one.row) };
  }
  return undefined;
}

// Returns the scroll position at which a row is visible, with `above` pixels covered by pinned lanes.
export function scrollTo(
  scroll: number,
  top: number,
  height: number,
  room: number,
  above = 0,
): number {
  if (top < scroll + above) return Math.max(0, top - GAP - above);
  if (top + height > scroll + room) return top + height - room + GAP;
  return scroll;
}

// ---- The look in the address: "pin=3,4", "hide=7", "size=3:2,5:0.5" ----

const numbersOf = (text: string | null): number[] =>
  (text ?? '')
    .split(',')
    .filter((one) => /^\d+$/.test(one))
    .map(Number);

export function lookOf(query: URLSearchParams): Look {
  const sizes = (query.get('size') ?? '').split(',').flatMap((one): [number, number][] => {
    const [lane, size] = one.split(':').map(Number);
    const isKnown = lane !== undefined && Number.isInteger(lane) && SIZES.includes(size ?? NaN);
    return isKnown ? [[lane, size as number]] : [];
  });
  return {
    pinned: new Set(numbersOf(query.get('pin'))),
    hidden: new Set(numbersOf(query.get('hide'))),
    sizes: new Map(sizes),
  };
}

// Returns what the address says of a look; null leaves a part out.
export function addressOf(look: Look): Record<'pin' | 'hide' | 'size', string | null> {
  const sorted = (some: ReadonlySet<number>) =>
    some.size > 0 ? [...some].sort((a, b) => a - b).join(',') : null;
  const sizes = [...look.sizes]
    .filter(([, size]) => size !== 1)
    .sort((a, b) => a[0] - b[0])
    .map(([lane, size]) => `${lane}:${size}`);
  return {
    pin: sorted(look.pinned),
    hide: sorted(look.hidden),
    size: sizes.length > 0 ? sizes.join(',') : null,
  };
}

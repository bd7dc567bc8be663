// Places lanes on the canvas, and finds the lane under a point. In CSS pixels.
import type { Lane } from './types';

export const ROW = 18;
export const SERIES = 44;
export const GAP = 7;

export interface Placed {
  lane: Lane;
  top: number; // below the first lane's top
  height: number;
}

export function layOut(lanes: Lane[]): { placed: Placed[]; height: number } {
  let top = GAP;
  const placed = lanes.map((lane) => {
    const height = lane.kind === 'series' ? SERIES : lane.rows * ROW;
    const one = { lane, top, height };
    top += height + GAP;
    return one;
  });
  return { placed, height: top };
}

// Returns the lane at a height, and its row; nothing between lanes.
export function laneAt(placed: Placed[], y: number): { placed: Placed; row: number } | undefined {
  for (const one of placed) {
    if (y < one.top || y >= one.top + one.height) continue;
    const row = one.lane.kind === 'series' ? 0 : Math.floor((y - one.top) / ROW);
    return { placed: one, row };
  }
  return undefined;
}

// Returns the scroll position at which a row is visible.
export function scrollTo(scroll: number, top: number, height: number, room: number): number {
  if (top < scroll) return Math.max(0, top - GAP);
  if (top + height > scroll + room) return top + height - room + GAP;
  return scroll;
}

// Measures the spans between two moments, as far as the tiles in view contain them.
import { firstFrom, type Loaded } from './tiles';
import type { Lane } from './types';

export interface Measured {
  lane: Lane;
  count: number; // spans that start in it
  busy: number; // time of its outermost row's spans within it
  about: boolean; // approximate: blocks cross its ends
}

// Adds one lane of one tile, of which only [from, to) counts. `holds` determines where spans are counted that
// begin before.
export function measureLane(into: Measured, loaded: Loaded, lane: Lane, from: number, to: number) {
  const items = loaded.lanes[lane.lane];
  if (!items) return;
  for (let row = 0; row < lane.rows; row++) {
    const end = items.rowBegin[row + 1] as number;
    for (let i = firstFrom(items, row, from); i < end; i++) {
      const start = items.start[i] as number;
      const stop = start + (items.duration[i] as number);
      if (start >= to) break;
      if (start >= from) into.count += items.count[i] as number;
      if (stop <= from && start < from) continue;
      const share = Math.min(stop, to) - Math.max(start, from);
      const length = stop - start;
      const isBlock = (items.count[i] as number) > 1;
      if (isBlock && (start < from || stop > to)) into.about = true;
      if (row > 0) continue;
      into.busy += isBlock && length > 0 ? ((items.busy[i] as number) * share) / length : share;
    }
  }
}

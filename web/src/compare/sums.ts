// Sums over several rows: their latencies, and their difference.
import type { Item } from './comparison';

export interface Sums {
  latencies: number[]; // ns, by evaluation
  difference: number; // ns
  share: number | null; // % of the whole difference
}

export function sums(items: Item[], against: number): Sums {
  const latencies = (items[0]?.sides ?? []).map((_, e) =>
    items.reduce((sum, item) => sum + (item.sides[e]?.latency ?? 0), 0),
  );
  let difference = 0;
  let share: number | null = null;
  for (const item of items) {
    difference += item.sides[against]?.difference ?? 0;
    const part = item.sides[against]?.share ?? null;
    if (part !== null) share = (share ?? 0) + part;
  }
  return { latencies, difference, share };
}

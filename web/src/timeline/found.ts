// Steps through the results of a search: the server returns a thousand matches at once, near the current
// time.
import type { Item, Stage } from './stage';
import type { Brief, Matches } from './types';

export type Ask = (where: { from?: number; before?: number }) => Promise<Matches>;

export interface Found {
  match: Brief;
  place: number; // position among all matches, from 0
  total: number;
}

// Finds the match that follows the moment, or the last before it; at the run's end it starts again.
export async function step(ask: Ask, moment: number, by: number): Promise<Found | null> {
  const whole = Math.max(Math.floor(moment), 0);
  const answer = by > 0 ? await ask({ from: whole + 1 }) : await ask({ before: whole });
  if (answer.total === 0) return null;
  const index = by > 0 ? 0 : answer.matches.length - 1;
  const match = answer.matches[index];
  if (match) return { match, place: answer.first + index, total: answer.total };
  const first = by > 0 ? await ask({ from: 0 }) : await ask({ before: Number.MAX_SAFE_INTEGER });
  const wrapped = by > 0 ? first.matches[0] : first.matches.at(-1);
  if (!wrapped) return null;
  return { match: wrapped, place: by > 0 ? 0 : first.total - 1, total: first.total };
}

// Finds the next or the last match among the spans that the stage has.
export function amongItems(
  stage: Stage,
  end: number,
  text: string,
  moment: number,
  by: number,
): { hit: Item; place: number; total: number } | null {
  const wanted = text.toLowerCase();
  const all: Item[] = [];
  for (const { lane } of stage.placed) {
    if (lane.kind === 'series') continue;
    stage.each(lane, null, 0, end, (item) => {
      if (item.count === 1 && item.name.toLowerCase().includes(wanted)) all.push(item);
    });
  }
  all.sort((a, b) => a.start - b.start);
  const after = by > 0 ? all.find((one) => one.start > moment) : undefined;
  const before = by < 0 ? all.filter((one) => one.start < moment).at(-1) : undefined;
  const hit = after ?? before ?? (by > 0 ? all[0] : all.at(-1));
  return hit ? { hit, place: all.indexOf(hit), total: all.length } : null;
}

// Puts a ratio of latencies into words. Less time is given in percent; beyond half or double, as a factor,
// because "95 % less" is hard to distinguish from "97 % less".
import type { Verdict } from './comparison';

export type Tone = 'good' | 'bad' | 'same' | 'unknown';

export interface Statement {
  tone: Tone;
  lead: string; // "B is faster"
  detail: string; // "12.3 % less time [11.8, 12.9]"
}

const FACTOR_FROM = 2;

// Returns so many decimals that the interval's two ends differ, three at most.
function decimalsFor(width: number): number {
  if (!(width > 0)) return 1;
  return Math.min(3, Math.max(0, -Math.floor(Math.log10(width / 2.5))));
}

// Returns a number and its interval: "12.3 % less time [11.8, 12.9]".
function withInterval(value: number, ends: [number, number], words: string): string {
  const [low, high] = ends[0] <= ends[1] ? ends : [ends[1], ends[0]];
  let decimals = decimalsFor(high - low);
  // A limit close to zero must not be shown as zero.
  while (decimals < 3 && low > 0 && Number(low.toFixed(decimals)) === 0) decimals += 1;
  const text = (one: number) => one.toFixed(decimals).replace(/^-(0(\.0*)?)$/, '$1');
  return `${text(value)}${words} [${text(low)}, ${text(high)}]`;
}

export function statementOf(verdict: Verdict, name: string, reference: string): Statement {
  const { ratio, low, high } = verdict;
  if (ratio === null || low === null || high === null || verdict.significant === null) {
    return { tone: 'unknown', lead: 'no statement', detail: verdict.text };
  }
  const change = (words: string, sign: number) => {
    const of = (one: number) => sign * 100 * (one - 1);
    return withInterval(of(ratio), [of(low), of(high)], words);
  };
  if (!verdict.significant) {
    const detail = `latency changes by ${change(' %', 1)}`;
    return { tone: 'same', lead: 'no significant difference', detail };
  }
  if (ratio < 1) {
    const lead = `${name} is faster than ${reference}`;
    const detail =
      1 / ratio >= FACTOR_FROM
        ? withInterval(1 / ratio, [1 / high, 1 / low], ' times as fast')
        : change(' % less time', -1);
    return { tone: 'good', lead, detail };
  }
  const lead = `${name} is slower than ${reference}`;
  const detail =
    ratio >= FACTOR_FROM
      ? withInterval(ratio, [low, high], ' times as long')
      : change(' % more time', 1);
  return { tone: 'bad', lead, detail };
}

// The ways in which layers were matched.
export const MATCHED_WORDS: Record<string, string> = {
  name: 'by name, or by the layer of the model that they stand for',
  order: 'by their order and type',
  position: 'by their position in the layer',
  group: 'as a group: what one runtime fused, or computes otherwise',
  none: 'no counterpart',
};

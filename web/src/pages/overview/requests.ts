// The requests of a load: the parts of their latency, and what was asked of them.
import { number, text, type Row } from '../../data/records';
import { sharesOf } from '../../data/shares';
import { format } from '../../data/units';
import type { Segment } from './levels';

// Returns the row of the latency of `request_latency`.
export const latencyOf = (rows: Row[]): Row | undefined =>
  rows.find((row) => row['part'] === 'latency');

// Returns the parts of the mean latency, in the order in which a request passes them, and their shares in per
// cent.
export function partsOf(rows: Row[]): { segments: Segment[]; shares: number[] } {
  const whole = number(latencyOf(rows)?.['mean_ns']) ?? 0;
  const parts = whole > 0 ? rows.filter((row) => row['is_part'] === true) : [];
  const values = parts.map((row) => number(row['mean_ns']) ?? 0);
  return {
    segments: parts.map((row, at) => ({
      name: text(row['part']),
      value: values[at] as number,
      share: (values[at] as number) / whole,
      kind: 'part',
    })),
    shares: sharesOf(values, whole, 100),
  };
}

// Returns what the load was, "scenario server, 300 of 1000 requests": how many were answered of those that were
// asked for.
export function loadOf(facts: Record<string, string>, latency: Row | undefined): string {
  const answered = text(latency?.['requests']);
  const asked = facts['scenario.requests'] ?? answered;
  const requests = answered === asked ? answered : `${answered} of ${asked}`;
  return `scenario ${facts['scenario'] ?? ''}${requests ? `, ${requests} requests` : ''}`;
}

// Returns the interval of the highest rate, "448 /s to 561 /s"; '' if it has none.
export const highestRange = (latency: Row): string =>
  number(latency['low_per_s']) === null
    ? ''
    : `${format('per_s', latency['low_per_s'])} to ${format('per_s', latency['high_per_s'])}`;

// Returns whether the load was as required, and whether it is whole: sentences of its facts.
export const verdictsOf = (facts: Record<string, string>): string[] =>
  ['scenario.verdict', 'scenario.loadgen', 'scenario.incomplete'].flatMap(
    (key) => facts[key] ?? [],
  );

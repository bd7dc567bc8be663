// The requests of a load: the parts of their latency, and what was asked of them.
import { number, text, type Row } from '../../data/records';
import { sharesOf } from '../../data/shares';
import type { Segment } from './levels';

const PARTS = ['queue', 'batcher', 'pipeline', 'model', 'output'];

// Returns the row of a part of `request_latency`.
export const rowOf = (rows: Row[], part: string): Row | undefined =>
  rows.find((row) => row['part'] === part);

// Returns the parts of the mean latency, in the order in which a request passes them, and their shares in per
// cent. A load that generates has none.
export function partsOf(rows: Row[]): { segments: Segment[]; shares: number[] } {
  const whole = number(rowOf(rows, 'latency')?.['mean_ns']) ?? 0;
  const parts = rows.filter((row) => PARTS.includes(text(row['part'])) && whole > 0);
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

// Returns what the load was: "scenario server, 3000 requests".
export function loadOf(facts: Record<string, string>): string {
  const requests = facts['scenario.requests'];
  return `scenario ${facts['scenario'] ?? ''}${requests ? `, ${requests} requests` : ''}`;
}

// The critical path: the links of the analysis critical_path, on the lanes of a timeline.
import { number, recordsOf, text, type Row } from '../data/records';
import type { Cell, Rows } from '../data/types';
import type { Lane } from './types';

export interface Link {
  from: number; // nanoseconds after the run's begin
  to: number;
  lane: number;
  row: number;
}

// Returns the lane of a link: that of its span; of a thread that is in no span, the thread's first. A device that is
// idle by itself has none.
function laneOf(row: Row, lanes: Lane[]): Lane | undefined {
  const own = lanes.filter((one) => one.kind === 'spans');
  const at = (name: string) => number(row[name]);
  const [level, stream] = [at('level'), at('stream')];
  const ofThread = own.filter(
    (one) => one.stream === null && one.process === at('process') && one.thread === at('thread'),
  );
  if (level === null) return at('thread') === null ? undefined : ofThread[0];
  if (stream === null) return ofThread.find((one) => one.level === level);
  return own.find(
    (one) => one.level === level && one.stream === stream && one.device === at('device'),
  );
}

export function linksOf(answer: Rows, lanes: Lane[]): Link[] {
  let last = { lane: -1, row: 0 };
  return recordsOf(answer).map((row) => {
    const lane = laneOf(row, lanes);
    if (lane) last = { lane: lane.lane, row: Math.min(number(row['depth']) ?? 0, lane.rows - 1) };
    const from = number(row['moment_ns']) ?? 0;
    return { from, to: from + (number(row['duration_ns']) ?? 0), ...last };
  });
}

// Returns the parts of the path by cause and name, the longest first: cause, name, links, time, share of the step.
export function partsOf(answer: Rows): Cell[][] {
  const parts = new Map<string, { cause: string; name: string; links: number; time: number }>();
  let whole = 0;
  for (const row of recordsOf(answer)) {
    const [cause, name] = [text(row['cause']), text(row['name'])];
    const key = `${cause}\n${name}`;
    const part = parts.get(key) ?? { cause, name, links: 0, time: 0 };
    const time = number(row['duration_ns']) ?? 0;
    part.links += 1;
    part.time += time;
    whole += time;
    parts.set(key, part);
  }
  return [...parts.values()]
    .sort((a, b) => b.time - a.time)
    .map((one) => [one.cause, one.name, one.links, one.time, (100 * one.time) / whole]);
}

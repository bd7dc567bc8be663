// Formats words and numbers beside the canvas.
import { Scale } from '../data/units';
import type { Timeline } from './types';
import type { LaneTime } from './names';
import { durationText, type View } from './view';

const SUFFIXES: [string, string][] = [
  ['_bytes', 'bytes'],
  ['_flops', 'flops'],
  ['_pct', 'pct'],
  ['_ns', 'ns'],
];

// Formats a counter's value, in the unit at the end of its name.
export function formatCell(name: string, value: number | null): string {
  if (value === null) return 'not measured';
  const ends = SUFFIXES.find(([suffix]) => name.endsWith(suffix) || name === suffix.slice(1));
  const scale = new Scale(ends?.[1] ?? 'number', [value]);
  return `${scale.text(value)}${scale.label ? ` ${scale.label}` : ''}`;
}

export const countText = (count: number): string => count.toLocaleString('en-US');

export const spansText = (count: number): string =>
  `${countText(count)} ${count === 1 ? 'span' : 'spans'}`;

// Describes the view for users who cannot see it.
export function summary(timeline: Timeline, view: View): string {
  const lanes = timeline.lanes
    .map(
      (lane) =>
        `${lane.title}, ${lane.kind === 'series' ? `${lane.spans} values` : spansText(lane.spans)}`,
    )
    .join('; ');
  return (
    `Timeline of run ${timeline.run}: ${spansText(timeline.spans)} in ${durationText(timeline.duration_ns)}, ` +
    `${timeline.iterations.total} ${timeline.iterations.of}s. In view: ${durationText(Math.max(view.from, 0))} to ` +
    `${durationText(Math.min(view.to, timeline.duration_ns))}. Lanes: ${lanes}.`
  );
}

export function measuredText(one: LaneTime, length: number): string {
  const share = length > 0 ? Math.min((100 * one.time_ns) / length, 100).toFixed(1) : '0';
  return `${spansText(one.spans)}, busy ${durationText(one.time_ns)} (${share} %)`;
}

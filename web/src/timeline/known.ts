import type { Item } from './stage';
import type { SpanDetails } from './types';

// Returns the facts of a span that the tiles contain, for a report that has no more.
export function knownOf(item: Item, run: number): SpanDetails {
  return {
    is_partial: true,
    run,
    span: item.span,
    parent: null,
    level: item.lane.level,
    lane: item.lane.lane,
    row: item.row,
    name: item.name,
    type: item.type || null,
    start_ns: item.start,
    duration_ns: item.duration,
    self_ns: null,
    iteration: null,
    ordinal: null,
    correlation_id: null,
    process: item.lane.process,
    thread: item.lane.thread,
    device: item.lane.device,
    stream: item.lane.stream,
    is_open: false,
    attributes: [],
    counters: [],
    ancestors: [],
    children: [],
    total_children: 0,
    descendants: [],
    total_descendants: 0,
    descendants_are_children: false,
    correlated: [],
  };
}

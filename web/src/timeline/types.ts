// The answers of the timeline's routes; docs/http_api.md describes them. Times are nanoseconds since the
// run's base.

export interface Lane {
  lane: number;
  level: number; // 1 application ... 6 kernel
  kind: 'spans' | 'series';
  title: string;
  unit: string;
  process: number | null;
  thread: number | null;
  device: number | null;
  stream: number | null;
  rows: number; // deepest nesting + 1
  spans: number;
}

export interface Timeline {
  run: number;
  base_ns: string; // UNIX time
  duration_ns: number;
  axis_ns: number; // the power of two that tiles divide
  cells: number; // cells of a tile
  max_zoom: number;
  spans: number;
  lanes: Lane[];
  lanes_left_out: number;
  spans_left_out: number;
  latency_ns: number | null; // the model's latency in this run
  undisturbed_ns: number | null; // in the run of the model alone
  representative: number | null; // the iteration whose latency is nearest to the median
  iterations: {
    of: 'inference' | 'step'; // what the run repeats
    total: number;
    every: number; // one of this many is listed
    iteration: number[];
    start_ns: number[];
    duration_ns: number[];
  };
}

export interface TileLane {
  lane: number;
  start_ns: number[];
  duration_ns: number[];
  row: number[];
  span: number[];
  count: number[]; // more than 1: a block of spans too short to be seen one by one
  busy_ns: number[];
  name: number[]; // indices into texts
  type: number[];
}

export interface Tile {
  zoom: number;
  tile: number;
  complete: boolean; // a finer zoom shows no more
  texts: string[];
  lanes: TileLane[];
  series: {
    lane: number;
    time_ns: number[];
    value: (number | null)[];
    low: (number | null)[];
    high: (number | null)[];
  }[];
}

export interface Brief {
  span: number;
  parent: number | null;
  level: number;
  lane: number | null;
  row: number;
  name: string;
  type: string | null;
  start_ns: number;
  duration_ns: number;
  self_ns: number | null;
}

export interface SpanDetails extends Brief {
  is_partial?: true; // a report has no more of it than its tile
  run: number;
  iteration: number | null;
  ordinal: number | null;
  correlation_id: number | null;
  process: number | null;
  thread: number | null;
  device: number | null;
  stream: number | null;
  is_open: boolean;
  attributes: { key: string; value: string }[];
  counters: { name: string; value: number | null }[];
  ancestors: Brief[]; // from the parent upwards
  children: Brief[];
  total_children: number;
  descendants: number[];
  total_descendants: number;
  descendants_are_children: boolean;
  correlated: (Brief & { role: 'launch' | 'execution' })[];
}

export interface Matches {
  text: string;
  total: number;
  first: number; // position of matches[0] among all, from 0
  matches: Brief[];
}

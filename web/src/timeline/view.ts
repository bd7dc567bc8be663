// The stretch of time in view, and its movements. Times are nanoseconds since the run's base.

export interface View {
  from: number;
  to: number;
}

export const MIN_SPAN_NS = 20; // the closest zoom: no clock is finer

// Keeps a view inside the run, with a margin of half of the view on both sides, so that ends can be centred.
export function clamp(view: View, duration: number): View {
  const most = Math.max(duration * 1.1, MIN_SPAN_NS);
  const span = Math.min(Math.max(view.to - view.from, MIN_SPAN_NS), most);
  const margin = Math.min(span / 2, Math.max(duration, MIN_SPAN_NS) * 0.05 + span * 0.45);
  const low = -margin;
  const high = Math.max(duration + margin - span, low);
  const from = Math.min(Math.max(view.from, low), high);
  return { from, to: from + span };
}

// Zooms by `factor` (below 1 zooms in); the time `at` stays where it is.
export function zoomAt(view: View, at: number, factor: number): View {
  const span = view.to - view.from;
  const wanted = Math.max(span * factor, MIN_SPAN_NS);
  const share = (at - view.from) / span;
  return { from: at - share * wanted, to: at + (1 - share) * wanted };
}

export const pan = (view: View, by: number): View => ({ from: view.from + by, to: view.to + by });

// Returns a view of one span, with room beside it.
export function around(start: number, duration: number, room = 0.15): View {
  const span = Math.max(duration, MIN_SPAN_NS / 2);
  return { from: start - span * room, to: start + span * (1 + room) };
}

// Returns a view in which a span is visible: the same view if it is, else a moved one, wider if necessary.
export function reveal(view: View, start: number, duration: number): View {
  if (start >= view.from && start + duration <= view.to) return view;
  const span = view.to - view.from;
  if (duration > span * 0.9) return around(start, duration);
  const middle = start + duration / 2;
  return { from: middle - span / 2, to: middle + span / 2 };
}

// Returns the iteration that contains a moment, or the last one before it; -1 before the first.
export function iterationAt(starts: number[], time: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// Returns the iteration to step to: `by` is 1 or -1.
export function nextIteration(starts: number[], view: View, by: number): number {
  const middle = (view.from + view.to) / 2;
  const here = iterationAt(starts, middle);
  const wanted = here < 0 && by < 0 ? 0 : here + by;
  return Math.min(Math.max(wanted, 0), starts.length - 1);
}

const NICE = [1, 2, 5, 10];

// Returns a step of 1, 2 or 5 times a power of ten, not less than `least`.
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  for (const nice of NICE) if (nice * power >= least * (1 - 1e-9)) return nice * power;
  return 10 * power;
}

const UNITS: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'us'],
  [1, 'ns'],
];

// Formats a moment for the ruler: in the unit of the step, with the decimals that the step needs.
export function tickText(value: number, step: number): string {
  const [factor, unit] = UNITS.find(([size]) => step >= size || size === 1) as [number, string];
  const coarser = UNITS[UNITS.findIndex(([size]) => size === factor) - 1];
  const use =
    coarser && Math.abs(value) >= coarser[0] && step >= coarser[0] / 1000
      ? coarser
      : ([factor, unit] as const);
  const decimals = Math.max(0, Math.round(Math.log10(use[0] / step) + 0.499));
  return `${(value / use[0]).toFixed(step >= use[0] ? 0 : decimals)} ${use[1]}`;
}

// Formats a duration with four significant digits.
export function durationText(ns: number): string {
  const size = Math.abs(ns);
  const [factor, unit] = UNITS.find(([least]) => size >= least) ?? ([1, 'ns'] as const);
  const value = ns / factor;
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.max(Math.abs(value), 1))));
  return `${factor === 1 ? Math.round(value) : value.toFixed(Math.min(digits, 3))} ${unit}`;
}

// Formats a moment for a table, so that those of one view differ: milliseconds to the nanosecond.
export function momentText(ns: number): string {
  const [whole = '', rest = ''] = (ns / 1e6).toFixed(6).split('.');
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${rest} ms`;
}

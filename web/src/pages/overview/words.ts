// The sentences of the overview, made from rows of analyses.
import { isEarly, timeOf } from '../../data/model';
import { number, text, type Row } from '../../data/records';
import { format } from '../../data/units';

const NO_INTERVAL = 'too few blocks for an interval';
const LIMIT: Record<string, string> = {
  memory: 'the memory',
  l2: 'the L2 cache',
  compute: 'arithmetic',
};
export const share = (value: number | null): string =>
  value === null ? '–' : `${value.toFixed(1)} %`;

function ends(row: Row | undefined): [number | null, number | null] {
  const names = isEarly(row) ? ['step_low_ns', 'step_high_ns'] : ['low_ns', 'high_ns'];
  return [number(row?.[names[0] ?? '']), number(row?.[names[1] ?? ''])];
}

/* Returns "batch 4", of the time that is shown above it. */
export const batchLabel = (row: Row | undefined): string =>
  number(row?.['batch']) === null ? 'batch size not known' : `batch ${row?.['batch']}`;

/* Returns the interval of the time that is shown above it. */
export function interval(row: Row | undefined): string {
  const [low, high] = ends(row);
  if (low === null || high === null) return NO_INTERVAL;
  return `within ${format('ns', low)} – ${format('ns', high)} (95 %)`;
}

/* Returns the same interval for the throughput: inputs per second at either end. */
export function throughputInterval(row: Row | undefined): string {
  const [low, high] = ends(row);
  const [rate, time] = [number(row?.['throughput_per_s']), timeOf(row)];
  if (rate === null) return '';
  if (!low || !high || !rate || !time) return NO_INTERVAL;
  const of = (ns: number) => format('per_s', (rate * time) / ns);
  return `within ${of(high)} – ${of(low)} (95 %)`;
}

/* Returns the 99th percentile. Below a hundred inferences, it is little less than the slowest of them. */
export function percentile(row: Row | undefined): string {
  const said = `99th percentile ${format('ns', row?.['p99_ns'])}`;
  const inferences = number(row?.['iterations']) ?? 0;
  if (inferences >= 100) return said;
  return `${said}, of only ${inferences} inference${inferences === 1 ? '' : 's'}`;
}

/**
 * Returns the device's times for the call: "on the device 21.8 ms; from the first launch to the last end,
 * while kernels are recorded, 3.79 s".
 */
export function deviceTimes(row: Row | undefined): string {
  if (number(row?.['device_ns']) === null) return '';
  const span = number(row?.['span_ns']);
  return (
    `on the device ${format('ns', row?.['device_ns'])}` +
    (span === null
      ? ''
      : `; from the first launch to the last end, while kernels are recorded, ${format('ns', span)}`)
  );
}

/**
 * Returns what recording a level adds to a run without it, with its interval: "adds 23.0 % (20.0 to 26.0)". A
 * difference that may be zero is told as such.
 */
export function overhead(row: Row): string {
  const added = share(number(row['overhead_pct']));
  const whole = number(row['without_ns']);
  const ends = ['low_ns', 'high_ns'].map((name) => number(row[name]));
  const [low, high] = ends.map((ns) =>
    ns === null || !whole ? null : ((100 * ns) / whole).toFixed(1),
  );
  if (!low || !high) return `adds ${added} (${NO_INTERVAL})`;
  const isCertain = Number(low) > 0 || Number(high) < 0;
  return `adds ${isCertain ? '' : 'nothing that is certain: '}${added} (${low} to ${high})`;
}

/* Returns the details of the bottleneck: the bounds of the individual kernels or layers. */
export function workBound(row: Row | undefined): string {
  const work = text(row?.['work']);
  const bound = text(row?.['work_bound']);
  const part = number(row?.['work_bound_pct']);
  if (!work || !bound || part === null) return '';
  const ran = `${work} run ${share(number(row?.['work_pct']))} of the latency`;
  if (bound === 'unknown')
    return `${ran}; for ${share(part)} of that it is not known what bounds them`;
  if (bound === 'latency')
    return `${ran}; neither memory nor arithmetic limits ${share(part)} of that: too small, or waiting`;
  return `${ran}; ${LIMIT[bound] ?? bound} limits ${share(part)} of that`;
}

// The sentences of the overview: what a row of an analysis says of itself.
import { number, text, type Row } from '../../data/records';
import { format } from '../../data/units';

const NO_INTERVAL = 'too few blocks for an interval';
export const share = (value: number | null): string =>
  value === null ? '–' : `${value.toFixed(1)} %`;

/** The interval of the latency that stands above it. */
export function interval(row: Row | undefined): string {
  const [low, high] = [number(row?.['low_ns']), number(row?.['high_ns'])];
  if (low === null || high === null) return NO_INTERVAL;
  return `within ${format('ns', low)} – ${format('ns', high)} (95 %)`;
}

/** The same of the throughput: inputs per second at either end of the latency's interval. */
export function throughputInterval(row: Row | undefined): string {
  const [low, high, batch] = ['low_ns', 'high_ns', 'batch'].map((name) => number(row?.[name]));
  if (!low || !high || !batch) return NO_INTERVAL;
  const of = (ns: number) => format('per_s', (batch * 1e9) / ns);
  return `within ${of(high)} – ${of(low)} (95 %)`;
}

/** A difference with its interval, whether or not it can be told from noise: "2.0 % (-4.1 to 8.0)". */
export function overhead(row: Row): string {
  const added = share(number(row['overhead_pct']));
  const whole = number(row['without_ns']);
  const ends = ['low_ns', 'high_ns'].map((name) => number(row[name]));
  const [low, high] = ends.map((ns) =>
    ns === null || !whole ? null : ((100 * ns) / whole).toFixed(1),
  );
  return low && high ? `${added} (${low} to ${high})` : `${added} (${NO_INTERVAL})`;
}

/** The detail of the bottleneck: what bounds the kernels, or the layers, for themselves. */
export function workBound(row: Row | undefined): string {
  const work = text(row?.['work']);
  const bound = text(row?.['work_bound']);
  const part = number(row?.['work_bound_pct']);
  if (!work || !bound || part === null) return '';
  const ran = `${work} run ${share(number(row?.['work_pct']))} of the latency`;
  return bound === 'unknown'
    ? `${ran}; for ${share(part)} of that it is not known what bounds them`
    : `${ran}; ${share(part)} of that is bound by ${bound}`;
}

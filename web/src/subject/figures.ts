// The key figures of a layer or a kernel at one batch size, each from the analysis to which it links.
import { number, text, type Row } from '../data/records';
import { format } from '../data/units';
import { rankOf, recordsAt, type Known } from './known';

export interface KeyFigure {
  title: string;
  value: string;
  details: string[];
  analysis: string; // the analysis that it comes from
}

const pct = (value: number) => `${value.toFixed(value < 0.095 ? 2 : 1)} %`;
const ORDINALS: Record<string, string> = { one: 'st', two: 'nd', few: 'rd', other: 'th' };
const rules = new Intl.PluralRules('en', { type: 'ordinal' });
export const ordinal = (value: number) => `${value}${ORDINALS[rules.select(value)] ?? 'th'}`;
export const counted = (value: number, what: string) =>
  `${format('number', value)} ${what}${value === 1 ? '' : 's'}`;

// Returns "2.05 – 8.60 us": both ends in the unit of the larger one.
function rangeOf(unit: string, low: number | null, high: number | null): string {
  if (low === null || high === null) return '';
  const [from, to] = [format(unit, low), format(unit, high)];
  const [, size, same] = /^(\S+) (.*)$/.exec(from) ?? [];
  return same !== undefined && to.endsWith(` ${same}`) ? `${size} – ${to}` : `${from} – ${to}`;
}
const sumOf = (row: Row | undefined, ...columns: string[]) => {
  const values = columns.map((column) => number(row?.[column]));
  return values.some((one) => one === null)
    ? null
    : values.reduce((sum: number, one) => sum + (one ?? 0), 0);
};
const some = (...details: (string | false | null | undefined)[]) =>
  details.filter((one): one is string => typeof one === 'string' && one !== '');

// Flops, bytes and intensity, either counted by the device or computed from the shapes.
function workOf(analysis: string, flops: number | null, bytes: number | null, how: string) {
  if (flops === null) return [];
  const moved = bytes !== null && `${format('bytes', bytes)} moved`;
  const intensity = bytes ? `${format('flops_per_byte', flops / bytes)}, ${how}` : how;
  return [
    { title: 'Work', value: format('flops', flops), details: some(moved, intensity), analysis },
  ];
}

function boundOf(analysis: string, row: Row | undefined, roofs: number[]): KeyFigure[] {
  const bound = text(row?.['bound']);
  if (!bound) return [];
  const [low, high] = [Math.min(...roofs), Math.max(...roofs)];
  const isOne = roofs.length < 2 || pct(low) === pct(high);
  const roof = roofs.length > 0 && (isOne ? pct(high) : `${low.toFixed(1)} – ${pct(high)}`);
  const pipe = text(row?.['pipe']).replaceAll('_', ' ');
  const details = some(roof && `${roof} of what the ceilings allow`, pipe && `mostly ${pipe}`);
  return [{ title: 'Bound by', value: bound, details, analysis }];
}

export function layerFigures(known: readonly Known[], batch: number): KeyFigure[] {
  const at = (analysis: string) => recordsAt(known, analysis, batch)[0];
  const [info, spread, memory] = ['layer_information', 'layer_latency', 'layer_memory'].map(at);
  const kernels = at('kernels_by_layer');
  const gpu = number(at('gpu_by_layer')?.['gpu_pct']);
  if (!info) return [];
  const figures: KeyFigure[] = [];
  const [latency, own] = [number(info['latency_ns']), number(info['self_ns'])];
  figures.push({
    title: `Latency, on the ${text(info['time_of']) || 'host'}`,
    value: format('ns', latency),
    details: some(
      spread &&
        `half of them within ${rangeOf('ns', number(spread['quartile1_ns']), number(spread['quartile3_ns']))}`,
      own !== null && latency !== null && own < latency && `${format('ns', own)} without nested`,
    ),
    analysis: 'layer_latency',
  });
  const share = number(info['layers_share_pct']);
  const rank = rankOf(known, 'layer_information', batch, 'self_ns');
  if (share !== null) {
    const stands = rank && `${ordinal(rank.rank)} of ${rank.of} layers`;
    const details = some('of the time of all layers', stands);
    figures.push({ title: 'Share', value: pct(share), details, analysis: 'layer_information' });
  }
  const onDevice = number(kernels?.['kernel_latency_ns']);
  if (kernels && onDevice !== null) {
    const ofModel = number(kernels['model_share_pct']);
    figures.push({
      title: 'Time in kernels',
      value: format('ns', onDevice),
      details: some(
        `in ${counted(number(kernels['kernels']) ?? 0, 'kernel')}` +
          (ofModel === null ? '' : `, ${pct(ofModel)} of the model`),
        gpu !== null && (gpu < 99.95 ? `${pct(gpu)} of the layer’s latency` : 'longer than itself'),
      ),
      analysis: 'kernels_by_layer',
    });
  }
  const bytes = number(info['memory_bytes']);
  if (bytes !== null) {
    const weights = number(memory?.['parameter_bytes']);
    const details = some(
      text(info['memory_of']),
      weights ? `${format('bytes', weights)} of weights` : '',
    );
    figures.push({
      title: 'Memory',
      value: format('bytes', bytes),
      details,
      analysis: 'layer_memory',
    });
  }
  const device = at('layer_counted_roofline');
  const shapes = at('layer_flops');
  figures.push(
    ...(device
      ? workOf(
          'counters_by_layer',
          number(device['flops']),
          number(device['dram_bytes']),
          'counted',
        )
      : workOf('layer_flops', number(shapes?.['flops']), number(shapes?.['bytes']), 'by shapes')),
  );
  const from = device ? 'layer_counted_roofline' : 'layer_roofline';
  // Computed from shapes, the share of the roof may be a range between two values.
  const shares = device ? ['allowed_pct'] : ['roof_pct', 'roof_high_pct'];
  const roofs = shares.flatMap((name) => number(at(from)?.[name]) ?? []);
  figures.push(...boundOf(from, at(from), roofs));
  return figures;
}

export function kernelFigures(known: readonly Known[], batch: number): KeyFigure[] {
  const own = recordsAt(known, 'kernels_by_name', batch)[0];
  const calls = recordsAt(known, 'kernel_information', batch);
  if (!own) return [];
  const [latency, times] = [number(own['latency_ns']), number(own['kernels'])];
  const figures: KeyFigure[] = [];
  figures.push({
    title: 'Time in an inference',
    value: format('ns', latency),
    details: some(
      `${counted(times ?? 0, 'execution')} in ${counted(number(own['layers']) ?? 0, 'layer')}`,
    ),
    analysis: 'kernels_by_name',
  });
  const share = number(own['model_share_pct']);
  const rank = rankOf(known, 'kernels_by_name', batch, 'latency_ns');
  if (share !== null) {
    const all = number(own['kernel_share_pct']);
    const details = some(
      'of the model’s latency',
      all !== null && `${pct(all)} of all kernels’ time`,
      rank && `${ordinal(rank.rank)} of ${rank.of} kernels`,
    );
    figures.push({ title: 'Share', value: pct(share), details, analysis: 'kernels_by_name' });
  }
  if (latency !== null && times) {
    const least = calls.flatMap((row) => number(row['min_ns']) ?? []);
    const most = calls.flatMap((row) => number(row['max_ns']) ?? []);
    const range = least.length > 0 && rangeOf('ns', Math.min(...least), Math.max(...most));
    figures.push({
      title: 'One execution',
      value: format('ns', latency / times),
      details: some(range && `between ${range}`),
      analysis: 'kernel_information',
    });
  }
  const launches = recordsAt(known, 'occupancy', batch);
  const occupancy = number(own['occupancy_pct']);
  if (occupancy !== null) {
    const limits = [...new Set(launches.map((row) => text(row['limiter'])).filter(Boolean))];
    const theory = launches.flatMap((row) => number(row['theoretical_pct']) ?? []);
    const details = some(
      theory.length > 0 && `at most ${pct(Math.max(...theory))}`,
      limits.length > 0 && `limited by ${limits.join(', ').replaceAll('_', ' ')}`,
    );
    figures.push({ title: 'Occupancy', value: pct(occupancy), details, analysis: 'occupancy' });
  }
  const bytes = sumOf(own, 'dram_read_bytes', 'dram_write_bytes');
  figures.push(...workOf('kernels_by_name', number(own['flops']), bytes, 'counted'));
  const roofs = recordsAt(known, 'kernel_roofline', batch);
  const reached = roofs.flatMap((row) => number(row['allowed_pct']) ?? []);
  figures.push(...boundOf('kernel_roofline', own, reached));
  return figures;
}

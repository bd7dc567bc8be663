// The parts of the overview's bars: parts of a whole, the largest first, the rest by its name.
import { number, text, type Row } from '../../data/records';
import { sharesOf } from '../../data/shares';

export interface Part {
  name: string;
  value: number;
  detail?: string;
}

export interface Segment extends Part {
  share: number; // share of the bar, 0 to 1
  kind: 'part' | 'others' | 'rest';
}

// At most `most` parts are shown individually; smaller ones are combined. The remainder of the whole is
// called `rest`. If the parts exceed the whole (kernels that overlap, layers that run slower when recorded),
// the bar is as long as the parts.
export function segmentsOf(
  whole: number,
  parts: (Part & { isRest?: boolean })[],
  rest: string,
  most = 7,
): Segment[] {
  const sorted = parts
    .filter((part) => part.value > 0 && !part.isRest)
    .sort((a, b) => b.value - a.value);
  const shown = sorted.length > most ? sorted.slice(0, most - 1) : sorted;
  const others = sorted.slice(shown.length);
  const sum = sorted.reduce((total, part) => total + part.value, 0);
  const length = Math.max(whole, sum);
  if (!(length > 0)) return [];
  const segment = (part: Part, kind: Segment['kind']): Segment => ({
    ...part,
    share: part.value / length,
    kind,
  });
  const segments = shown.map((part) => segment(part, 'part'));
  if (others.length > 0) {
    const value = others.reduce((total, part) => total + part.value, 0);
    segments.push(segment({ name: `${others.length} others`, value }, 'others'));
  }
  if (whole - sum > whole * 1e-4)
    segments.push(segment({ name: rest, value: whole - sum }, 'rest'));
  return segments;
}

// Returns the segments' shares of the model's total, in per cent, as they are written. They add up to `said`, the share
// that the bar above gives the part which they divide, unless they are of another length.
export function writtenOf(segments: Segment[], whole: number, said: number | undefined): number[] {
  return sharesOf(
    segments.map((one) => one.value),
    whole,
    said,
  );
}

// Returns the rows of time_by_level below a row, each with its share of the model's latency.
export function below(rows: Row[], level: string, parent: string): (Part & { isRest: boolean })[] {
  return rows
    .filter((row) => row['level'] === level && row['parent'] === parent)
    .map((row) => ({
      name: text(row['name']),
      value: number(row['share_ns']) ?? 0,
      detail: text(row['detail']),
      isRest: row['is_rest'] === true,
    }));
}

// Returns the rows that say why there are no layers. A row that is subtracted from a sum has a time and no
// share.
export const unmeasured = (rows: Row[]) =>
  rows.find((row) => row['share_pct'] === null && row['latency_ns'] === null);

export const modelOf = (rows: Row[]) => rows.find((row) => row['level'] === 'model');
export const nsOf = (row: Row | undefined) => number(row?.['share_ns']) ?? 0;

// Returns the name of the part that is the rest of the others; empty if there is no rest.
export const restOf = (parts: { name: string; value: number; isRest: boolean }[]) =>
  parts.find((part) => part.isRest && part.value > 0)?.name ?? '';

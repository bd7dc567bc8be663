// Units: formats numbers for people. The digits are the same as the terminal's (src/desk/cli/units.h): one scale
// and one number of decimals for a whole column, chosen from its values, so that its numbers are easy to
// compare.
import type { Cell } from './types';

export interface Step {
  factor: number;
  label: string;
}

const STEPS: Record<string, [number, string][]> = {
  ns: [
    [1, 'ns'],
    [1e3, 'us'],
    [1e6, 'ms'],
    [1e9, 's'],
  ],
  bytes: [
    [1, 'B'],
    [1024, 'KiB'],
    [1048576, 'MiB'],
    [1073741824, 'GiB'],
    [1099511627776, 'TiB'],
  ],
  flops: [
    [1, 'flop'],
    [1e3, 'kflop'],
    [1e6, 'Mflop'],
    [1e9, 'Gflop'],
    [1e12, 'Tflop'],
  ],
  flops_per_s: [
    [1, 'flop/s'],
    [1e6, 'Mflop/s'],
    [1e9, 'Gflop/s'],
    [1e12, 'Tflop/s'],
  ],
  bytes_per_s: [
    [1, 'B/s'],
    [1e6, 'MB/s'],
    [1e9, 'GB/s'],
    [1e12, 'TB/s'],
  ],
  flops_per_byte: [[1, 'flop/B']],
  per_s: [[1, '/s']],
  j: [
    [1e-6, 'uJ'],
    [1e-3, 'mJ'],
    [1, 'J'],
    [1e3, 'kJ'],
  ],
  w: [[1, 'W']],
  pct: [[1, '%']],
};

// Returns the larger units in which a unit is written, the smallest first.
export function stepsOf(unit: string): Step[] {
  return (STEPS[unit] ?? [[1, '']]).map(([factor, label]) => ({ factor, label }));
}

// Returns the largest of them that does not exceed the value.
export function stepFor(unit: string, value: number): Step {
  const steps = stepsOf(unit);
  let best = steps[0] as Step;
  for (const step of steps) if (step.factor <= value) best = step;
  return best;
}

// A column keeps the scale of its neighbours if its largest value is at least this much of a unit.
const SHARED_SCALE_MIN = 0.01;

// Moments in nanoseconds of UNIX time are not durations.
export const MOMENT_MIN = 1e16;

function withGroups(digits: string): string {
  const [whole = '', rest] = digits.split('.', 2);
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}

// Rounds half to even if the value lies exactly between two, as C++ does; toFixed rounds up.
export function fixed(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  if (Math.abs((value * 10 ** decimals) % 1) !== 0.5) return text;
  if (!/5(0)*$/.test(value.toFixed(60).slice(decimals - 60 || undefined))) return text;
  const last = Number(text.at(-1));
  if (last % 2 === 0) return text;
  const towardsZero = Math.abs(value) - 10 ** -decimals / 4;
  return (value < 0 ? '-' : '') + towardsZero.toFixed(decimals);
}

// Returns six significant digits, without the zeros at the end: "0.0125", "1.5e-07".
function shortest(value: number): string {
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  const text = value.toPrecision(6);
  if (exponent >= -4 && exponent < 6) {
    const plain = text.includes('e') ? String(Number(text)) : text;
    return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain;
  }
  const [mantissa = '', power = ''] = value.toExponential(5).split('e');
  const sign = power.startsWith('-') ? '-' : '+';
  return `${mantissa.replace(/\.?0+$/, '')}e${sign}${power.replace(/^[+-]/, '').padStart(2, '0')}`;
}

export class Scale {
  readonly label: string; // "ms"; may be empty
  readonly factor: number;
  private decimals = 0;
  private groups = false;
  private plain = false;

  // `unit` is one of the catalogue's; an unknown one counts as "number". Columns of one unit that are
  // compared with each other share the scale of `largestBeside`, the largest value among them all, unless
  // this column is far below it.
  constructor(unit: string, values: Iterable<number | null>, largestBeside = 0) {
    const sizes: number[] = [];
    for (const value of values) {
      if (value !== null && Number.isFinite(value) && value !== 0) sizes.push(Math.abs(value));
    }
    sizes.sort((a, b) => a - b);
    const largest = sizes.at(-1) ?? 0;
    const integral = sizes.every((size) => Number.isInteger(size) && size < 1e15);
    if (unit === 'number' || unit === 'count' || (unit === 'ns' && largest >= MOMENT_MIN)) {
      this.plain = !integral || unit !== 'count';
      this.groups = unit === 'count';
      this.label = '';
      this.factor = 1;
      return;
    }
    const shared = stepFor(unit, Math.max(largest, largestBeside));
    const step = largest >= SHARED_SCALE_MIN * shared.factor ? shared : stepFor(unit, largest);
    this.factor = step.factor;
    this.label = step.label;
    this.groups = true;
    if (this.factor === 1 && integral && unit !== 'pct' && unit !== 'ratio') return;
    // The middle value has three significant digits, or four if it is a time; at most three are decimals.
    const middle = sizes.length ? (sizes[Math.floor(sizes.length / 2)] as number) / this.factor : 1;
    const digits = (unit === 'ns' ? 4 : 3) - 1 - Math.floor(Math.log10(middle));
    this.decimals = unit === 'pct' ? 1 : Math.min(Math.max(digits, 0), 3);
  }

  text(value: number): string {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
    if (this.plain) {
      return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : shortest(value);
    }
    const digits = fixed(value / this.factor, this.decimals);
    return this.groups ? withGroups(digits) : digits;
  }

  // Returns the value with its unit: "12.40 ms", "51.4 %".
  withUnit(value: number): string {
    return this.label ? `${this.text(value)} ${this.label}` : this.text(value);
  }
}

// Returns a single value with its unit: "12.40 ms". An empty cell gives an empty text.
export function format(unit: string, value: Cell | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return new Scale(unit, [value]).withUnit(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return value;
}

const SUFFIXES = [
  'ns',
  'bytes',
  'pct',
  'flops',
  'flops_per_s',
  'flops_per_byte',
  'bytes_per_s',
  'per_s',
  'j',
  'w',
];

// Returns "latency" for "latency_ns" of unit "ns", because the unit is written separately.
export function labelOfName(name: string, unit: string): string {
  const cut =
    SUFFIXES.includes(unit) && name.endsWith(`_${unit}`) ? name.slice(0, -unit.length - 1) : name;
  return cut.replaceAll('_', ' ');
}

// Returns the largest value, except moments in time, of the columns that have the same unit as this one.
export function largestOf(rows: Cell[][], columns: number[]): number {
  let largest = 0;
  for (const row of rows) {
    for (const index of columns) {
      const value = row[index];
      if (typeof value !== 'number') continue;
      const size = Math.abs(value);
      if (size < MOMENT_MIN && size > largest) largest = size;
    }
  }
  return largest;
}

// An axis for any figure: linear, logarithmic, or of moments in time, a little longer than its values.
import { format, stepFor } from '../../data/units';
import {
  linear,
  logarithmic,
  logTicks,
  niceStep,
  unitTicks,
  type Scaled,
  type Tick,
} from './scale';

export interface Axis {
  to: Scaled; // from a value to pixels
  ticks: Tick[];
  unit: string; // of the texts
}

export const MOMENT = 'moment'; // a unit: milliseconds of UNIX time

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MOMENT_STEPS = [1 / 60, 1 / 4, 1, 6, 24, 48, 168, 720, 2160, 8760].map(
  (hours) => hours * HOUR,
);

export const momentText = (moment: number, apart = 1): string =>
  new Date(moment)
    .toISOString()
    .replace('T', ' ')
    .slice(0, apart >= DAY ? 10 : 16);

export const valueText = (unit: string, value: number): string =>
  unit === MOMENT ? momentText(value) : format(unit, value);

function momentTicks(from: number, to: number, count: number): Tick[] {
  const rough = (to - from) / count;
  const step = MOMENT_STEPS.find((one) => one >= 0.8 * rough) ?? niceStep(rough / DAY, 1) * DAY;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step)
    ticks.push({ at, text: momentText(at, step) });
  return ticks;
}

// Returns whether a logarithmic axis can show these values.
export const canBeLog = (unit: string, values: readonly number[]): boolean =>
  unit !== MOMENT && values.length > 0 && values.every((one) => one > 0);

// `count`: about how many ticks there is room for. `isLog` is ignored where it is impossible.
export function axisOver(
  unit: string,
  values: readonly number[],
  isLog: boolean,
  pixels: [from: number, to: number],
  count: number,
): Axis {
  const low = values.reduce((least, one) => Math.min(least, one), values[0] ?? 0);
  const high = values.reduce((most, one) => Math.max(most, one), values[0] ?? 1);
  if (isLog && canBeLog(unit, values)) {
    const more = Math.max(1.05, (high / low) ** 0.05);
    const ends: [number, number] = [low / more, high * more];
    const { factor, label } = stepFor(unit, high);
    return { to: logarithmic(ends, pixels), ticks: logTicks(...ends, factor), unit: label };
  }
  if (unit === MOMENT) {
    const around = Math.max(0.05 * (high - low), HOUR / 60);
    const ends: [number, number] = [low - around, high + around];
    return { to: linear(ends, pixels), ticks: momentTicks(...ends, count), unit: '' };
  }
  const more = 0.05 * (high - low) || 0.05 * Math.abs(high) || 1;
  // From zero, so that lengths can be compared, unless the values are all far from it.
  const from = low >= 0 && low < 0.5 * high ? 0 : low - more;
  const { ticks, unit: label } = unitTicks(unit, from, high + more, count);
  return { to: linear([from, high + more], pixels), ticks, unit: label };
}

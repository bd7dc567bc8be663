// Turns the rows of time_of_step into the parts of one bar: the causes, and the culprits of each.
import { number, text, type Row } from '../../data/records';
import { apportioned, sharesOf } from '../../data/shares';
import { coloursOf, OTHER, PALETTE } from './colours';

export interface Culprit {
  name: string; // empty: the time is in no span
  place: string; // file:line; empty: not sampled
  layer: string;
  layers: number;
  ns: number;
  share: number; // share of the step, in per cent
  hidden: number; // ns at the same time as something else
}

export interface Cause {
  name: string;
  ns: number;
  share: number;
  hidden: number;
  culprits: Culprit[];
}

export interface Step {
  ns: number;
  causes: Cause[]; // the largest first
}

// Represents a part of the bar: a cause, or several that are too small for their own parts.
export interface Part {
  name: string;
  ns: number;
  share: number; // in per cent, as it is written: the shares of a bar add up
  colour: string;
  causes: Cause[];
}

const WHOLE = 'step';
const LEAST_SHARE = 1; // the least share of a step, in per cent, for which a cause has its own part

const ABOUT: Record<string, string> = {
  compute: 'Kernels multiply matrices on the device.',
  'other kernels': 'Kernels run that multiply no matrices. In general the memory bounds them.',
  communication: 'Kernels exchange data between devices, and none computes.',
  copy: 'The device copies or sets memory, and no kernel runs.',
  device: 'The device runs nothing, although its next operation was queued.',
  launch: 'The device waits for the next operation to be launched.',
  'copy preparation': 'The device waits while the host prepares a copy.',
  framework: 'The host is inside an operator or a library of the framework.',
  'host code': 'The program’s own code runs, or an operator that computes on the host.',
  data: 'The step waits for its batch.',
  allocation: 'Memory is allocated or freed.',
  synchronisation: 'The host waited for the device, and launched nothing meanwhile.',
  recording: 'The profiler itself takes this time.',
  'garbage collection': 'Python looks for objects that nothing refers to.',
  'input/output': 'The thread reads or writes files or sockets.',
  waiting: 'The thread waits for a lock, or for another thread or process.',
  descheduled: 'The thread could run, but other threads have the processors.',
  compilation: 'Code is being compiled.',
  unknown: 'The model runs on a device of which no kernels were recorded.',
};
// Without a device, these mean something else.
const ABOUT_HOST: Record<string, string> = {
  compute: 'Operators compute.',
  framework: 'The framework works, and no operator computes.',
  'host code': 'The program’s own code runs, outside of the framework.',
};
const OF_A_DEVICE = [
  'other kernels',
  'launch',
  'device',
  'copy',
  'communication',
  'copy preparation',
];

// Returns whether a device took part in the step: some causes exist only then.
export const hasDevice = (step: Step): boolean =>
  step.causes.some((one) => OF_A_DEVICE.includes(one.name));
export const aboutCause = (name: string, onDevice: boolean): string =>
  (onDevice ? undefined : ABOUT_HOST[name]) ?? ABOUT[name] ?? '';

// Returns null if the rows contain no step.
export function stepOf(rows: Row[]): Step | null {
  const whole = rows.find((row) => text(row['cause']) === WHOLE);
  const ns = number(whole?.['time_ns']);
  if (ns === null) return null;
  const causes = new Map<string, Cause>();
  for (const row of rows) {
    if (row === whole) continue;
    const name = text(row['cause']);
    const cause = causes.get(name) ?? { name, ns: 0, share: 0, hidden: 0, culprits: [] };
    causes.set(name, cause);
    const culprit = {
      name: text(row['culprit']),
      place: text(row['place']),
      layer: text(row['layer']),
      layers: number(row['layers']) ?? 0,
      ns: number(row['time_ns']) ?? 0,
      share: number(row['share_pct']) ?? 0,
      hidden: number(row['hidden_ns']) ?? 0,
    };
    cause.ns += culprit.ns;
    cause.share += culprit.share;
    cause.hidden += culprit.hidden;
    cause.culprits.push(culprit);
  }
  return { ns, causes: [...causes.values()] };
}

// Causes below one per cent, and those for which the palette has no colour, become one part at the end.
export function partsOf(step: Step): Part[] {
  const visible = step.causes.filter((one) => one.ns > 0);
  const isLarge = (one: Cause, at: number) => one.share >= LEAST_SHARE && at < PALETTE.length;
  const large = visible.filter(isLarge);
  const small = visible.filter((one, at) => !isLarge(one, at));
  const colours = coloursOf(large.map((one) => [one.name, one.ns]));
  const parts = large.map(
    (one): Part => ({
      name: one.name,
      ns: one.ns,
      share: 0,
      colour: colours.get(one.name) ?? OTHER,
      causes: [one],
    }),
  );
  if (small.length > 0) {
    parts.push({
      name: small.length === 1 ? (small[0]?.name ?? '') : `${small.length} smaller causes`,
      ns: small.reduce((total, one) => total + one.ns, 0),
      share: 0,
      colour: OTHER,
      causes: small,
    });
  }
  const shares = sharesOf(
    parts.map((one) => one.ns),
    step.ns,
    100,
  );
  return parts.map((one, at) => ({ ...one, share: shares[at] ?? 0 }));
}

// Returns the culprits of a part, the largest first. Their shares add up to the part's. `cause` is set if the part has
// several causes.
export function culpritsOf(part: Part): (Culprit & { cause: string })[] {
  const isOne = part.causes.length === 1;
  const culprits = part.causes
    .flatMap((cause) => cause.culprits.map((one) => ({ ...one, cause: isOne ? '' : cause.name })))
    .filter((one) => one.ns > 0 || one.hidden > 0)
    .sort((a, b) => b.ns - a.ns || b.hidden - a.hidden);
  const units = apportioned(
    culprits.map((one) => one.ns),
    Math.round(10 * part.share),
    10 * culprits.reduce((total, one) => total + one.share, 0),
  );
  return culprits.map((one, at) => ({ ...one, share: (units[at] ?? 0) / 10 }));
}

// Returns the time that ran at the same time as something else, for each cause.
export const hiddenOf = (step: Step): { name: string; ns: number }[] =>
  step.causes
    .filter((one) => one.hidden > 0)
    .map(({ name, hidden }) => ({ name, ns: hidden }))
    .sort((a, b) => b.ns - a.ns);

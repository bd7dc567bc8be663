import { describe, expect, it } from 'vitest';
import { aboutCause, culpritsOf, hasDevice, hiddenOf, partsOf, stepOf } from './causes';
import { OTHER } from './colours';

const row = (cause: string, culprit: string | null, time_ns: number, hidden_ns = 0) => ({
  cause,
  culprit,
  place: culprit === 'decode' ? 'train.py:12' : null,
  layer: null,
  layers: 0,
  time_ns,
  share_pct: time_ns / 10_000,
  hidden_ns,
});
const rows = [
  row('host code', 'decode', 500_000),
  row('host code', null, 100_000),
  row('compute', 'sgemm', 300_000),
  row('other kernels', 'add', 91_000),
  row('launch', 'cudaLaunchKernel', 6_000),
  row('device', null, 3_000),
  row('copy', 'memcpy HtoD', 0, 200_000),
  row('step', null, 1_000_000, 200_000),
];
const step = stepOf(rows);
if (!step) throw new Error('no step');

describe('a step', () => {
  it('is what its row says, and its causes add up to it', () => {
    expect(step.ns).toBe(1_000_000);
    expect(step.causes.reduce((sum, one) => sum + one.ns, 0)).toBe(step.ns);
    expect(step.causes[0]).toMatchObject({ name: 'host code', ns: 600_000, share: 60 });
    expect(step.causes[0]?.culprits[0]).toMatchObject({ name: 'decode', place: 'train.py:12' });
    expect(stepOf([])).toBeNull();
  });

  it('has parts that lose nothing: what is small is one, what takes no time is none', () => {
    const parts = partsOf(step);
    expect(parts.map((one) => one.name)).toEqual([
      'host code',
      'compute',
      'other kernels',
      '2 smaller causes',
    ]);
    expect(parts.reduce((sum, one) => sum + one.ns, 0)).toBe(step.ns);
    expect(parts.at(-1)?.colour).toBe(OTHER);
    expect(new Set(parts.map((one) => one.colour)).size).toBe(4);
  });

  it('is written in shares that add up: those of the causes, and in each those of its culprits', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const many = names.flatMap((cause) => [row(cause, 'x', 1000), row(cause, 'y', 2000)]);
    const made = stepOf([...many, row('step', null, 21_000)]);
    const parts = made ? partsOf(made) : [];
    const tenths = (shares: number[]) => shares.reduce((sum, one) => sum + Math.round(10 * one), 0);
    expect(tenths(parts.map((one) => one.share))).toBe(1000);
    for (const part of parts) {
      const own = culpritsOf(part).map((one) => one.share);
      expect(tenths(own)).toBe(Math.round(10 * part.share));
    }
  });

  it('with a single small cause names it', () => {
    const some = stepOf(rows.filter((one) => one.cause !== 'device'));
    expect(some && partsOf(some).at(-1)?.name).toBe('launch');
  });

  it('of more causes than there are colours keeps the largest apart', () => {
    const many = Array.from({ length: 12 }, (_, at) => row(`cause ${at}`, null, (20 - at) * 5000));
    const made = stepOf([...many, row('step', null, 870_000)]);
    const parts = made ? partsOf(made) : [];
    expect(parts).toHaveLength(8);
    expect(parts.at(-1)?.name).toBe('5 smaller causes');
    expect(new Set(parts.map((one) => one.colour)).size).toBe(8);
    expect(parts.reduce((sum, one) => sum + one.ns, 0)).toBe(870_000);
  });

  it('tells culprits with their cause where a part has several', () => {
    const [first, , , small] = partsOf(step);
    expect(first && culpritsOf(first).map((one) => [one.cause, one.name])).toEqual([
      ['', 'decode'],
      ['', ''],
    ]);
    expect(small && culpritsOf(small).map((one) => [one.cause, one.name])).toEqual([
      ['launch', 'cudaLaunchKernel'],
      ['device', ''],
    ]);
  });

  it('tells apart what is underneath', () => {
    expect(hiddenOf(step)).toEqual([{ name: 'copy', ns: 200_000 }]);
  });

  it('says of a cause what it is, and nothing of an unknown one', () => {
    expect(aboutCause('launch', true)).toBe(
      'The device waits for the next operation to be launched.',
    );
    expect(aboutCause('nonesuch', true)).toBe('');
  });

  it('speaks of a device only if one took part', () => {
    const host = stepOf([row('compute', 'Conv', 900), row('step', null, 1000)]);
    expect(hasDevice(step)).toBe(true);
    expect(host && hasDevice(host)).toBe(false);
    expect(aboutCause('compute', true)).toContain('device');
    expect(aboutCause('compute', false)).toBe('Operators compute.');
    expect(aboutCause('data', false)).toBe(aboutCause('data', true));
  });
});

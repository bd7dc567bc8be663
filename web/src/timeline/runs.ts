// Chooses the run that is shown first, and describes the reliability of its times.
import { LEVELS } from '../data/levels';
import type { Run } from '../data/types';

export const deepestLevel = (run: Run): number =>
  Math.max(0, ...run.levels.split(',').map((name) => LEVELS.indexOf(name.trim()) + 1));

export const hasCounters = (run: Run): boolean => !['', 'none', null].includes(run.counters);

const batchOf = (run: Run): number => run.batch ?? 1;

// Returns the run without counters that has the deepest level; the longest one of several. The rule is the
// same as that of kDefaultRuns in src/desk/serve/timeline/report.cc.
export function defaultRun(runs: Run[], batch?: number): Run | undefined {
  const usable = runs.filter(
    (run) => run.status !== 'failed' && run.spans > 0 && (run.iterations ?? 0) >= 0,
  );
  const smallest = Math.min(...usable.map(batchOf));
  const wanted = usable.some((run) => batchOf(run) === batch) ? batch : smallest;
  const quiet = usable.filter((run) => batchOf(run) === wanted && !hasCounters(run));
  const among = quiet.length > 0 ? quiet : usable.filter((run) => batchOf(run) === wanted);
  return [...among].sort(
    (a, b) =>
      deepestLevel(b) - deepestLevel(a) ||
      (b.iterations ?? 0) - (a.iterations ?? 0) ||
      a.run_id - b.run_id,
  )[0];
}

export function runLabel(run: Run): string {
  const counters = hasCounters(run) ? ` + counters (${run.counters})` : '';
  return `${run.levels.split(',').join(' · ')}${counters}`;
}

// Beyond this the analyses call a level distorted (distorted_share in analyses/prelude_1_runs.sql).
const MOST_DISTORTION_PCT = 50;

// Describes how recording the deeper levels changed the model's latency.
export function distortion(
  latency: number | null,
  undisturbed: number | null,
  deepest: number,
): string {
  if (latency === null) return 'No inference of this run was measured.';
  if (deepest <= 2) return 'Nothing below the model was recorded: its latency here is undisturbed.';
  if (undisturbed === null || undisturbed <= 0)
    return 'How much its deeper levels slow the model is not measured: there is no run of the model alone.';
  const pct = 100 * (latency / undisturbed - 1);
  const amount = Math.abs(pct) < 10 ? Math.abs(pct).toFixed(1) : Math.abs(pct).toFixed(0);
  const words =
    pct >= 0
      ? `${amount} % over the undisturbed one`
      : `${amount} % below the one of the model alone, within what runs differ by`;
  const use =
    pct > MOST_DISTORTION_PCT
      ? 'It is distorted: the order of the spans holds, and the durations of kernels, not the times between.'
      : 'Order and proportion hold.';
  return (
    `Recording slows what is above it: the model's latency in this run is ${words}. ` +
    `${use} Numbers are quoted from each level's own run.`
  );
}

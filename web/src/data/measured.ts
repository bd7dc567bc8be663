import type { Analysis, Evaluation } from './types';

// Returns whether the evaluation has the levels, counters and ceilings that the analysis needs. Unless the
// answer is 'yes', the caller asks the analysis itself, which knows the reason.
export function measured(
  analysis: Analysis,
  evaluation: Evaluation,
  levels: string[],
): 'yes' | 'no' | 'perhaps' {
  const recorded = new Set(evaluation.runs.flatMap((run) => run.levels.split(',')));
  const has = (need: string) => {
    if (levels.includes(need)) return recorded.has(need) ? 'yes' : 'no';
    if (need === 'peak') return evaluation.peaks.length > 0 ? 'yes' : 'no';
    if (need === 'counters') return evaluation.runs.some((run) => run.counters) ? 'yes' : 'no';
    return 'perhaps';
  };
  const answers = analysis.needs.map(has);
  return answers.includes('no') ? 'no' : answers.includes('perhaps') ? 'perhaps' : 'yes';
}

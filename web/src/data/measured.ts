import type { Analysis, Evaluation } from './types';

// Has the evaluation what the analysis needs, by its runs? Where they do not tell, or it has not, the analysis
// itself is asked: it knows the reason.
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

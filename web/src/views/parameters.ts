// The parameters of an analysis, as the address has them and as the request needs them.
import type { Query } from '../data/source';
import type { Analysis, Param } from '../data/types';

// What a roofline keeps in the address beside parameters: whose points, in which colours, of which memory.
export const ROOFLINE_SHOWS = ['points', 'colour', 'memory'] as const;

// What a flame graph keeps there: the frame that is looked at, what is looked for, which time is drawn.
export const FLAME_SHOWS = ['zoom', 'find', 'time'] as const;

// What the address says of the analysis's parameters. A batch size that this evaluation has not is left to the
// analysis, which takes the smallest.
export function parametersOf(
  analysis: Analysis,
  query: URLSearchParams,
  batches: readonly number[],
): Query {
  const parameters: Query = {};
  for (const param of analysis.params) {
    const value = query.get(param.name);
    if (value === null || value === '') continue;
    if (param.name === 'batch' && !batches.includes(Number(value))) continue;
    parameters[param.name] = value;
  }
  return parameters;
}

// Where the description lists what a text may be ("Which ceilings: measured or attribute (of ...)"), these.
export function choicesOf(param: Param): string[] {
  if (param.type !== 'text' || param.default === null) return [];
  const listed = param.description.match(/: ([a-z_]+(?:, [a-z_]+)*) or ([a-z_]+)/);
  if (!listed) return [];
  const words = [...(listed[1] ?? '').split(', '), listed[2] ?? ''];
  return words.includes(param.default) ? words : [];
}

// What is wrong with a text for a parameter; empty: nothing.
export function problemOf(param: Param, text: string): string {
  if (text === '' || param.type === 'text') return '';
  if (param.type === 'integer' && !/^-?\d+$/.test(text)) return 'a whole number';
  return Number.isFinite(Number(text)) ? '' : 'a number';
}

// Converts the parameters of an analysis between the address and the request.
import type { Query } from '../data/source';
import type { Analysis, Param } from '../data/types';

// The state of a roofline in the address besides parameters: its set of points, their colours, its memory.
export const ROOFLINE_SHOWS = ['points', 'colour', 'memory'] as const;

// The state of the tables in the address: their order and their filter.
export const TABLE_SHOWS = ['sort', 'filter'] as const;

// The state of a flame graph in the address: the frame in view, the text of the search, the time that is
// drawn.
export const FLAME_SHOWS = ['zoom', 'find', 'time'] as const;

// The state of a graph in the address: the modules that are open.
export const GRAPH_SHOWS = ['open'] as const;

// Returns the address's values for the analysis's parameters. A batch size that this evaluation lacks is left
// to the analysis, which takes the smallest.
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

// Returns the values that the description lists for a text ("Which ceilings: measured or attribute (of
// ...)").
export function choicesOf(param: Param): string[] {
  if (param.type !== 'text' || param.default === null) return [];
  const listed = param.description.match(/: ([a-z_]+(?:, [a-z_]+)*) or ([a-z_]+)/);
  if (!listed) return [];
  const words = [...(listed[1] ?? '').split(', '), listed[2] ?? ''];
  return words.includes(param.default) ? words : [];
}

// Returns the error of a text for a parameter; empty if there is none.
export function problemOf(param: Param, text: string): string {
  if (text === '' || param.type === 'text') return '';
  if (param.type === 'integer' && !/^-?\d+$/.test(text)) return 'a whole number';
  return Number.isFinite(Number(text)) ? '' : 'a number';
}

// The catalogue in groups, by the needs of its analyses: the header of a new analysis determines its group.
import type { Analysis } from '../../data/types';

export interface Group {
  title: string;
  analyses: Analysis[];
}

// The first need that an analysis has decides.
const GROUPS: [need: string, title: string][] = [
  ['steps', 'The program'],
  ['training', 'The program'],
  ['samples', 'The program'],
  ['requests', 'The program'],
  ['tokens', 'The program'],
  ['energy', 'Energy and clocks'],
  ['layer_energy', 'Energy and clocks'],
  ['clocks', 'Energy and clocks'],
  ['memory', 'Memory'],
  ['peak', 'Rooflines'],
  ['kernel', 'Kernels'],
  ['api', 'Kernels'],
  ['library', 'Kernels'],
  ['layer', 'Layers'],
  ['model', 'Model'],
  ['application', 'Model'],
];
const WHOLE = 'The measurement';
const ORDER = [
  'The program',
  'Model',
  'Layers',
  'Kernels',
  'Rooflines',
  'Memory',
  'Energy and clocks',
  WHOLE,
];

const titleOf = (analysis: Analysis) =>
  GROUPS.find(([need]) => analysis.needs.includes(need))?.[1] ?? WHOLE;

export function grouped(analyses: Analysis[]): Group[] {
  return ORDER.map((title) => ({
    title,
    analyses: analyses.filter((one) => titleOf(one) === title),
  })).filter((group) => group.analyses.length > 0);
}

// Returns the analyses whose texts contain every word.
export function found(analyses: Analysis[], text: string): Analysis[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return analyses.filter((one) => {
    const columns = one.columns.map((column) => `${column.name} ${column.description}`);
    const all = [one.id, one.name, one.title, one.question, one.description, ...columns];
    const said = all.join(' ').toLowerCase();
    return words.every((word) => said.includes(word));
  });
}

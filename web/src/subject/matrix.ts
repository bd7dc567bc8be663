// Turns analyses that have one row per batch size for a layer or kernel into facts over the batch sizes.
import type { Analysis, Cell, Column } from '../data/types';
import { format, labelOfName, Scale } from '../data/units';
import { subjectOf } from '../views/subject';
import type { Known } from './known';

export interface Fact {
  name: string;
  label: string;
  description: string;
  unit: string; // the unit as shown
  isText: boolean;
  texts: string[]; // by batch size; empty: not measured
  isSame: boolean; // the text is the same at every batch size
}

export interface Group {
  analysis: Analysis;
  facts: Fact[];
}

const batchOf = (one: Known) => one.analysis.columns.findIndex(({ name }) => name === 'batch');

// Returns whether it has at most one row per batch size. Such rows become columns of the matrix; others
// become a table of their own.
export function isSingle(one: Known): boolean {
  const at = batchOf(one);
  return at >= 0 && new Set(one.rows.map((row) => row[at])).size === one.rows.length;
}

function factOf(column: Column, cells: Cell[]): Fact {
  const numbers = cells.flatMap((cell) => (typeof cell === 'number' ? [cell] : []));
  const isText = numbers.length === 0;
  const scale = new Scale(column.unit, numbers);
  const texts = cells.map((cell) =>
    typeof cell === 'number' ? scale.text(cell) : format('', cell).trim(),
  );
  return {
    name: column.name,
    label: labelOfName(column.name, column.unit),
    description: column.description,
    unit: isText ? '' : scale.label,
    isText,
    texts,
    isSame: isText && texts.every((text) => text === texts[0]),
  };
}

// Gives facts of one name with different units their whole names, so that they can be distinguished.
function toldApart(facts: Fact[]): Fact[] {
  const isTwice = (fact: Fact) => facts.filter((one) => one.label === fact.label).length > 1;
  return facts.map((fact) =>
    isTwice(fact) ? { ...fact, label: fact.name.replaceAll('_', ' ') } : fact,
  );
}

// Leaves out facts that an earlier group shows with the same texts, and the name of the subject.
export function matrixOf(known: readonly Known[], batches: readonly number[]): Group[] {
  const said = new Set<string>();
  return known.filter(isSingle).flatMap((one) => {
    const { analysis, rows } = one;
    const subject = subjectOf(analysis.needs, analysis.columns);
    const at = batchOf(one);
    const own = [at, subject.layer, subject.kernel, subject.label];
    const facts = analysis.columns.flatMap((column, index): Fact[] => {
      if (own.includes(index) || column.unit.startsWith('by:')) return [];
      const cells = batches.map((batch) => rows.find((row) => row[at] === batch)?.[index] ?? null);
      const key = JSON.stringify([column.name, cells]);
      if (said.has(key) || cells.every((cell) => cell === null || cell === '')) return [];
      said.add(key);
      const fact = factOf(column, cells);
      const called = subject.own && rows[0]?.[subject[subject.own] ?? -1];
      return fact.isSame && fact.texts[0] === called ? [] : [fact];
    });
    return facts.length > 0 ? [{ analysis, facts: toldApart(facts) }] : [];
  });
}

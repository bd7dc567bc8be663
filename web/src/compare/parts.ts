// The parts of two models' time (model_flame) as one tree, for a flame graph of their difference.
import { number, text, type Row } from '../data/records';
import type { Cell, Column } from '../data/types';

export const COLUMNS: Column[] = [
  { name: 'depth', unit: 'count', description: 'Depth in the tree.' },
  { name: 'tree', unit: 'text', description: 'Module, layer, kernel or cause.' },
  { name: 'a_ns', unit: 'ns', description: 'Its time in an inference of the reference.' },
  { name: 'b_ns', unit: 'ns', description: 'Its time in an inference of the other.' },
  { name: 'difference_ns', unit: 'ns', description: 'The other less the reference.' },
  { name: 'mean_ns', unit: 'ns', description: 'The mean of both: the width of its box.' },
];

interface Part {
  name: string;
  times: [number, number];
  parts: Map<string, Part>;
}

// The roots of both are one row, and so are the models, whatever their names.
const MODEL_DEPTH = 1;

function add(root: Part, rows: Row[], which: 0 | 1) {
  const path: Part[] = [root];
  for (const row of rows) {
    const depth = number(row['depth']) ?? 0;
    const name = text(row['tree']).trim();
    const above = path[depth];
    if (!above) continue;
    const key = depth <= MODEL_DEPTH ? '' : name;
    const part = above.parts.get(key) ?? { name, times: [0, 0], parts: new Map() };
    above.parts.set(key, part);
    if (part.name !== name) part.name = `${part.name}, ${name}`;
    part.times[which] += number(row['share_ns']) ?? 0;
    path.length = depth + 1;
    path.push(part);
  }
}

// Returns rows of COLUMNS in the order of the tree. Parts with the same names above them are one row; a part
// that only one of them has takes no time in the other.
export function mergedParts(a: Row[], b: Row[]): Cell[][] {
  const root: Part = { name: '', times: [0, 0], parts: new Map() };
  add(root, a, 0);
  add(root, b, 1);
  const rows: Cell[][] = [];
  const visit = (part: Part, depth: number) => {
    const [first, second] = part.times;
    rows.push([depth, part.name, first, second, second - first, (first + second) / 2]);
    for (const one of part.parts.values()) visit(one, depth + 1);
  };
  for (const one of root.parts.values()) visit(one, 0);
  return rows;
}

// Returns the colour of a difference: red if the other takes longer, blue if it takes less, and the stronger the
// larger the part of the longer time that is gained or lost.
export function differenceColour(first: number, second: number): string {
  const most = Math.max(first, second);
  const part = most > 0 ? Math.abs(second - first) / most : 0;
  const strength = Math.min(1, part).toFixed(2);
  const hue = second > first ? 'var(--c4)' : 'var(--c1)';
  return `color-mix(in oklab, ${hue} calc(var(--frame-tint) * ${strength}), var(--frame-other))`;
}

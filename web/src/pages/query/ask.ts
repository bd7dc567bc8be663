// Asks an evaluation anything in SQL, as `xsp query` does.
import { get, routeOf } from '../../data/source';
import type { Analysis, Rows } from '../../data/types';

export interface Answer extends Rows {
  is_cut: boolean; // there are more rows; nobody counted them
}

export const ask = (evaluation: string, sql: string) =>
  get<Answer>(`${routeOf(evaluation)}/query`, { sql });

// The views of the preludes, in which the obvious query is right. The others are the file's own tables.
const VIEWS = ['inference', 'layer', 'kernel'];
// Says what the first tables of the schema hold. The names of the others say it.
const ABOUT: Record<string, string> = {
  inference: 'the typical inferences',
  layer: 'executions of layers in typical inferences',
  kernel: 'executions of kernels in typical inferences',
  evaluation: 'facts: model, framework, machine',
  run: 'measured executions of the model',
  span: 'every interval of every run, warm-up too',
  attribute: 'texts of spans',
  counter: 'numbers of spans',
  peak: 'ceilings of the machine',
  result: 'figures that are no spans',
};

export interface Part {
  name: string;
  about: string;
  columns: { name: string; type: string }[];
}

const SCHEMA = [
  ...VIEWS.map((view) => `SELECT '${view}', column_name, column_type FROM (DESCRIBE ${view})`),
  `SELECT * FROM (SELECT table_name, column_name, data_type FROM duckdb_columns()
    WHERE NOT internal AND schema_name = 'main'
      AND NOT starts_with(table_name, 'xsp_') ORDER BY table_name, column_index)`,
].join(' UNION ALL ');

// Returns the tables that a query may name: those that most queries want come first.
export async function schemaOf(evaluation: string): Promise<Part[]> {
  const { rows } = await ask(evaluation, SCHEMA);
  const parts = new Map<string, Part>();
  for (const [table, column, type] of rows.map((row) => row.map(String))) {
    if (table === undefined || column === undefined || type === undefined) continue;
    const part = parts.get(table) ?? { name: table, about: ABOUT[table] ?? '', columns: [] };
    if (!part.columns.some(({ name }) => name === column))
      part.columns.push({ name: column, type });
    parts.set(table, part);
  }
  const place = (part: Part) => {
    const at = Object.keys(ABOUT).indexOf(part.name);
    return at < 0 ? Infinity : at;
  };
  return [...parts.values()].sort((a, b) => {
    const [left, right] = [place(a), place(b)];
    return left === right ? a.name.localeCompare(b.name) : left - right;
  });
}

const sqlOf = (...lines: string[]) => lines.join('\n');

export const EXAMPLES: [title: string, sql: string][] = [
  ['What was run?', 'FROM run'],
  [
    'Which layers take longest?',
    sqlOf(
      'SELECT name, type, avg(self_ns) AS self_ns, count(*) AS executions',
      'FROM layer WHERE batch = (SELECT min(batch) FROM layer)',
      'GROUP BY ALL ORDER BY self_ns DESC LIMIT 20',
    ),
  ],
  [
    'How do the inferences vary?',
    sqlOf(
      'SELECT iteration, duration_ns AS latency_ns',
      'FROM inference WHERE batch = (SELECT min(batch) FROM inference)',
      'ORDER BY iteration',
    ),
  ],
  [
    'Where does the time of a type go over batch sizes?',
    sqlOf(
      'SELECT batch, type, sum(self_ns) / count(DISTINCT iteration) AS time_ns',
      'FROM layer GROUP BY ALL ORDER BY batch, time_ns DESC',
    ),
  ],
];

export interface Drawing {
  kind: '' | 'bar' | 'line'; // empty: as a table
  x: string;
  y: string;
  series: string; // a line for each value of this column; empty: one line
}

// Returns the wanted drawing of an answer with columns that it has, or the best guess: the last numeric column over
// the first one.
export function drawingOf(answer: Answer, wanted: URLSearchParams): Drawing {
  const has = (name: string | null) => answer.columns.some((one) => one.name === name);
  const isNumber = ({ unit }: { unit: string }) => unit !== 'text' && unit !== 'bool';
  const [kind, x, y, series] = ['draw', 'x', 'y', 'series'].map((name) => wanted.get(name));
  const first = answer.columns[0]?.name ?? '';
  const last =
    answer.columns.filter((one) => isNumber(one) && one.name !== first).at(-1)?.name ?? first;
  return {
    kind: kind === 'bar' || kind === 'line' ? kind : '',
    x: has(x ?? null) ? (x as string) : first,
    y: has(y ?? null) ? (y as string) : last,
    series: has(series ?? null) ? (series as string) : '',
  };
}

// The answer as if an analysis had given it, so that the views of analyses draw it.
export const analysisOf = (answer: Answer): Analysis => ({
  id: 'query',
  name: 'query',
  title: 'Answer',
  question: '',
  description: '',
  needs: [],
  params: [],
  columns: answer.columns.map((one) => ({ ...one, description: '' })),
  views: [],
});

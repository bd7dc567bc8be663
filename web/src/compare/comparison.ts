// A comparison of evaluations as the API returns it, and its rows with named fields in place of columns.
import { get } from '../data/source';
import type { Cell, Rows } from '../data/types';

export type TableName = 'model' | 'causes' | 'layers' | 'kernels' | 'facts';
export type LayerTime = 'work' | 'host';

// The column of one evaluation has its letter as a suffix, before the unit: latency_b_ns.
export interface Comparison extends Omit<Rows, 'analysis' | 'parameters'> {
  comparison: TableName;
  evaluations: string[];
  batch: number | null;
  warnings: string[];
}

export const COMPARED_MAX = 6;

export const letterOf = (evaluation: number) => String.fromCharCode(65 + evaluation);
export const colourOf = (evaluation: number) => `var(--c${evaluation + 1})`;
// Returns "runs/resnet50" for "runs/resnet50.xsp".
export const nameOf = (id: string) => id.replace(/\.xsp$/, '');

export function compare(
  table: TableName,
  evaluations: string[],
  options: { batch?: number | undefined; time?: LayerTime | undefined } = {},
): Promise<Comparison> {
  const time = options.time === 'host' ? 'host' : undefined;
  return get<Comparison>(`/compare/${table}`, { e: evaluations, batch: options.batch, time });
}

// Reads a row's cells by column.
export class Reader {
  private readonly index: Map<string, number>;

  constructor(comparison: Pick<Comparison, 'columns'>) {
    this.index = new Map(comparison.columns.map((column, index) => [column.name, index]));
  }
  cell(row: Cell[], name: string): Cell {
    const index = this.index.get(name);
    return index === undefined ? null : (row[index] ?? null);
  }
  number(row: Cell[], name: string): number | null {
    const cell = this.cell(row, name);
    return typeof cell === 'number' ? cell : null;
  }
  text(row: Cell[], name: string): string | null {
    const cell = this.cell(row, name);
    return typeof cell === 'string' ? cell : null;
  }
}

const lower = (evaluation: number) => letterOf(evaluation).toLowerCase();

// ---- model ----------------------------------------------------------------------------------------

export interface ModelSide {
  isStep: boolean; // a step of the program is compared, not an inference
  iterations: number;
  blocks: number | null;
  latency: number; // ns
  median: number;
  low: number | null; // 95 % interval of the latency
  high: number | null;
  p99: number | null;
  throughput: number | null; // inputs per second; null: not known
}

export interface Verdict {
  ratio: number | null; // latency divided by the reference's
  low: number | null;
  high: number | null;
  significant: boolean | null; // null: not known
  text: string; // faster, slower, no significant difference; or why it is not known
}

export interface ModelRow {
  batch: number;
  sides: (ModelSide | null)[];
  verdicts: (Verdict | null)[]; // the first is the reference's, null
}

export function modelRows(comparison: Comparison): ModelRow[] {
  const reader = new Reader(comparison);
  return comparison.rows.map((row) => {
    const sides = comparison.evaluations.map((_, e): ModelSide | null => {
      const of = (what: string, unit = 'ns') => reader.number(row, `${what}_${lower(e)}_${unit}`);
      const latency = of('latency');
      if (latency === null) return null;
      return {
        isStep: reader.text(row, `unit_${lower(e)}`) === 'step',
        iterations: reader.number(row, `iterations_${lower(e)}`) ?? 0,
        blocks: reader.number(row, `blocks_${lower(e)}`),
        latency,
        median: of('median') ?? latency,
        low: of('low'),
        high: of('high'),
        p99: of('p99'),
        throughput: of('throughput', 'per_s'),
      };
    });
    const verdicts = comparison.evaluations.map((_, e): Verdict | null => {
      if (e === 0) return null;
      const significant = reader.cell(row, `significant_${lower(e)}`);
      return {
        ratio: reader.number(row, `ratio_${lower(e)}`),
        low: reader.number(row, `ratio_low_${lower(e)}`),
        high: reader.number(row, `ratio_high_${lower(e)}`),
        significant: typeof significant === 'boolean' ? significant : null,
        text: reader.text(row, `verdict_${lower(e)}`) ?? '',
      };
    });
    return { batch: reader.number(row, 'batch') ?? 1, sides, verdicts };
  });
}

// ---- layers and kernels ---------------------------------------------------------------------------

export type Matched = 'name' | 'order' | 'position' | 'group' | 'none';

export interface ItemSide {
  label: string | null; // null: there is none at this place
  type: string | null;
  matched: Matched | null; // with the reference's; null: not measured
  names: string[]; // as the framework or the device calls them
  latency: number | null; // ns, in one inference
  count: number | null; // executions of a kernel
  flops: number | null;
  bytes: number | null;
  difference: number | null; // ns, from the reference
  share: number | null; // % of the whole difference
}

export interface Item {
  label: string;
  type: string;
  index: number | null; // position of a layer in the reference
  layers: number | null; // number of layers that call a kernel
  sides: ItemSide[];
}

function namesOf(text: string | null): string[] {
  if (text === null) return [];
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) ? names.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

export function items(comparison: Comparison): Item[] {
  const reader = new Reader(comparison);
  const what = comparison.comparison === 'layers' ? 'layer' : 'kernel';
  const flops = comparison.comparison === 'layers' ? 'analytic' : 'counted';
  return comparison.rows.map((row) => {
    const label = reader.text(row, what) ?? '';
    const type = reader.text(row, 'type') ?? '';
    const sides = comparison.evaluations.map((_, e): ItemSide => {
      const letter = lower(e);
      const latency = reader.number(row, `latency_${letter}_ns`);
      const names = namesOf(reader.text(row, `names_${letter}`));
      return {
        label: e === 0 ? (names.length ? label : null) : reader.text(row, `${what}_${letter}`),
        type: e === 0 ? (names.length ? type : null) : reader.text(row, `type_${letter}`),
        matched: reader.text(row, `matched_${letter}`) as Matched | null,
        names,
        latency,
        count: reader.number(row, `count_${letter}`),
        flops: reader.number(row, `${flops}_${letter}_flops`),
        bytes: reader.number(row, `moved_${letter}_bytes`),
        difference: reader.number(row, `difference_${letter}_ns`),
        share: reader.number(row, `share_${letter}_pct`),
      };
    });
    return {
      label,
      type,
      index: reader.number(row, 'index'),
      layers: reader.number(row, 'layers'),
      sides,
    };
  });
}

export const hasName = (item: Item, name: string | undefined) =>
  name !== undefined && item.sides.some((side) => side.names.includes(name));
// Returns the name by which other pages know it: the reference's, or that of the first evaluation that has
// it.
export const ownName = (item: Item) => item.sides.find((side) => side.names.length)?.names[0];

// ---- causes ---------------------------------------------------------------------------------------

export interface CauseRow {
  cause: string;
  isWhole: boolean; // all causes together
  times: (number | null)[]; // ns, by evaluation; null: it has none
  difference: number | null; // ns, of the chosen evaluation from the reference
  share: number | null; // % of the whole difference
}

// Returns the causes, the greatest difference of the chosen evaluation first, and all together last.
export function causes(comparison: Comparison, against: number): CauseRow[] {
  const reader = new Reader(comparison);
  const rows = comparison.rows.map((row) => {
    const cause = reader.text(row, 'cause') ?? '';
    return {
      cause: cause === 'together' ? 'all together' : cause,
      isWhole: cause === 'together',
      times: comparison.evaluations.map((_, e) => reader.number(row, `latency_${lower(e)}_ns`)),
      difference: reader.number(row, `difference_${lower(against)}_ns`),
      share: reader.number(row, `share_${lower(against)}_pct`),
    };
  });
  const size = (row: CauseRow) => (row.isWhole ? -1 : Math.abs(row.difference ?? 0));
  return rows.sort((one, other) => size(other) - size(one));
}

// ---- facts ----------------------------------------------------------------------------------------

export interface Fact {
  subject: string;
  key: string;
  differs: boolean | null; // null: it always differs
  values: (string | null)[];
}

export function facts(comparison: Comparison): Fact[] {
  const reader = new Reader(comparison);
  return comparison.rows.map((row) => {
    const differs = reader.cell(row, 'differs');
    return {
      subject: reader.text(row, 'subject') ?? '',
      key: reader.text(row, 'fact') ?? '',
      differs: typeof differs === 'boolean' ? differs : null,
      values: comparison.evaluations.map((_, e) => reader.text(row, `value_${lower(e)}`)),
    };
  });
}

// Describes an evaluation in a few words, by its best-known facts.
export function inWords(all: Fact[], evaluation: number): string {
  const of = (key: string) => all.find((fact) => fact.key === key)?.values[evaluation] ?? null;
  // As the catalogue names it: a compiled model apart from the model that its framework runs as it is.
  const name = [of('framework'), of('setting.compiler')].filter(Boolean).join('+');
  const framework = [name, of('framework_version')].filter(Boolean).join(' ');
  const device = of('gpu.0.name') ?? of('machine.cpu') ?? of('device');
  return [of('model'), framework, device].filter(Boolean).join(' · ');
}

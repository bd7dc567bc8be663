// Rows of a table: sorted, filtered, and as text for a file.
import type { Cell } from '../data/types';
import { labelOfName, stepsOf } from '../data/units';

export interface Described {
  name: string;
  unit: string;
  description?: string;
}

export type Direction = 'ascending' | 'descending';

const collator = new Intl.Collator('en', { numeric: true });

function compare(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return collator.compare(String(a), String(b));
}

const isEmpty = (cell: Cell | undefined) =>
  cell === null || cell === undefined || (typeof cell === 'number' && Number.isNaN(cell));

// Returns the positions of the rows in the order of a column. The order is stable, and empty cells come last
// in both directions.
export function sorted(rows: Cell[][], order: number[], column: number, to: Direction): number[] {
  const sign = to === 'ascending' ? 1 : -1;
  return [...order].sort((a, b) => {
    const left = rows[a]?.[column];
    const right = rows[b]?.[column];
    if (isEmpty(left) || isEmpty(right)) return Number(isEmpty(left)) - Number(isEmpty(right));
    return sign * compare(left as Cell, right as Cell);
  });
}

// Returns the rows in the order of several columns, of which the first counts most.
export function sortedBy(rows: Cell[][], columns: number[]): Cell[][] {
  return [...rows].sort((a, b) => {
    for (const column of columns) {
      const [left, right] = [a[column], b[column]];
      if (left === right) continue;
      const order =
        isEmpty(left) || isEmpty(right)
          ? Number(isEmpty(left)) - Number(isEmpty(right))
          : compare(left as Cell, right as Cell);
      if (order !== 0) return order;
    }
    return 0;
  });
}

export type Test = (row: Cell[]) => boolean;

const OPERATORS: Record<string, (a: number, b: number) => boolean> = {
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
  '=': (a, b) => a === b,
};

const canonical = (text: string) => text.toLowerCase().replace(/[\s_]+/g, '_');

// Returns the units that a written unit may mean, with its size: "ms" is 1e6 of "ns".
function meanings(written: string): { unit: string; factor: number }[] {
  const wanted = written.toLowerCase().replace('µ', 'u');
  const found: { unit: string; factor: number }[] = [];
  for (const unit of [
    'ns',
    'bytes',
    'flops',
    'flops_per_s',
    'bytes_per_s',
    'flops_per_byte',
    'pct',
  ]) {
    for (const step of stepsOf(unit)) {
      if (step.label.toLowerCase() === wanted) found.push({ unit, factor: step.factor });
    }
  }
  return found;
}

function range(columns: Described[], name: string, operator: string, value: string, unit: string) {
  const meant = unit ? meanings(unit) : [];
  if (unit && meant.length === 0) return null;
  const wanted = canonical(name);
  const exact = columns.some((one) => canonical(one.name) === wanted);
  const tests: { index: number; bound: number }[] = [];
  columns.forEach((column, index) => {
    if (column.unit === 'text' || column.unit === 'bool') return;
    const names = [canonical(column.name), canonical(labelOfName(column.name, column.unit))];
    if (wanted && !(exact ? names[0] === wanted : names.some((one) => one.startsWith(wanted)))) {
      return;
    }
    const fits = meant.find((one) => one.unit === column.unit);
    if (unit && !fits) return;
    tests.push({ index, bound: Number(value) * (fits?.factor ?? 1) });
  });
  const holds = OPERATORS[operator];
  if (tests.length === 0 || !holds) return null;
  return (row: Cell[]) =>
    tests.some(({ index, bound }) => {
      const cell = row[index];
      return typeof cell === 'number' && holds(cell, bound);
    });
}

// Returns a test for the typed text: words that must occur in some text of the row, "quoted ones" with their
// spaces, -words that must not occur; and ranges: latency>1ms, share>=5, >1MiB (in any column of that unit).
export function filterOf(text: string, columns: Described[]): Test {
  const tests: Test[] = [];
  const texts = columns.flatMap((one, index) =>
    one.unit === 'text' || one.unit === 'bool' ? [index] : [],
  );
  const occurs = (word: string) => (row: Cell[]) =>
    texts.some((index) => {
      const cell = row[index];
      const shown = typeof cell === 'boolean' ? (cell ? 'yes' : 'no') : String(cell ?? '');
      return shown.toLowerCase().includes(word);
    });
  const parts = text.matchAll(/(-?)"([^"]*)"|(\S+)/g);
  for (const [, not, quoted, plain] of parts) {
    const compared = plain?.match(/^([a-z_0-9]*?)(>=|<=|>|<|=)(-?[\d.]+(?:e[+-]?\d+)?)(.*)$/i);
    if (compared) {
      const [, name = '', operator = '', value = '', unit = ''] = compared;
      const test = range(columns, name, operator, value, unit);
      if (test) {
        tests.push(test);
        continue;
      }
    }
    const excludes = not === '-' || (plain !== undefined && plain.length > 1 && plain[0] === '-');
    const word = (quoted ?? (excludes ? plain?.slice(1) : plain) ?? '').toLowerCase();
    const test = occurs(word);
    tests.push(excludes ? (row) => !test(row) : test);
  }
  return (row) => tests.every((test) => test(row));
}

function quoted(cell: Cell | undefined, separator: string): string {
  if (cell === null || cell === undefined) return '';
  const text = String(cell);
  return text.includes(separator) || /["\r\n]/.test(text) || /^\s|\s$/.test(text)
    ? `"${text.replaceAll('"', '""')}"`
    : text;
}

// Writes RFC 4180, with every digit of every number; empty cells stay empty.
export function csv(names: string[], rows: Iterable<Cell[]>, separator = ','): string {
  const lines = [names.map((name) => quoted(name, separator)).join(separator)];
  for (const row of rows) lines.push(row.map((cell) => quoted(cell, separator)).join(separator));
  return lines.join('\r\n') + '\r\n';
}

// Cuts a long name in the middle, because long names differ at their ends.
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  if (length <= 1) return '…';
  const end = Math.floor((length - 1) / 2);
  return `${text.slice(0, length - 1 - end)}…${text.slice(text.length - end)}`;
}

// Shortens each text, so that different texts look different wherever the length permits: those that would look the
// same show their beginning, and the place from which on they differ.
export function shortenedApart(texts: string[], length: number): Map<string, string> {
  const forms = new Map([...new Set(texts)].map((text) => [text, shortened(text, length)]));
  for (const group of alike([...forms.keys()], forms)) tellApart(group, length, 0, forms);
  return forms;
}

function alike(texts: string[], forms: Map<string, string>): string[][] {
  const groups = new Map<string, string[]>();
  for (const text of texts) {
    const form = forms.get(text) ?? text;
    groups.set(form, [...(groups.get(form) ?? []), text]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

// All texts of the group begin with `shared` equal characters at least.
function tellApart(group: string[], length: number, shared: number, forms: Map<string, string>) {
  const head = Math.floor(length / 4);
  const room = length - head - 2;
  const common = commonLength(group);
  if (common < shared || room < 1) return;
  for (const text of group) {
    if (common <= head || text.length <= length) continue;
    const isEnd = text.length - common <= room + 1;
    const rest = isEnd
      ? text.slice(text.length - room - 1)
      : `${text.slice(common, common + room)}…`;
    forms.set(text, `${text.slice(0, head)}…${rest}`);
  }
  for (const rest of alike(group, forms)) tellApart(rest, length, common + 1, forms);
}

function commonLength(texts: string[]): number {
  const sorted = [...texts].sort();
  const first = sorted[0] ?? '';
  const last = sorted[sorted.length - 1] ?? '';
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  return length;
}

// The order of a table, and its name in an address: "latency_ns" from the least to the greatest,
// "-latency_ns" the other way round.
export interface Order {
  column: number;
  to: Direction;
}

export const nameOfOrder = ({ column, to }: Order, columns: Described[]): string =>
  `${to === 'descending' ? '-' : ''}${columns[column]?.name ?? ''}`;

// Returns null if no column has the name.
export function orderOf(name: string | null, columns: Described[]): Order | null {
  const isFalling = name?.startsWith('-') ?? false;
  const column = columns.findIndex((one) => one.name === (isFalling ? name?.slice(1) : name));
  return column < 0 ? null : { column, to: isFalling ? 'descending' : 'ascending' };
}

export function countOf(visible: number, all: number): string {
  const word = all === 1 ? 'row' : 'rows';
  const count = all.toLocaleString('en');
  return visible === all ? `${count} ${word}` : `${visible.toLocaleString('en')} of ${count} rows`;
}

// Tells a sentence, which wraps, from a name, which is cut if it is too long. The names of C++ have
// spaces, too.
export const isSentence = (text: string): boolean =>
  text.trim().includes(' ') && !/::|[<>]/.test(text);

// Returns how many lines a text takes where so many characters fit: words are not broken, so that a
// line may lose up to a word.
export function linesOf(text: string, fits: number): number {
  if (!isSentence(text) || fits < 1) return 1;
  let lines = 1;
  let room = fits;
  for (const word of text.split(' ')) {
    if (word.length > room && room < fits) {
      lines += 1;
      room = fits;
    }
    lines += Math.max(0, Math.ceil(word.length / fits) - 1);
    room = Math.max(0, room - (word.length % fits) - 1);
  }
  return lines;
}

export const optionList = (text: string | undefined): string[] =>
  (text ?? '').split(',').filter((one) => one !== '');

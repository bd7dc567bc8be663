// Lays out a tree of frames as boxes: callers above, the frames that they call below them, with widths by
// time.
import type { Cell } from '../../data/types';
import { wantedColour } from '../../data/colours';
import { numberAt, textAt, type Field } from './data';

export interface Frame {
  row: number; // in the rows
  depth: number;
  parent: number; // position in the frames; -1: none
  children: number[];
  name: string;
  kind: string; // empty: a process, or a thread
  value: number;
  leftOut: number; // part of the value that is neither its own nor in any child that has a row
}

export interface Fields {
  depth: Field;
  name: Field;
  kind: Field | null;
  value: Field;
  own: Field | null; // part of the value that is spent in the frame itself
}

// Rows come in the order of the tree, each below its caller. A row without time has no frame, nor do the rows
// below it.
export function framesOf(rows: Cell[][], fields: Fields): Frame[] {
  const frames: Frame[] = [];
  const path: number[] = []; // by depth
  rows.forEach((row, index) => {
    const depth = numberAt(row, fields.depth) ?? 0;
    const value = numberAt(row, fields.value) ?? 0;
    path.length = Math.min(path.length, depth);
    if (value <= 0 || path.length < depth) return;
    const parent = depth > 0 ? (path[depth - 1] as number) : -1;
    path[depth] = frames.length;
    frames[parent]?.children.push(frames.length);
    frames.push({
      row: index,
      depth,
      parent,
      children: [],
      name: textAt(row, fields.name).trim(),
      kind: textAt(row, fields.kind),
      value,
      leftOut: value - (numberAt(row, fields.own) ?? value),
    });
  });
  for (const frame of frames) {
    frame.leftOut -= sumOf(frames, frame.children);
    if (fields.own === null || frame.leftOut < 0) frame.leftOut = 0;
  }
  return frames;
}

export const sumOf = (frames: Frame[], some: number[]): number =>
  some.reduce((sum, one) => sum + (frames[one]?.value ?? 0), 0);

export const rootsOf = (frames: Frame[]): number[] =>
  frames.flatMap((frame, at) => (frame.parent < 0 ? [at] : []));

// Returns the path from the outermost caller to the frame itself.
export function pathTo(frames: Frame[], at: number): number[] {
  const path: number[] = [];
  for (let one = at; one >= 0; one = frames[one]?.parent ?? -1) path.unshift(one);
  return path;
}

// Returns the frame to show first: the main thread of the process with the most time; it is the first of its
// threads.
export function firstOf(frames: Frame[]): number {
  const roots = rootsOf(frames);
  const largest = roots.reduce(
    (best, one) => ((frames[one]?.value ?? 0) > (frames[best]?.value ?? 0) ? one : best),
    roots[0] ?? -1,
  );
  return frames[largest]?.children[0] ?? largest;
}

// Returns the frame that the address names: a row, or `all`; by default the frame to show first.
export function zoomOf(frames: Frame[], wanted: string | null): number {
  if (wanted === 'all') return -1;
  const named = frames.findIndex((one) => String(one.row) === wanted);
  return named < 0 ? firstOf(frames) : named;
}

const OWN_COLOURS = ['python', 'native', 'kernel', 'other'];

// Returns the colour of a kind of frame. Kinds that are no frames of stacks are types of layers, whose colours
// follow from their names.
export function frameColour(kind: string): string {
  if (OWN_COLOURS.includes(kind)) return `var(--frame-${kind})`;
  if (kind === 'idle') return 'var(--frame-other)';
  return `color-mix(in oklab, var(--c${wantedColour(kind) + 1}) var(--frame-tint), var(--bg))`;
}

export interface Box {
  key: string;
  of: 'frame' | 'smaller' | 'left out';
  frames: number[]; // one; several if combined; the caller, for a left-out part
  depth: number;
  x: number; // pixels
  width: number;
  value: number;
}

const LEAST = 5; // pixels: narrower frames are combined with those beside them

// Returns the boxes of everything below `zoom` (-1: of all) and, over the whole width, of its callers.
export function boxesOf(frames: Frame[], zoom: number, width: number): Box[] {
  const boxes: Box[] = [];
  const frameBox = (at: number, x: number, wide: number) => {
    const { depth, value, row } = frames[at] as Frame;
    boxes.push({ key: `${row}`, of: 'frame', frames: [at], depth, x, width: wide, value });
  };
  const place = (siblings: number[], from: number, perNs: number, depth: number) => {
    const small = siblings.filter((one) => (frames[one]?.value ?? 0) * perNs < LEAST);
    let x = from;
    for (const one of siblings) {
      if (small.length > 1 && small.includes(one)) continue;
      const wide = (frames[one] as Frame).value * perNs;
      frameBox(one, x, wide);
      below(one, x, perNs);
      x += wide;
    }
    if (small.length > 1) {
      const value = sumOf(frames, small);
      const key = `${frames[small[0] as number]?.row}+`;
      boxes.push({ key, of: 'smaller', frames: small, depth, x, width: value * perNs, value });
      x += value * perNs;
    }
    return x;
  };
  const below = (at: number, from: number, perNs: number) => {
    const frame = frames[at] as Frame;
    const x = place(frame.children, from, perNs, frame.depth + 1);
    const wide = frame.leftOut * perNs;
    if (wide < LEAST) return;
    const [key, value] = [`${frame.row}-`, frame.leftOut];
    const depth = frame.depth + 1;
    boxes.push({ key, of: 'left out', frames: [at], depth, x, width: wide, value });
  };
  if (zoom < 0) {
    const roots = rootsOf(frames);
    const whole = sumOf(frames, roots);
    if (whole > 0) place(roots, 0, width / whole, 0);
    return boxes;
  }
  const path = pathTo(frames, zoom);
  for (const one of path) frameBox(one, 0, width);
  if (path.length > 0) below(zoom, 0, width / (frames[zoom] as Frame).value);
  return boxes;
}

export interface Found {
  frames: Set<number>;
  value: number; // time in which any of them is on the stack: nested ones count once
}

// Returns `zoom` and the frames below it whose name or place contains the text. null means that there is no
// search.
export function foundIn(
  frames: Frame[],
  zoom: number,
  text: string,
  saidOf: (frame: Frame) => string,
): Found | null {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return null;
  const found: Found = { frames: new Set(), value: 0 };
  const visit = (at: number, isCounted: boolean) => {
    const frame = frames[at] as Frame;
    const isFound = saidOf(frame).toLowerCase().includes(wanted);
    if (isFound) found.frames.add(at);
    if (isFound && !isCounted) found.value += frame.value;
    for (const one of frame.children) visit(one, isCounted || isFound);
  };
  for (const one of zoom < 0 ? rootsOf(frames) : [zoom]) visit(one, false);
  return found;
}

// Returns the box to which an arrow key leads: the caller, the widest callee, or the neighbour in its line.
export function neighbour(boxes: Box[], at: number, key: string): number {
  const box = boxes[at];
  if (!box) return boxes.length > 0 ? 0 : -1;
  const inLine = (depth: number) =>
    boxes
      .map((one, index) => ({ one, index }))
      .filter(({ one }) => one.depth === depth)
      .sort((a, b) => a.one.x - b.one.x);
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const line = inLine(box.depth);
    const next = line.findIndex(({ index }) => index === at) + (key === 'ArrowLeft' ? -1 : 1);
    return line[next]?.index ?? at;
  }
  const middle = box.x + box.width / 2;
  if (key === 'ArrowUp') {
    const above = inLine(box.depth - 1);
    const caller = above.find(({ one }) => one.x <= middle && middle <= one.x + one.width);
    return caller?.index ?? at;
  }
  const called = inLine(box.depth + 1).filter(
    ({ one }) => one.x >= box.x - 0.01 && one.x + one.width <= box.x + box.width + 0.01,
  );
  const widest = called.reduce(
    (best, one) => (best && best.one.width >= one.one.width ? best : one),
    called[0],
  );
  return widest?.index ?? at;
}

// Draws everything around and above the lanes: overview, ruler, lane titles, iterations, selection, arrows,
// measuring.
import { SHADES, type Palette } from './colours';
import { GAP, ROW, topOf, type Placed } from './layout';
import type { Note } from './notes';
import type { Link } from './path';
import type { TileStore } from './store';
import type { Brief, Lane, SpanDetails, Timeline } from './types';
import { niceStep, tickText, type View } from './view';

export const OVERVIEW = 30; // heights
export const RULER = 22;
export const TOP = OVERVIEW + RULER;
const FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

// Converts between a moment and a place on the canvas.
export interface Frame {
  view: View;
  left: number;
  width: number;
  height: number;
  scroll: number;
}
export const xOf = (frame: Frame, time: number): number =>
  frame.left +
  ((time - frame.view.from) / (frame.view.to - frame.view.from)) * (frame.width - frame.left);
export const timeAt = (frame: Frame, x: number): number =>
  frame.view.from +
  ((x - frame.left) / (frame.width - frame.left)) * (frame.view.to - frame.view.from);

// Draws the titles of the lanes, and the bands behind them; they are redrawn only when they change.
export function drawGutter(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: Placed[],
  palette: Palette,
) {
  context.fillStyle = palette.bg;
  context.fillRect(0, 0, frame.width, frame.height);
  context.font = FONT;
  context.textBaseline = 'middle';
  // The pinned lanes come last, and over the others.
  for (const one of [...placed].reverse()) {
    const y = TOP + topOf(one, frame.scroll);
    if (y > frame.height || y + one.height < TOP) continue;
    if (one.isPinned) {
      context.fillStyle = palette.bg;
      context.fillRect(0, y - GAP, frame.width, one.height + 2 * GAP);
    }
    context.fillStyle = palette.panel;
    context.fillRect(frame.left, y, frame.width - frame.left, one.height);
    context.fillStyle = palette.fill[(one.lane.level - 1) * SHADES] as string;
    context.fillRect(0, y, 3, one.height);
    const [title = '', ...rest] = one.lane.title.split(' · ');
    context.fillStyle = palette.ink;
    context.fillText(fitted(context, [title], frame.left - 16), 10, y + ROW / 2);
    if (rest.length === 0) continue;
    context.fillStyle = palette.muted;
    const at = one.height >= 2 * ROW ? { x: 10, y: y + ROW * 1.45 } : undefined;
    const beside = 10 + context.measureText(title).width + 7;
    const room = frame.left - (at?.x ?? beside) - 6;
    context.fillText(fitted(context, rest, room), at?.x ?? beside, at?.y ?? y + ROW / 2);
  }
}

// Returns as many of the parts as fit, the last ones, which tell lanes apart; what remains is cut at its front.
function fitted(context: CanvasRenderingContext2D, parts: string[], room: number): string {
  for (let first = 0; first < parts.length; first++) {
    const text = parts.slice(first).join(' · ');
    if (context.measureText(text).width <= room) return text;
  }
  let text = parts.at(-1) ?? '';
  while (text.length > 1 && context.measureText(`…${text}`).width > room) text = text.slice(1);
  return `…${text.trimStart()}`;
}

// Returns the lane with the most spans of each level.
function busiest(lanes: Lane[]): Lane[] {
  const found = new Map<number, Lane>();
  for (const lane of lanes) {
    if (lane.kind === 'spans' && lane.spans > (found.get(lane.level)?.spans ?? 0)) {
      found.set(lane.level, lane);
    }
  }
  return [...found.values()].sort((a, b) => a.level - b.level);
}

// Draws the whole run as a strip: its inferences, and the part in view.
export function drawOverview(
  context: CanvasRenderingContext2D,
  frame: Frame,
  timeline: Timeline,
  store: TileStore,
  palette: Palette,
) {
  const pixels = frame.width - frame.left;
  const scale = pixels / Math.max(timeline.duration_ns, 1);
  context.fillStyle = palette.panel;
  context.fillRect(0, 0, frame.width, OVERVIEW);
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = palette.muted;
  context.fillText('Whole run', 10, OVERVIEW / 2, frame.left - 14);
  const root = store.get(0, 0);
  const lanes = busiest(timeline.lanes);
  const height = (OVERVIEW - 12) / Math.max(lanes.length, 1);
  for (const [at, lane] of lanes.entries()) {
    const items = root?.lanes[lane.lane];
    if (!items) continue;
    context.fillStyle = palette.fill[(lane.level - 1) * SHADES + 2] as string;
    const end = items.rowBegin[1] as number;
    for (let i = 0; i < end; i++) {
      const width = Math.max((items.duration[i] as number) * scale, 0.75);
      const x = frame.left + (items.start[i] as number) * scale;
      context.fillRect(x, 9 + at * height, width, Math.max(height - 0.5, 1));
    }
  }
  const { start_ns, duration_ns, iteration } = timeline.iterations;
  let last = -10;
  for (let i = 0; i < start_ns.length; i++) {
    const x = frame.left + (start_ns[i] as number) * scale;
    if (x - last < 2) continue;
    last = x;
    const isWarmUp = (iteration[i] as number) < 0;
    context.fillStyle = isWarmUp ? palette.muted : palette.accent;
    context.fillRect(x, 3, Math.max((duration_ns[i] as number) * scale, 1), isWarmUp ? 2 : 3);
  }
}

// Draws the part of the overview that is in view.
export function drawWindow(
  context: CanvasRenderingContext2D,
  frame: Frame,
  timeline: Timeline,
  palette: Palette,
) {
  const scale = (frame.width - frame.left) / Math.max(timeline.duration_ns, 1);
  const from = frame.left + Math.max(frame.view.from, 0) * scale;
  const to = frame.left + Math.min(frame.view.to, timeline.duration_ns) * scale;
  context.strokeStyle = palette.accent;
  context.lineWidth = 1.5;
  const x = Math.min(from, frame.width - 3);
  context.strokeRect(x, 1, Math.max(to - from, 3), OVERVIEW - 2);
}

export function drawRuler(context: CanvasRenderingContext2D, frame: Frame, palette: Palette) {
  const { view } = frame;
  const step = niceStep(((view.to - view.from) / (frame.width - frame.left)) * 110);
  // Far from the start of the run, moments are written as offsets from a round moment, which is shown on the
  // left.
  const far = Math.abs(view.from) > step * 200;
  const base = far ? Math.floor(view.from / (step * 100)) * step * 100 : 0;
  context.fillStyle = palette.bg;
  context.fillRect(0, OVERVIEW, frame.width, RULER);
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = palette.muted;
  const y = OVERVIEW + RULER / 2;
  context.fillText(far ? tickText(base, step * 100) : 'Time', 10, y, frame.left - 14);
  for (let time = Math.ceil(view.from / step) * step; time < view.to; time += step) {
    const x = xOf(frame, time);
    if (x < frame.left) continue;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(x), OVERVIEW + 4, 1, RULER - 4);
    context.fillStyle = palette.muted;
    context.fillText((far ? '+' : '') + tickText(time - base, step), x + 4, y);
  }
  context.fillStyle = palette.line;
  context.fillRect(0, TOP - 1, frame.width, 1);
}

// Draws the begins and ends of inferences, through all lanes.
export function drawIterations(
  context: CanvasRenderingContext2D,
  frame: Frame,
  timeline: Timeline,
  first: number,
  palette: Palette,
) {
  const { start_ns, duration_ns, iteration } = timeline.iterations;
  const { view } = frame;
  const per = (frame.width - frame.left) / (view.to - view.from);
  context.font = FONT;
  context.textBaseline = 'middle';
  for (let i = Math.max(first, 0); i < start_ns.length; i++) {
    const start = start_ns[i] as number;
    if (start > view.to) break;
    const wide = (duration_ns[i] as number) * per;
    if (wide < 8) continue;
    const x = Math.round(xOf(frame, start));
    const end = Math.round(xOf(frame, start + (duration_ns[i] as number)));
    context.fillStyle = palette.line;
    if (x >= frame.left) context.fillRect(x, TOP, 1, frame.height - TOP);
    if (end >= frame.left) context.fillRect(end, TOP, 1, frame.height - TOP);
    if (wide < 90 || x < frame.left) continue;
    const number = iteration[i] as number;
    const word = timeline.iterations.of === 'step' ? 'step' : 'iteration';
    const text = number < 0 ? `warm-up ${number}` : `${word} ${number}`;
    context.fillStyle = palette.muted;
    context.fillText(text, x + 4, frame.height - 8);
  }
}

function outline(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: Placed[],
  brief: Brief,
): { x: number; end: number; y: number } | undefined {
  const lane = placed.find((one) => one.lane.lane === brief.lane);
  if (!lane) return undefined;
  const y = TOP + topOf(lane, frame.scroll) + Math.min(brief.row, lane.lane.rows - 1) * lane.row;
  const x = xOf(frame, brief.start_ns);
  const end = Math.max(xOf(frame, brief.start_ns + brief.duration_ns), x + 2);
  const from = Math.max(x, frame.left - 4);
  const to = Math.min(end, frame.width + 4);
  if (to > from) context.strokeRect(from, y + 0.5, to - from, lane.row - 1.5);
  return { x, end, y: y + lane.row / 2 };
}

// Draws the selected span, its ancestors, and the arrow from a launch to its execution.
export function drawSelection(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: Placed[],
  selected: SpanDetails,
  palette: Palette,
) {
  context.strokeStyle = palette.ink;
  context.lineWidth = 1;
  for (const one of selected.ancestors) outline(context, frame, placed, one);
  context.lineWidth = 2.5;
  const here = outline(context, frame, placed, selected);
  context.lineWidth = 1.5;
  for (const one of selected.correlated) {
    const there = outline(context, frame, placed, one);
    if (!here || !there || one.level === selected.level) continue;
    const [from, to] = one.role === 'execution' ? [here, there] : [there, here];
    arrow(context, Math.min(from.end, from.x + 6), from.y, to.x, to.y);
  }
}

function arrow(context: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number) {
  const bend = Math.min(Math.max(Math.abs(toX - x) / 2, 16), 90);
  context.beginPath();
  context.moveTo(x, y);
  context.bezierCurveTo(x + bend, y, toX - bend, toY, toX - 1, toY);
  context.moveTo(toX - 7, toY - 4);
  context.lineTo(toX - 1, toY);
  context.lineTo(toX - 7, toY + 4);
  context.stroke();
}

// Draws the stretch between two moments.
export function drawMeasure(
  context: CanvasRenderingContext2D,
  frame: Frame,
  from: number,
  to: number,
  text: string,
  palette: Palette,
) {
  const x = Math.max(xOf(frame, from), frame.left);
  const end = Math.min(xOf(frame, to), frame.width);
  context.globalAlpha = 0.14;
  context.fillStyle = palette.accent;
  context.fillRect(x, TOP, end - x, frame.height - TOP);
  context.globalAlpha = 1;
  context.fillRect(x, TOP, 1, frame.height - TOP);
  context.fillRect(end - 1, TOP, 1, frame.height - TOP);
  context.font = `600 ${FONT}`;
  const width = context.measureText(text).width + 12;
  const middle = Math.min(Math.max((x + end) / 2 - width / 2, frame.left), frame.width - width);
  context.fillStyle = palette.bg;
  context.fillRect(middle, TOP + 4, width, 18);
  context.strokeStyle = palette.accent;
  context.lineWidth = 1;
  context.strokeRect(middle, TOP + 4, width, 18);
  context.fillStyle = palette.ink;
  context.textBaseline = 'middle';
  context.fillText(text, middle + 6, TOP + 13);
}

// Draws the critical path: a line below each link, from lane to lane.
export function drawPath(
  context: CanvasRenderingContext2D,
  frame: Frame,
  placed: Placed[],
  path: Link[],
  palette: Palette,
) {
  const lanes = new Map(placed.map((one) => [one.lane.lane, one]));
  context.beginPath();
  let isBegun = false;
  for (const link of path) {
    const [x, end] = [xOf(frame, link.from), xOf(frame, link.to)];
    const lane = lanes.get(link.lane);
    if (!lane || end < frame.left || x > frame.width) continue;
    const y = TOP + topOf(lane, frame.scroll) + (link.row + 1) * lane.row - 2.5;
    if (isBegun) context.lineTo(x, y);
    else context.moveTo(x, y);
    context.lineTo(end, y);
    isBegun = true;
  }
  // The border keeps the line visible on every colour.
  for (const [width, colour] of [
    [5, palette.bg],
    [2.5, palette.ink],
  ] as const) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }
}

// Draws the stretches of the notes, each with its first words at its begin.
export function drawNotes(
  context: CanvasRenderingContext2D,
  frame: Frame,
  notes: Note[],
  palette: Palette,
) {
  context.font = FONT;
  context.textBaseline = 'middle';
  for (const note of notes) {
    const x = xOf(frame, note.from_ns);
    const end = Math.max(xOf(frame, note.to_ns), x + 2);
    if (end < frame.left || x > frame.width) continue;
    const from = Math.max(x, frame.left);
    context.fillStyle = palette.warn;
    context.fillRect(from, TOP, Math.min(end, frame.width) - from, 3);
    context.fillRect(from, TOP, 1, frame.height - TOP);
    const text = note.text.length > 24 ? `${note.text.slice(0, 23)}…` : note.text;
    const width = context.measureText(text).width + 8;
    context.fillStyle = palette.bg;
    context.fillRect(from + 1, frame.height - 36, width, 16);
    context.fillStyle = palette.warn;
    context.fillText(text, from + 5, frame.height - 28);
  }
}

// Marks where a report has no finer detail.
export function drawAbsent(
  context: CanvasRenderingContext2D,
  frame: Frame,
  from: number,
  to: number,
  palette: Palette,
) {
  const x = Math.max(xOf(frame, from), frame.left);
  const end = Math.min(xOf(frame, to), frame.width);
  if (end - x < 1) return;
  const y = frame.height - 19;
  context.fillStyle = palette.warn;
  context.fillRect(x, frame.height - 2, end - x, 2);
  const text = 'finer detail is not in this report: xsp serve shows it';
  context.font = FONT;
  const width = context.measureText(text).width + 12;
  if (end - x < width + 8) return;
  context.fillStyle = palette.bg;
  context.fillRect(end - width - 4, y, width, 16);
  context.fillStyle = palette.warn;
  context.textBaseline = 'middle';
  context.fillText(text, end - width + 2, y + 8);
}

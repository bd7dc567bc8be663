// Handles pointer, wheel and touch on the stage.
import { OVERVIEW } from './overlay';
import type { Item, Stage } from './stage';

export interface InputHooks {
  hovered(item: Item | null, x: number, y: number): void;
  clicked(item: Item | null): void;
  opened(item: Item): void; // a double click
  measured(from: number, to: number, isDone: boolean): void;
}

const CLICK = 4; // pixels by which the pointer may move in a click

interface Finger {
  x: number;
  y: number;
}

// Returns a function that detaches it.
export function attachInput(canvas: HTMLCanvasElement, stage: Stage, hooks: InputHooks) {
  const fingers = new Map<number, Finger>();
  let mode: 'none' | 'pan' | 'overview' | 'measure' = 'none';
  let begin: Finger = { x: 0, y: 0 };
  let moved = false;
  let from = 0;

  const at = (event: MouseEvent): Finger => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0 && event.pointerType === 'mouse') return;
    const point = at(event);
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, point);
    begin = point;
    moved = false;
    if (fingers.size > 1) mode = 'pan';
    else if (point.y < OVERVIEW) mode = 'overview';
    else if (event.shiftKey) mode = 'measure';
    else mode = 'pan';
    from = stage.time(point.x);
    if (mode === 'overview') stage.showAt(point.x);
  };

  const pinch = (id: number, point: Finger) => {
    const other = [...fingers].find(([key]) => key !== id)?.[1];
    const before = fingers.get(id);
    if (!other || !before) return;
    const old = Math.max(Math.abs(before.x - other.x), 10);
    const now = Math.max(Math.abs(point.x - other.x), 10);
    stage.panBy((before.x - point.x) / 2);
    stage.zoom(old / now, (point.x + other.x) / 2);
  };

  const move = (event: PointerEvent) => {
    const point = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      hooks.hovered(stage.pick(point.x, point.y), point.x, point.y);
      return;
    }
    if (Math.hypot(point.x - begin.x, point.y - begin.y) > CLICK) moved = true;
    if (fingers.size > 1) pinch(event.pointerId, point);
    else if (mode === 'overview') stage.showAt(point.x);
    else if (mode === 'measure') {
      const to = stage.time(point.x);
      hooks.measured(Math.min(from, to), Math.max(from, to), false);
    } else if (moved) {
      stage.panBy(before.x - point.x);
      stage.scrollBy(before.y - point.y);
      hooks.hovered(null, 0, 0);
    }
    fingers.set(event.pointerId, point);
  };

  const up = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    const point = at(event);
    if (mode === 'measure' && moved) {
      const to = stage.time(point.x);
      hooks.measured(Math.min(from, to), Math.max(from, to), true);
    } else if (mode === 'pan' && !moved && event.type === 'pointerup') {
      hooks.clicked(stage.pick(point.x, point.y));
    }
    if (fingers.size === 0) mode = 'none';
  };

  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 18 : 1;
    const [x, y] = [event.deltaX * unit, event.deltaY * unit];
    if (Math.abs(x) > Math.abs(y)) stage.panBy(x);
    else if (event.shiftKey) stage.panBy(y);
    else if (event.altKey) stage.scrollBy(y);
    else stage.zoom(Math.exp(Math.min(Math.max(y, -240), 240) * 0.0022), at(event).x);
  };

  const leave = () => hooks.hovered(null, 0, 0);
  const open = (event: MouseEvent) => {
    const point = at(event);
    const item = stage.pick(point.x, point.y);
    if (item) hooks.opened(item);
  };

  canvas.addEventListener('pointerdown', down);
  canvas.addEventListener('pointermove', move);
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', leave);
  canvas.addEventListener('wheel', wheel, { passive: false });
  canvas.addEventListener('dblclick', open);
  return () => {
    canvas.removeEventListener('pointerdown', down);
    canvas.removeEventListener('pointermove', move);
    canvas.removeEventListener('pointerup', up);
    canvas.removeEventListener('pointercancel', up);
    canvas.removeEventListener('pointerleave', leave);
    canvas.removeEventListener('wheel', wheel);
    canvas.removeEventListener('dblclick', open);
  };
}

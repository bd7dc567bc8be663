// Draws the lanes: spans as coloured rectangles, names where they fit, series as steps. The loop over the
// items allocates nothing: it writes rectangles to buffers, which are then painted colour by colour.
import { blockShade, colourOfName, Colours, DIM, SHADES, type Palette } from './colours';
import { Scale } from '../data/units';
import { unitTicks } from '../views/chart/scale';
import { topOf, type Placed } from './layout';
import type { Piece, TileStore } from './store';
import { firstFrom, tileLength, tileRange, zoomFor, type LaneItems } from './tiles';
import type { View } from './view';

export interface Scene {
  store: TileStore;
  placed: Placed[];
  palette: Palette;
  view: View;
  left: number; // left edge of the lanes, in CSS pixels; the canvas ends at `width`
  top: number;
  width: number;
  height: number;
  scroll: number;
  matching: Uint8Array | null; // by text; null: no search
  lit: Set<number> | null; // spans; null: no selection
  type: string | null; // the only type of layers that is not dimmed; null: all
  byName: boolean; // a span has the colour of its name, else that of its type or level
}

const FONT = '11px system-ui, "Segoe UI", "DejaVu Sans", sans-serif';
const LEAST_TEXT = 26; // pixels
const LEAST_ROW = 12; // pixels of a row that has names
const PAD = 4;

interface SeriesAxis {
  most: number;
  height: number;
  marks: { at: number; text: string }[];
  unit: string;
  mostText: string;
}

// Returns the axis of a series from zero to its greatest value, with a number for about every 22 pixels.
export function seriesAxis(unit: string, most: number, height: number): SeriesAxis {
  const kind = unit === 'bytes' ? 'bytes' : 'number';
  const { ticks, unit: label } = unitTicks(kind, 0, most, Math.max(1, Math.floor(height / 22)));
  const scale = new Scale(kind, [most]);
  return {
    most,
    height,
    marks: ticks.filter(({ at }) => at <= most),
    unit: label || unit,
    mostText: `at most ${scale.text(most)} ${scale.label || unit}`,
  };
}

export class LanePainter {
  private size = 4096;
  private x = new Float32Array(this.size);
  private y = new Float32Array(this.size);
  private w = new Float32Array(this.size);
  private next = new Int32Array(this.size);
  private style = new Int16Array(this.size);
  private label = new Int32Array(this.size); // a text's number; 0: none
  private labelX = new Float32Array(this.size);
  private labelW = new Float32Array(this.size);
  private count = 0;
  private readonly head = new Int32Array(14 * SHADES);
  private readonly ofTypes = new Colours();
  private readonly colours = new Map<number, number>(); // by level and type
  private readonly ofNames: number[] = []; // by text
  private readonly widths: number[] = []; // widths of whole names, by text
  private readonly cuts = new Map<number, string>(); // shortened names, by text and length

  // Draws everything in view of the pinned lanes, or of the others. Returns true if everything has the finest detail.
  // Reports parts that the report lacks through `absent`.
  draw(
    context: CanvasRenderingContext2D,
    scene: Scene,
    isPinned: boolean,
    absent: (from: number, to: number) => void,
  ): boolean {
    const { store, view } = scene;
    const pixels = Math.max(scene.width - scene.left, 1);
    const nsPerPixel = (view.to - view.from) / pixels;
    const zoom = zoomFor(store.timeline, nsPerPixel);
    const [first, last] = tileRange(store.timeline, zoom, view.from, view.to);
    const pieces = store.cover(zoom, first, last);
    const length = tileLength(store.timeline, zoom);
    let exact = true;
    for (let i = 0; i < pieces; i++) {
      const piece = store.piece(i);
      exact &&= piece.exact;
      if (piece.absent) absent(piece.from * length, piece.to * length);
    }
    for (const placed of scene.placed) {
      if (placed.isPinned !== isPinned) continue;
      const y = scene.top + topOf(placed, scene.scroll);
      if (y > scene.height || y + placed.height < scene.top) continue;
      if (placed.lane.kind === 'series') {
        this.series(context, scene, placed, y, pieces, length);
        continue;
      }
      this.begin();
      for (let i = 0; i < pieces; i++) {
        const piece = store.piece(i);
        const items = piece.loaded.lanes[placed.lane.lane];
        if (items) this.collect(items, scene, placed, y, piece, length, nsPerPixel, i === 0);
      }
      this.paint(context, scene, placed.row);
    }
    return exact;
  }

  get types(): number {
    return this.ofTypes.legend.size;
  }
  legend(): { type: string; colour: number }[] {
    return [...this.ofTypes.legend].map(([type, at]) => ({ type, colour: at + 1 }));
  }

  private begin() {
    this.count = 0;
    this.head.fill(-1);
  }

  private collect(
    items: LaneItems,
    scene: Scene,
    placed: Placed,
    top: number,
    piece: Piece,
    length: number,
    nsPerPixel: number,
    isFirst: boolean,
  ) {
    const { view, matching, lit, left } = scene;
    const from = Math.max(piece.from * length, view.from);
    const to = Math.min(piece.to * length, view.to);
    const level = placed.lane.level;
    const only = scene.type === null ? -1 : scene.store.texts.number(scene.type);
    for (let row = 0; row < placed.lane.rows; row++) {
      const y = top + row * placed.row;
      if (y + placed.row < scene.top || y > scene.height) continue;
      const last = items.rowBegin[row + 1] as number;
      for (let i = firstFrom(items, row, from); i < last; i++) {
        const start = items.start[i] as number;
        if (start >= to) break;
        const stop = start + (items.duration[i] as number);
        if (stop < from) continue;
        const many = (items.count[i] as number) > 1;
        const name = items.name[i] as number;
        const shown =
          only >= 0
            ? level === 3 && items.type[i] === only
            : matching !== null
              ? matching[name] === 1
              : lit === null || lit.has(items.span[i] as number);
        const shade = !shown ? DIM : many ? blockShade(items.busy[i] as number, stop - start) : 0;
        // A span that continues in the next tile ends on a whole pixel, so that there is no line between
        // them.
        const whereX = left + ((start > from ? start : from) - view.from) / nsPerPixel;
        const x = start >= from ? whereX : Math.floor(whereX);
        // A short span may reach beyond its tile; the next tile does not contain it.
        const cut = stop < to || stop - start < length / 16 ? stop : to;
        // A line of background separates neighbours.
        const whereEnd = left + (cut - view.from) / nsPerPixel;
        const end = cut === stop ? whereEnd : Math.ceil(whereEnd);
        const width = end - x - (cut === stop && end - x > 1.5 ? 0.5 : 0);
        const whole = (stop - Math.max(start, view.from)) / nsPerPixel;
        // The name is written once: by the tile in which the span begins, or by the first in view.
        const named = !many && whole >= LEAST_TEXT && (start >= from || isFirst);
        const style = this.colour(level, items.type[i] as number, name, scene) * SHADES + shade;
        this.push(x, y, width, style, named ? name : 0, whole);
      }
    }
  }

  private colour(level: number, type: number, name: number, scene: Scene): number {
    if (scene.byName) {
      return (this.ofNames[name] ??= colourOfName(scene.store.texts.all[name] ?? ''));
    }
    const key = type * 8 + level;
    let colour = this.colours.get(key);
    if (colour === undefined) {
      colour = this.ofTypes.of(level, scene.store.texts.all[type] ?? '');
      this.colours.set(key, colour);
    }
    return colour;
  }

  private push(x: number, y: number, w: number, style: number, label: number, whole: number) {
    if (this.count === this.size) this.grow();
    const at = this.count++;
    this.x[at] = x;
    this.y[at] = y;
    this.w[at] = w < 1 ? 1 : w;
    this.style[at] = style;
    this.label[at] = label;
    this.labelX[at] = x;
    this.labelW[at] = whole;
    this.next[at] = this.head[style] as number;
    this.head[style] = at;
  }

  private grow() {
    this.size *= 2;
    const wider = <T extends Float32Array | Int32Array | Int16Array>(old: T, made: T): T => {
      made.set(old as never);
      return made;
    };
    this.x = wider(this.x, new Float32Array(this.size));
    this.y = wider(this.y, new Float32Array(this.size));
    this.w = wider(this.w, new Float32Array(this.size));
    this.next = wider(this.next, new Int32Array(this.size));
    this.style = wider(this.style, new Int16Array(this.size));
    this.label = wider(this.label, new Int32Array(this.size));
    this.labelX = wider(this.labelX, new Float32Array(this.size));
    this.labelW = wider(this.labelW, new Float32Array(this.size));
  }

  private paint(context: CanvasRenderingContext2D, scene: Scene, row: number) {
    const { palette } = scene;
    for (let style = 0; style < this.head.length; style++) {
      let at = this.head[style] as number;
      if (at < 0) continue;
      context.fillStyle = palette.fill[style] as string;
      for (; at >= 0; at = this.next[at] as number) {
        context.fillRect(
          this.x[at] as number,
          (this.y[at] as number) + 0.5,
          this.w[at] as number,
          row - 1.5,
        );
      }
    }
    if (row < LEAST_ROW) return; // no text fits
    context.font = FONT;
    context.textBaseline = 'middle';
    let style = -1;
    for (let at = 0; at < this.count; at++) {
      const label = this.label[at] as number;
      if (label === 0) continue;
      const room = Math.min(this.labelW[at] as number, scene.width - (this.labelX[at] as number));
      const text = this.fit(context, label, room - 2 * PAD, scene);
      if (text === '') continue;
      if (this.style[at] !== style) {
        style = this.style[at] as number;
        context.fillStyle = palette.text[style] as string;
      }
      context.fillText(text, (this.labelX[at] as number) + PAD, (this.y[at] as number) + row / 2);
    }
  }

  // Returns as much of a name as fits.
  private fit(
    context: CanvasRenderingContext2D,
    label: number,
    room: number,
    scene: Scene,
  ): string {
    const text = scene.store.texts.short[label] as string;
    const width = (this.widths[label] ??= context.measureText(text).width);
    if (width <= room) return text;
    const fits = Math.floor((room / width) * text.length) - 1;
    if (fits < 2) return '';
    const key = label * 1024 + Math.min(fits, 1023);
    let cut = this.cuts.get(key);
    if (cut === undefined) {
      if (this.cuts.size > 20000) this.cuts.clear();
      cut = `${text.slice(0, fits)}…`;
      this.cuts.set(key, cut);
    }
    return cut;
  }

  // Returns the greatest value of a lane's points in the whole run, so that its scale does not jump.
  scaleOf(scene: Scene, placed: Placed): number {
    const points = scene.store.get(0, 0)?.series[placed.lane.lane];
    if (!points) return 1;
    let high = 0;
    for (let i = 0; i < points.high.length; i++) {
      if ((points.high[i] as number) > high) high = points.high[i] as number;
    }
    return high || 1;
  }

  private series(
    context: CanvasRenderingContext2D,
    scene: Scene,
    placed: Placed,
    top: number,
    pieces: number,
    length: number,
  ) {
    const { view, left, palette } = scene;
    const perNs = (scene.width - left) / (view.to - view.from);
    const bottom = top + placed.height - 1;
    const most = this.scaleOf(scene, placed);
    const scale = (placed.height - 6) / most;
    context.fillStyle = palette.fill[(placed.lane.level - 1) * SHADES + DIM] as string;
    context.strokeStyle = palette.fill[(placed.lane.level - 1) * SHADES] as string;
    context.lineWidth = 1.25;
    for (let p = 0; p < pieces; p++) {
      const piece = scene.store.piece(p);
      const points = piece.loaded.series[placed.lane.lane];
      if (!points) continue;
      const from = Math.max(piece.from * length, view.from);
      const to = Math.min(piece.to * length, view.to, scene.store.timeline.duration_ns);
      context.beginPath();
      let pen = false;
      for (let i = 0; i < points.time.length; i++) {
        const start = points.time[i] as number;
        const stop = i + 1 < points.time.length ? (points.time[i + 1] as number) : to;
        if (stop < from) continue;
        if (start >= to) break;
        const value = points.value[i] as number;
        if (Number.isNaN(value)) {
          pen = false;
          continue;
        }
        const x = Math.round(left + (Math.max(start, from) - view.from) * perNs);
        const end = Math.round(left + (Math.min(stop, to) - view.from) * perNs);
        const y = bottom - value * scale;
        const high = bottom - (points.high[i] as number) * scale;
        const low = bottom - (points.low[i] as number) * scale;
        context.fillRect(x, y, end - x, bottom - y);
        if (low - high > 1) context.fillRect(x, high, Math.max(end - x, 1), low - high);
        if (pen) context.lineTo(x, y);
        else context.moveTo(x, y);
        if (low - high > 1) {
          context.lineTo(x, high);
          context.lineTo(x, low);
          context.lineTo(x, y);
        }
        context.lineTo(end, y);
        pen = true;
      }
      context.stroke();
    }
    this.axis(context, scene, placed, bottom, scale, most);
  }

  // Draws the axis of a series: a line and a number at nice values, and the greatest value of the run.
  private axis(
    context: CanvasRenderingContext2D,
    scene: Scene,
    placed: Placed,
    bottom: number,
    scale: number,
    most: number,
  ) {
    const { palette, left, width } = scene;
    const { marks, unit, mostText } = this.axisOf(placed, most);
    context.font = FONT;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    context.lineWidth = 1;
    context.strokeStyle = palette.line;
    context.fillStyle = palette.muted;
    for (const { at, text } of marks) {
      const y = Math.round(bottom - at * scale) + 0.5;
      context.beginPath();
      context.moveTo(left, y);
      context.lineTo(width, y);
      context.stroke();
      if (at > 0) context.fillText(`${text} ${unit}`, width - 6, y + 6);
    }
    context.textAlign = 'left';
    context.fillText(mostText, left + 6, bottom - 9);
  }

  private readonly axes = new Map<number, SeriesAxis>(); // by lane
  private axisOf(placed: Placed, most: number): SeriesAxis {
    const { lane, unit } = placed.lane;
    let known = this.axes.get(lane);
    if (known?.most !== most || known.height !== placed.height) {
      known = seriesAxis(unit, most, placed.height);
      this.axes.set(lane, known);
    }
    return known;
  }
}

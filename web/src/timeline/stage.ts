// The stage: a canvas, the visible part of a run, and its movement. It draws only after a change.
import { readPalette, type Palette } from './colours';
import { LanePainter, type Scene } from './draw';
import { frames } from './frames';
import { layOut, laneAt, PLAIN, scrollTo, type Laid, type Look, type Placed } from './layout';
import {
  drawAbsent,
  drawGutter,
  drawIterations,
  drawMeasure,
  drawNotes,
  drawOverview,
  drawPath,
  drawRuler,
  drawSelection,
  drawWindow,
  timeAt,
  TOP,
  type Frame,
} from './overlay';
import type { Note } from './notes';
import type { Link } from './path';
import { TileStore, type Fetch } from './store';
import { firstFrom, tileLength, tileRange, zoomFor } from './tiles';
import type { Lane, SpanDetails, Timeline } from './types';
import { around, clamp, durationText, iterationAt, pan, reveal, zoomAt, type View } from './view';

// Describes the item under a point: a span, or a block of several.
export interface Item {
  lane: Lane;
  row: number;
  start: number;
  duration: number;
  busy: number;
  count: number;
  span: number;
  name: string;
  type: string;
}

export interface Hooks {
  viewed(view: View): void; // the view came to rest
  loaded(): void; // a tile arrived
  coloured(): void; // a type of layer was drawn for the first time
}

const REST_MS = 150;
const GLIDE_MS = 160;

export class Stage {
  readonly store: TileStore;
  private laid: Laid = { placed: [], height: 0, pinned: 0 };
  private look: Look = PLAIN;
  view: View;
  measuring: { from: number; to: number } | null = null;
  private readonly over: { notes: Note[]; path: Link[] } = { notes: [], path: [] };
  private scroll = 0;
  private palette: Palette;
  private readonly painter = new LanePainter();
  private readonly context: CanvasRenderingContext2D;
  private readonly gutter = document.createElement('canvas');
  private readonly overview = document.createElement('canvas');
  private gutterOf = '';
  private overviewOf = '';
  private frame: Frame;
  private scene: Scene;
  private selected: SpanDetails | null = null;
  private search = '';
  private searched = 0; // number of texts that `matching` covers
  private matching = new Uint8Array(1024);
  private request = 0;
  private rest = 0;
  private moved = false;
  private glide: { from: View; to: View; begin: number } | null = null;
  private readonly held = new Set<string>();
  private lastTick = 0;
  private readonly absent: (from: number, to: number) => void;
  private absentFrom = Infinity;
  private absentTo = -Infinity;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    readonly timeline: Timeline,
    fetchTile: Fetch,
    private readonly hooks: Hooks,
    view: View,
  ) {
    this.context = canvas.getContext('2d', { alpha: false }) as CanvasRenderingContext2D;
    this.lay(timeline.lanes);
    this.view = clamp(view, timeline.duration_ns);
    this.palette = readPalette(document.documentElement);
    this.store = new TileStore(timeline, fetchTile, () => {
      this.overviewOf = '';
      this.redraw();
      hooks.loaded();
    });
    this.frame = { view: this.view, left: 0, width: 1, height: 1, scroll: 0 };
    this.scene = {
      ...this.frame,
      store: this.store,
      placed: this.placed,
      palette: this.palette,
      top: TOP,
      matching: null,
      lit: null,
      type: null,
      byName: false,
    };
    this.absent = (from, to) => {
      this.absentFrom = Math.min(this.absentFrom, from);
      this.absentTo = Math.max(this.absentTo, to);
    };
    window.xspFrames = frames;
    this.store.begin();
    this.resize();
  }

  stop() {
    cancelAnimationFrame(this.request);
    window.clearTimeout(this.rest);
    this.store.stop();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.frame.left = clientWidth > 700 ? 172 : 92;
    this.frame.width = Math.max(clientWidth, this.frame.left + 10);
    this.frame.height = clientHeight;
    this.scrollBy(0);
    this.gutterOf = this.overviewOf = '';
    this.redraw();
  }

  private lay(lanes: Lane[]) {
    this.laid = layOut(lanes, this.look);
  }
  get placed(): Placed[] {
    return this.laid.placed;
  }
  get laneHeight(): number {
    return this.laid.height;
  }

  // Shows all lanes but those that the look hides, or only those of them that have something in view. Returns the
  // number of hidden lanes.
  showLanes(isAll: boolean, look: Look = this.look): number {
    const { from, to } = this.view;
    const isShown = (lane: Lane) => {
      if (look.hidden.has(lane.lane)) return false;
      if (isAll || lane.kind === 'series') return true;
      let has = false;
      this.each(lane, null, from, to, () => (has = true));
      return has;
    };
    const lanes = this.timeline.lanes.filter(isShown);
    const shown = new Set(this.placed.map((one) => one.lane));
    if (look !== this.look || lanes.length !== shown.size || lanes.some((one) => !shown.has(one))) {
      this.look = look;
      this.lay(lanes);
      this.scene.placed = this.placed;
      this.gutterOf = '';
      this.scrollBy(0);
    }
    return this.timeline.lanes.length - lanes.length;
  }

  recolour() {
    this.palette = readPalette(document.documentElement);
    this.gutterOf = this.overviewOf = '';
    this.redraw();
  }

  redraw() {
    if (this.request === 0) this.request = requestAnimationFrame((now) => this.tick(now));
  }

  // ---- Moving ------------------------------------------------------------------------------------------------

  show(view: View, glide = false) {
    const wanted = clamp(view, this.timeline.duration_ns);
    const still = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.glide = glide && !still ? { from: this.view, to: wanted, begin: performance.now() } : null;
    if (!this.glide) this.place(wanted);
    this.redraw();
  }
  zoom(factor: number, x?: number) {
    const at = x === undefined ? (this.view.from + this.view.to) / 2 : timeAt(this.frame, x);
    this.show(zoomAt(this.view, at, factor));
  }
  panBy(pixels: number) {
    const per = (this.view.to - this.view.from) / (this.frame.width - this.frame.left);
    this.show(pan(this.view, pixels * per));
  }
  scrollBy(pixels: number) {
    const most = Math.max(0, this.laneHeight - (this.frame.height - TOP));
    this.scroll = Math.min(Math.max(this.scroll + pixels, 0), most);
    this.redraw();
  }
  // Called when W, A, S or D is pressed or released.
  hold(key: string, isDown: boolean) {
    if (isDown) this.held.add(key);
    else this.held.delete(key);
    this.redraw();
  }
  release() {
    this.held.clear();
  }
  // Moves the view to a point of the overview.
  showAt(x: number) {
    const share = (x - this.frame.left) / (this.frame.width - this.frame.left);
    const middle = share * this.timeline.duration_ns;
    const half = (this.view.to - this.view.from) / 2;
    this.show({ from: middle - half, to: middle + half });
  }
  time(x: number): number {
    return timeAt(this.frame, x);
  }
  get left(): number {
    return this.frame.left;
  }

  private place(view: View) {
    this.view = view;
    this.moved = true;
    window.clearTimeout(this.rest);
    this.rest = window.setTimeout(() => this.hooks.viewed(this.view), REST_MS);
  }

  // ---- Selection -----------------------------------------------------------------------------------------------

  select(details: SpanDetails | null, show: 'fit' | 'reveal' | 'stay') {
    this.selected = details;
    this.scene.lit = details
      ? new Set([
          details.span,
          ...details.descendants,
          ...details.ancestors.map((one) => one.span),
          ...details.correlated.map((one) => one.span),
        ])
      : null;
    if (details && show !== 'stay') {
      const { start_ns, duration_ns } = details;
      this.show(
        show === 'fit' ? around(start_ns, duration_ns) : reveal(this.view, start_ns, duration_ns),
        true,
      );
      const placed = this.placed.find((one) => one.lane.lane === details.lane);
      const room = this.frame.height - TOP;
      if (placed) {
        const top = placed.top + details.row * placed.row;
        if (!placed.isPinned)
          this.scroll = scrollTo(this.scroll, top, placed.row, room, this.laid.pinned);
        this.scrollBy(0);
      }
    }
    this.redraw();
  }

  // Dims all layers but those of one type, or none.
  highlightType(type: string | null) {
    this.scene.type = type;
    this.redraw();
  }
  // Gives each span the colour of its name, or that of its type or level.
  colourByName(isOn: boolean) {
    this.scene.byName = isOn;
    this.redraw();
  }
  // Returns the types of layers that were drawn, with the numbers of their colours, from 1.
  legend(): { type: string; colour: number }[] {
    return this.painter.legend();
  }

  // Draws these over the lanes from now on.
  put(some: { notes?: Note[]; path?: Link[] }) {
    Object.assign(this.over, some);
    this.redraw();
  }

  highlight(text: string) {
    this.search = text.toLowerCase();
    this.searched = 0;
    this.redraw();
  }

  private matchTexts(): Uint8Array | null {
    if (this.search === '') return null;
    const { all } = this.store.texts;
    if (this.matching.length < all.length) {
      const wider = new Uint8Array(all.length * 2);
      wider.set(this.matching);
      this.matching = wider;
    }
    for (; this.searched < all.length; this.searched++) {
      const found = (all[this.searched] as string).toLowerCase().includes(this.search);
      this.matching[this.searched] = found ? 1 : 0;
    }
    return this.matching;
  }

  pick(x: number, y: number): Item | null {
    if (y < TOP || x < this.frame.left) return null;
    const under = laneAt(this.laid, y - TOP, this.scroll);
    if (!under || under.placed.lane.kind === 'series') return null;
    const per = (this.view.to - this.view.from) / (this.frame.width - this.frame.left);
    const time = timeAt(this.frame, x);
    return this.nearest(under.placed.lane, under.row, time, 2 * per);
  }

  // Returns the item of a row at a moment, or the nearest within reach; a span takes precedence over a block.
  nearest(lane: Lane, row: number, time: number, reach: number): Item | null {
    let best: Item | null = null;
    let least = Infinity;
    this.each(lane, row, time - reach, time + reach, (item) => {
      const away = Math.max(item.start - time, time - item.start - item.duration, 0);
      const score = away + (item.count > 1 ? reach / 4 : 0);
      if (away <= reach && score < least) [best, least] = [item, score];
    });
    return best;
  }

  // Visits every item of a row, or of all rows, that touches a stretch of time, in the detail of the view.
  each(lane: Lane, row: number | null, from: number, to: number, take: (item: Item) => void) {
    const { store } = this;
    const per = (this.view.to - this.view.from) / (this.frame.width - this.frame.left);
    const zoom = zoomFor(this.timeline, per);
    const length = tileLength(this.timeline, zoom);
    const [first, last] = tileRange(this.timeline, zoom, from, to);
    const count = store.cover(zoom, first, last);
    for (let p = 0; p < count; p++) {
      const piece = store.piece(p);
      const items = piece.loaded.lanes[lane.lane];
      if (!items) continue;
      const low = Math.max(piece.from * length, from);
      for (let at = row ?? 0; at < (row === null ? lane.rows : row + 1); at++) {
        const end = items.rowBegin[at + 1] as number;
        for (let i = firstFrom(items, at, low); i < end; i++) {
          const start = items.start[i] as number;
          const duration = items.duration[i] as number;
          if (start > Math.min(piece.to * length, to)) break;
          if (start + duration < low || (start < low && p > 0)) continue;
          take({
            lane,
            row: at,
            start,
            duration,
            busy: items.busy[i] as number,
            count: items.count[i] as number,
            span: items.span[i] as number,
            name: store.texts.all[items.name[i] as number] as string,
            type: store.texts.all[items.type[i] as number] as string,
          });
        }
      }
    }
  }

  // Returns the next span of a row, to the right (1) or to the left (-1).
  beside(lane: Lane, row: number, start: number, by: number): Item | null {
    let best: Item | null = null;
    const wide = (this.view.to - this.view.from) * 1.5;
    const [from, to] = by > 0 ? [start, start + wide] : [start - wide, start];
    this.each(lane, row, from, to, (item) => {
      if (by > 0 ? item.start <= start : item.start >= start) return;
      const nearer = best === null || (by > 0 ? item.start < best.start : item.start > best.start);
      if (nearer) best = item;
    });
    return best;
  }

  // ---- Drawing -------------------------------------------------------------------------------------------------

  private tick(now: number) {
    this.request = 0;
    const begin = performance.now();
    const moving = this.glide !== null || this.held.size > 0;
    this.move(now);
    this.draw();
    frames.add(now, performance.now() - begin, now - this.lastTick < 250);
    this.lastTick = now;
    if (moving || this.glide || this.held.size > 0) this.redraw();
  }

  private move(now: number) {
    if (this.glide) {
      const { from, to, begin } = this.glide;
      const part = Math.min((now - begin) / GLIDE_MS, 1);
      const eased = Math.max(part * (2 - part), 0);
      this.place({
        from: from.from + (to.from - from.from) * eased,
        to: from.to + (to.to - from.to) * eased,
      });
      if (part >= 1) this.glide = null;
    }
    const seconds = Math.min((now - this.lastTick) / 1000, 0.05);
    for (const key of this.held) {
      if (key === 'w') this.zoom(Math.exp(-2.5 * seconds));
      if (key === 's') this.zoom(Math.exp(2.5 * seconds));
      if (key === 'a') this.panBy(-900 * seconds);
      if (key === 'd') this.panBy(900 * seconds);
    }
  }

  // Draws a cached picture, which is redrawn only when its content changes.
  private cached(
    canvas: HTMLCanvasElement,
    draw: (context: CanvasRenderingContext2D) => void,
    height: number,
  ) {
    const ratio = this.canvas.width / this.frame.width;
    canvas.width = this.canvas.width;
    canvas.height = Math.max(1, Math.round(height * ratio));
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context);
  }

  private draw() {
    const { context, frame, scene, timeline, palette } = this;
    frame.view = scene.view = this.view;
    frame.scroll = scene.scroll = this.scroll;
    scene.left = frame.left;
    scene.width = frame.width;
    scene.height = frame.height;
    scene.palette = palette;
    scene.matching = this.matchTexts();
    const looks = `${frame.width} ${frame.height} ${this.scroll} ${palette.version}`;
    if (this.gutterOf !== looks) {
      this.gutterOf = looks;
      this.cached(this.gutter, (to) => drawGutter(to, frame, this.placed, palette), frame.height);
    }
    if (this.overviewOf === '') {
      this.overviewOf = 'drawn';
      this.cached(
        this.overview,
        (to) => drawOverview(to, frame, timeline, this.store, palette),
        TOP,
      );
    }
    const ratio = this.canvas.width / frame.width;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.gutter, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.save();
    context.beginPath();
    context.rect(frame.left, TOP, frame.width - frame.left, frame.height - TOP);
    context.clip();
    const first = iterationAt(timeline.iterations.start_ns, this.view.from);
    drawIterations(context, frame, timeline, first, palette);
    [this.absentFrom, this.absentTo] = [Infinity, -Infinity];
    const before = this.painter.types;
    context.save();
    context.beginPath();
    context.rect(0, TOP + this.laid.pinned, frame.width, frame.height);
    context.clip();
    this.painter.draw(context, scene, false, this.absent);
    context.restore();
    if (this.laid.pinned > 0) this.painter.draw(context, scene, true, this.absent);
    if (this.painter.types !== before) this.hooks.coloured();
    if (this.absentTo > this.absentFrom) {
      drawAbsent(context, frame, this.absentFrom, this.absentTo, palette);
    }
    if (this.selected) drawSelection(context, frame, this.placed, this.selected, palette);
    drawPath(context, frame, this.placed, this.over.path, palette);
    drawNotes(context, frame, this.over.notes, palette);
    if (this.measuring) {
      const { from, to } = this.measuring;
      drawMeasure(context, frame, from, to, durationText(to - from), palette);
    }
    context.restore();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.overview, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawRuler(context, frame, palette);
    drawWindow(context, frame, timeline, palette);
    this.ask();
  }

  private askAt = 0;
  // Tiles are also requested while the view moves, but not for each of its frames.
  private ask() {
    const per = (this.view.to - this.view.from) / (this.frame.width - this.frame.left);
    const now = performance.now();
    if (this.moved && now - this.askAt < 80) {
      window.setTimeout(() => this.redraw(), 90);
      return;
    }
    this.moved = false;
    this.askAt = now;
    const before = this.store.loading;
    this.store.request(zoomFor(this.timeline, per), this.view.from, this.view.to);
    // Nothing arrives for requests that turned out to be unnecessary.
    if (before > 0 && this.store.loading === 0) this.hooks.loaded();
  }
}

// The tiles of one run: those that have arrived, those that are requested, and those to draw meanwhile. No
// function waits.
import { ApiError } from '../data/source';
import { keyOf, loadTile, Texts, tileOf, tileRange, zoomOf, type Loaded } from './tiles';
import type { Tile, Timeline } from './types';

export type Fetch = (zoom: number, tile: number, signal: AbortSignal) => Promise<Tile>;

// Describes a tile that is drawn for a stretch of the view.
export interface Piece {
  key: number;
  loaded: Loaded;
  from: number; // the part to draw, in tiles of the requested zoom
  to: number;
  exact: boolean; // it has all detail of that zoom
  absent: boolean; // the finer tile is not in this report
}

const AT_ONCE = 6;

export class TileStore {
  readonly texts = new Texts();
  bytes = 0;
  error = '';
  private readonly tiles = new Map<number, Loaded>(); // the longest unused first
  private readonly absent = new Set<number>();
  private readonly running = new Map<number, AbortController>();
  private wanted: number[] = [];
  // Pieces are reused in every frame.
  private readonly pieces: Piece[] = [];

  constructor(
    readonly timeline: Timeline,
    private readonly fetchTile: Fetch,
    private readonly changed: () => void,
    private readonly limit = 96 << 20,
  ) {}

  // The coarsest tile is always kept, so that something can always be drawn.
  begin() {
    this.want([keyOf(0, 0)]);
  }

  get(zoom: number, tile: number): Loaded | undefined {
    return this.tiles.get(keyOf(zoom, tile));
  }
  get loading(): number {
    return this.running.size + this.wanted.length;
  }
  get count(): number {
    return this.tiles.size;
  }

  // Returns the number of pieces to draw from tile `first` to tile `last`: each stretch comes from the finest
  // tile that has arrived. The pieces are piece(0), piece(1), ... until the next call.
  cover(zoom: number, first: number, last: number): number {
    let count = 0;
    for (let tile = first; tile <= last; tile++) {
      let [z, t] = [zoom, tile];
      let loaded = this.tiles.get(keyOf(z, t));
      while (!loaded && z > 0) {
        z--;
        t = Math.floor(t / 2);
        loaded = this.tiles.get(keyOf(z, t));
      }
      if (!loaded) continue;
      const key = keyOf(z, t);
      const before = count > 0 ? this.pieces[count - 1] : undefined;
      const exact = z === zoom || loaded.complete;
      const absent = !exact && this.isAbsent(zoom, tile, z);
      if (before && before.key === key && before.absent === absent && before.to === tile) {
        before.to = tile + 1;
        continue;
      }
      const piece = (this.pieces[count] ??= {
        key: 0,
        loaded,
        from: 0,
        to: 0,
        exact: false,
        absent: false,
      });
      Object.assign(piece, { key, loaded, from: tile, to: tile + 1, exact, absent });
      count++;
    }
    return count;
  }
  piece(index: number): Piece {
    return this.pieces[index] as Piece;
  }

  // Returns whether the tile one finer than the drawn one is known to be absent from the report.
  private isAbsent(zoom: number, tile: number, drawn: number): boolean {
    return this.absent.has(keyOf(drawn + 1, Math.floor(tile / 2 ** (zoom - drawn - 1))));
  }

  // Requests the tiles that a view lacks, by urgency: the tiles in view from coarse to fine, then their
  // neighbours. Requests that are no longer needed are aborted.
  request(zoom: number, from: number, to: number) {
    const [first, last] = tileRange(this.timeline, zoom, from, to);
    const keys: number[] = [keyOf(0, 0)];
    for (let tile = first; tile <= last; tile++) this.need(zoom, tile, keys);
    for (const tile of [first - 1, last + 1]) {
      if (tile >= 0 && tile < 2 ** zoom) this.need(zoom, tile, keys);
    }
    this.want(keys);
  }

  // Adds the tile itself, unless a coarser one shows that it has no more detail. A report may lack it: then
  // adds the tiles above it, from the finest that has arrived downwards.
  private need(zoom: number, tile: number, keys: number[]) {
    let isAbsent = this.absent.has(keyOf(zoom, tile));
    for (let z = zoom - 1, t = tile; z >= 0; z--) {
      t = Math.floor(t / 2);
      if (this.tiles.get(keyOf(z, t))?.complete) return;
      isAbsent ||= this.absent.has(keyOf(z, t));
    }
    const wanted = isAbsent ? this.stepBelow(zoom, tile) : keyOf(zoom, tile);
    if (wanted !== undefined && !keys.includes(wanted)) keys.push(wanted);
  }

  // Returns the tile one finer than the finest that has arrived; nothing if it is known to be absent.
  private stepBelow(zoom: number, tile: number): number | undefined {
    for (let z = zoom; z >= 0; z--) {
      const t = Math.floor(tile / 2 ** (zoom - z));
      if (!this.tiles.has(keyOf(z, t))) continue;
      if (z === zoom) return undefined;
      const key = keyOf(z + 1, Math.floor(tile / 2 ** (zoom - z - 1)));
      return this.absent.has(key) ? undefined : key;
    }
    return undefined;
  }

  private want(keys: number[]) {
    this.wanted = keys.filter((key) => !this.tiles.has(key) && !this.absent.has(key));
    for (const key of keys) this.touch(key);
    for (const [key, control] of this.running) {
      if (this.wanted.includes(key)) continue;
      control.abort();
      this.running.delete(key);
    }
    this.wanted = this.wanted.filter((key) => !this.running.has(key));
    this.pump();
  }

  private pump() {
    while (this.running.size < AT_ONCE && this.wanted.length > 0) {
      const key = this.wanted.shift() as number;
      const control = new AbortController();
      this.running.set(key, control);
      void this.load(key, control);
    }
  }

  private async load(key: number, control: AbortController) {
    try {
      const tile = await this.fetchTile(zoomOf(key), tileOf(key), control.signal);
      if (this.running.get(key) !== control) return;
      const loaded = loadTile(tile, this.timeline, this.texts);
      this.tiles.set(key, loaded);
      this.bytes += loaded.bytes;
      this.error = '';
      this.evict();
    } catch (error) {
      if (control.signal.aborted) return;
      if (error instanceof ApiError && error.status === 404) this.absent.add(key);
      else this.error = (error as Error).message;
    }
    if (this.running.get(key) === control) this.running.delete(key);
    this.pump();
    this.changed();
  }

  private touch(key: number) {
    const loaded = this.tiles.get(key);
    if (!loaded) return;
    this.tiles.delete(key);
    this.tiles.set(key, loaded);
  }

  private evict() {
    for (const [key, loaded] of this.tiles) {
      if (this.bytes <= this.limit) return;
      if (key === keyOf(0, 0)) continue;
      this.tiles.delete(key);
      this.bytes -= loaded.bytes;
    }
  }

  stop() {
    this.want([]);
  }
}

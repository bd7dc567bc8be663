// Where the nodes of a graph stand: layered from top to bottom, by dagre.
//
// dagre takes seconds for a thousand nodes at once, and recurses as deep as a graph is long. Networks are long, and
// at many of their layers everything passes through one node. There the graph is cut, each piece is laid out alone,
// and the pieces are joined at these nodes. Edges that pass over more than LONG nodes would keep it from being cut
// (U-Net has such edges): they are drawn beside the pieces and move no node.
import { graphlib, layout } from '@dagrejs/dagre';

export interface Point {
  x: number;
  y: number;
}

export interface Laid {
  places: Point[]; // the middles of the nodes
  paths: Point[][]; // of the edges, in their order; long ones have two points
  width: number;
  height: number;
}

export const NODE = { width: 168, height: 42 };

const LONG = 40;
const PIECE = 40; // nodes from which a piece ends at the next cut
const MARGIN = 24;

type Edge = readonly [from: number, to: number];
const lengthOf = ([from, to]: Edge) => Math.abs(to - from);

// Returns the pieces as their first and last nodes; neighbours share a node.
export function piecesOf(count: number, edges: readonly Edge[]): [first: number, last: number][] {
  const reach = Array.from({ length: count }, () => -1); // the farthest node to which those up to here lead
  for (const [from, to] of edges) {
    const [low, high] = from < to ? [from, to] : [to, from];
    if (high - low <= LONG) reach[low] = Math.max(reach[low] as number, high);
  }
  const pieces: [number, number][] = [];
  let [first, farthest] = [0, 0];
  for (let at = 1; at < count; ++at) {
    farthest = Math.max(farthest, reach[at - 1] as number);
    const isCut = farthest <= at && at - first >= PIECE;
    if (isCut) pieces.push([first, at]);
    if (isCut) first = at;
  }
  if (first < count - 1 || pieces.length === 0) pieces.push([first, Math.max(first, count - 1)]);
  return pieces;
}

function laidPiece(first: number, last: number, edges: readonly (readonly [Edge, number])[]) {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 26, edgesep: 10 });
  for (let at = first; at <= last; ++at) graph.setNode(String(at), { ...NODE });
  const isTarget = new Set<number>();
  const isSource = new Set<number>();
  for (const [[from, to]] of edges) {
    graph.setEdge(String(from), String(to), {});
    isTarget.add(to);
    isSource.add(from);
  }
  // The node at each end stays outermost: the neighbouring pieces are joined to it.
  for (let at = first; at <= last; ++at) {
    if (at !== first && !isTarget.has(at)) graph.setEdge(String(first), String(at), { weight: 0 });
    if (at !== last && !isSource.has(at)) graph.setEdge(String(at), String(last), { weight: 0 });
  }
  layout(graph);
  const place = (at: number): Point => {
    const { x, y } = graph.node(String(at)) as Point;
    return { x, y };
  };
  return {
    place,
    path: ([from, to]: Edge): Point[] =>
      (graph.edge(String(from), String(to)) as { points: Point[] }).points,
  };
}

// Lets others have the processor between the pieces. Returns null once it is not wanted any more.
export async function layoutOf(
  count: number,
  edges: readonly Edge[],
  isWanted: () => boolean,
): Promise<Laid | null> {
  const places: Point[] = Array.from({ length: count }, () => ({ x: 0, y: 0 }));
  const paths: Point[][] = edges.map(() => []);
  if (count === 0) return { places, paths, width: 0, height: 0 };
  const short = edges.flatMap((edge, at) => (lengthOf(edge) <= LONG ? [[edge, at] as const] : []));
  short.sort(([a], [b]) => Math.min(...a) - Math.min(...b));
  let next = 0;
  let begun = performance.now();
  for (const [first, last] of piecesOf(count, edges)) {
    if (performance.now() - begun > 30) {
      await new Promise((done) => setTimeout(done));
      if (!isWanted()) return null;
      begun = performance.now();
    }
    const own: (typeof short)[number][] = [];
    for (let one = short[next]; one && Math.max(...one[0]) <= last; one = short[++next])
      own.push(one);
    // An edge back may begin in the piece and lead into it again; each belongs to one piece.
    const piece = laidPiece(first, last, own);
    const anchor = first === 0 ? piece.place(0) : (places[first] as Point);
    const from = piece.place(first);
    const moved = ({ x, y }: Point) => ({ x: x - from.x + anchor.x, y: y - from.y + anchor.y });
    for (let at = first; at <= last; ++at) places[at] = moved(piece.place(at));
    for (const [edge, at] of own) paths[at] = piece.path(edge).map(moved);
  }
  return framed(places, paths, edges);
}

function framed(places: Point[], paths: Point[][], edges: readonly Edge[]): Laid {
  const xs = [...places, ...paths.flat()].map((one) => one.x);
  const ys = places.map((one) => one.y);
  const least = (all: number[]) => all.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (all: number[]) => all.reduce((a, b) => Math.max(a, b), -Infinity);
  const hasLong = paths.some((one) => one.length === 0);
  const left = least(xs) - NODE.width / 2 - MARGIN;
  const top = least(ys) - NODE.height / 2 - MARGIN;
  const move = ({ x, y }: Point) => ({ x: x - left, y: y - top });
  const moved = places.map(move);
  return {
    places: moved,
    paths: paths.map((path, at) => {
      if (path.length > 0) return path.map(move);
      const [from, to] = edges[at] as Edge;
      return [moved[from] as Point, moved[to] as Point];
    }),
    width: most(xs) - left + NODE.width / 2 + MARGIN + (hasLong ? NODE.width / 2 : 0),
    height: most(ys) - top + NODE.height / 2 + MARGIN,
  };
}

// Returns the path of an edge as SVG writes it: rounded at its corners. A long one has two points, and swings out to
// the right of everything.
export function drawnPath(points: readonly Point[], right: number): string {
  const [first, last] = [points[0] as Point, points.at(-1) as Point];
  if (points.length === 2 && Math.abs(last.y - first.y) > 4 * NODE.height) {
    const x = first.x + NODE.width / 2;
    return `M${x} ${first.y}C${right} ${first.y} ${right} ${last.y} ${last.x + NODE.width / 2} ${last.y}`;
  }
  let path = `M${first.x} ${first.y}`;
  for (let at = 1; at < points.length - 1; ++at) {
    const [here, next] = [points[at] as Point, points[at + 1] as Point];
    const end =
      at === points.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    path += `Q${here.x} ${here.y} ${end.x} ${end.y}`;
  }
  return points.length > 2 ? path : `${path}L${last.x} ${last.y}`;
}

// Returns how far from its frame's left side each label begins, in pixels at this zoom. The label of a module that
// begins where the one around it does stands beside that one's.
export function labelPlaces(
  frames: readonly { x: number; y: number; label: string }[],
  zoom: number,
): number[] {
  const [first, gap, high] = [8, 4, 18];
  const taken: { y: number; from: number; to: number }[] = [];
  return frames.map(({ x, y, label }) => {
    const width = 12 + 7 * label.length;
    let from = x * zoom + first;
    for (const other of taken) {
      const isBeside = Math.abs(other.y - y * zoom) < high;
      if (isBeside && from < other.to + gap && from + width > other.from) from = other.to + gap;
    }
    taken.push({ y: y * zoom, from, to: from + width });
    return from - x * zoom;
  });
}

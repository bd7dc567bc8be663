import { expect, test } from 'vitest';
import { labelPlaces, layoutOf, NODE, piecesOf } from './layout';
import { firstOpen, graphOf, layersOf, modulesOf, type Layer } from './modules';

const layer = (index: number, name: string, inputs: number[] = [], holds = false): Layer => ({
  index,
  name,
  label: name,
  type: '',
  share: 1,
  precision: '',
  inputs,
  holds,
});
// stem -> [a/conv -> a/relu] -> [b/conv -> b/relu] -> head, with a skip over b.
const net = [
  layer(0, 'stem'),
  layer(1, 'a/conv', [0]),
  layer(2, 'a/relu', [1]),
  layer(3, 'b/conv', [2]),
  layer(4, 'b/relu', [3]),
  layer(5, 'head', [2, 4]),
];

test('rows become layers with the positions of their inputs', () => {
  const columns = ['index', 'name', 'inputs', 'share_ns', 'holds_layers'].map((name) => ({ name }));
  const [one, two] = layersOf(columns, [
    [0, 'stem', null, 5, false],
    [1, 'a', '0 3', null, true],
  ]);
  expect(one?.inputs).toEqual([]);
  expect(two).toMatchObject({ inputs: [0, 3], share: 0, holds: true });
});

test('closed modules are one node, and their edges are the edges of what is in them', () => {
  const root = modulesOf(net);
  const closed = graphOf(root, new Set());
  expect(closed.nodes.map((one) => [one.label, one.share])).toEqual([
    ['stem', 1],
    ['a', 2],
    ['b', 2],
    ['head', 1],
  ]);
  expect(closed.edges).toEqual([
    [0, 1],
    [1, 2],
    [1, 3],
    [2, 3],
  ]);
  const open = graphOf(root, new Set(['b']));
  expect(open.nodes.map((one) => one.label)).toEqual(['stem', 'a', 'conv', 'relu', 'head']);
  expect(open.frames.map((one) => [one.module.path, one.nodes])).toEqual([['b', [2, 3]]]);
});

test('a layer is called by its name within its module, without the layers fused into it', () => {
  const fused = { ...layer(1, 'b/conv_nchwc'), label: 'b/conv +b/relu' };
  const root = modulesOf([layer(0, 'conv1/_convolution'), fused, layer(2, 'b/pool')]);
  const { nodes } = graphOf(root, new Set(['b']));
  expect(nodes.map((one) => one.label)).toEqual(['conv1/_convolution', 'conv', 'pool']);
});

test('whichever modules are open, the shares add up', () => {
  const root = modulesOf([...net, layer(6, 'b', [], true)]);
  for (const open of [[], ['a'], ['a', 'b']]) {
    const { nodes } = graphOf(root, new Set(open));
    const own = open.includes('b') ? 1 : 0; // what a layer that holds others takes itself has no node
    expect(nodes.reduce((sum, one) => sum + one.share, 0)).toBe(7 - own);
  }
});

test('levels are open at first as long as there is room', () => {
  const root = modulesOf(net);
  expect([...firstOpen(root, 6)].sort()).toEqual(['a', 'b']);
  expect([...firstOpen(root, 5)]).toEqual([]);
  const deep = modulesOf([layer(0, 'x/y/conv'), layer(1, 'x/y/relu')]);
  expect(deep.modules.map((one) => [one.path, one.own])).toEqual([['x/y', 'x/y']]);
});

// Blocks of ten with a skip over each, and one edge over everything.
const long = (count: number): [number, number][] => [
  ...Array.from({ length: count - 1 }, (_, at): [number, number] => [at, at + 1]),
  ...Array.from({ length: Math.floor((count - 1) / 10) }, (_, at): [number, number] => [
    10 * at,
    10 * at + 10,
  ]),
  [1, count - 2],
];

test('pieces meet where everything passes through one node', () => {
  const pieces = piecesOf(200, long(200));
  expect(pieces[0]?.[0]).toBe(0);
  expect(pieces.at(-1)?.[1]).toBe(199);
  pieces.slice(1).forEach(([first], at) => expect(first).toBe(pieces[at]?.[1]));
  for (const [first] of pieces.slice(1)) expect(first % 10).toBeLessThanOrEqual(0);
  expect(pieces.length).toBeGreaterThan(3);
  expect(piecesOf(1, [])).toEqual([[0, 0]]);
});

test('two thousand nodes: every edge leads down, and no two nodes lie on each other', async () => {
  const count = 2000;
  const edges = long(count);
  const laid = await layoutOf(count, edges, () => true);
  if (!laid) throw new Error('no layout');
  for (const [from, to] of edges)
    expect(laid.places[to]?.y).toBeGreaterThan(laid.places[from]?.y ?? Infinity);
  const sorted = [...laid.places].sort((a, b) => a.y - b.y);
  sorted.forEach((one, at) => {
    for (let k = at + 1; k < count && (sorted[k]?.y ?? 0) - one.y < NODE.height; ++k)
      expect(Math.abs((sorted[k]?.x ?? 0) - one.x)).toBeGreaterThanOrEqual(NODE.width);
    expect(one.x).toBeGreaterThan(NODE.width / 2);
    expect(one.x + NODE.width / 2).toBeLessThan(laid.width);
  });
  expect(await layoutOf(count, edges, () => false)).toBeNull();
}, 60_000);

test('a graph without nodes has a layout', async () => {
  expect(await layoutOf(0, [], () => true)).toMatchObject({ places: [] });
});

test('labels of frames that begin at the same place stand beside each other', () => {
  const frames = [
    { x: 10, y: 10, label: 'layer1' },
    { x: 13, y: 13, label: '0' },
    { x: 16, y: 16, label: 'attention' },
    { x: 13, y: 200, label: '1' },
  ];
  const places = labelPlaces(frames, 1);
  const ends = frames.map(({ x, label }, at) => [
    x + (places[at] ?? 0),
    x + (places[at] ?? 0) + 7 * label.length,
  ]);
  expect(ends[1]?.[0]).toBeGreaterThan(ends[0]?.[1] ?? Infinity);
  expect(ends[2]?.[0]).toBeGreaterThan(ends[1]?.[1] ?? Infinity);
  expect(places[3]).toBe(8);
});

// The layers of a model as a tree of modules, by the parts of their names between slashes, and as a graph in which
// closed modules are one node each.
import type { Cell } from '../../data/types';

export interface Layer {
  index: number; // position in the order of execution
  name: string;
  label: string;
  type: string;
  share: number; // ns
  precision: string;
  inputs: number[]; // indices of other layers
  holds: boolean; // it holds other layers, and is no node
}

export interface Module {
  path: string; // '' is the root
  own: string; // the part of the path behind that of the module around it
  layers: Layer[]; // everything in it
  modules: Module[];
  leaves: Layer[]; // those that are in no module inside
}

// Returns the layers of a row of layer_graph each.
export function layersOf(columns: { name: string }[], rows: Cell[][]): Layer[] {
  const at = (name: string) => columns.findIndex((one) => one.name === name);
  const [index, name, label, type, share, precision, inputs, holds] = [
    'index',
    'name',
    'label',
    'type',
    'share_ns',
    'precision',
    'inputs',
    'holds_layers',
  ].map(at) as [number, number, number, number, number, number, number, number];
  return rows.map((row) => ({
    index: Number(row[index]),
    name: String(row[name] ?? ''),
    label: String(row[label] ?? row[name] ?? ''),
    type: String(row[type] ?? ''),
    share: Number(row[share] ?? 0),
    precision: String(row[precision] ?? ''),
    inputs: String(row[inputs] ?? '')
      .split(' ')
      .filter((one) => one !== '')
      .map(Number),
    holds: row[holds] === true,
  }));
}

const partsOf = (name: string) => name.split('/').filter((one) => one !== '');

// Returns the root. A module with one module and nothing else in it is one with it.
export function modulesOf(layers: Layer[]): Module {
  const paths = layers.map((one) => partsOf(one.name));
  const build = (path: string[], own: string, members: number[]): Module => {
    const leaves: Layer[] = [];
    const inner = new Map<string, number[]>();
    for (const at of members) {
      const rest = (paths[at] as string[]).slice(path.length);
      const layer = layers[at] as Layer;
      if (rest.length === 0) leaves.push(layer);
      else inner.set(rest[0] as string, [...(inner.get(rest[0] as string) ?? []), at]);
    }
    const modules: Module[] = [];
    for (const [name, inside] of inner) {
      const only = layers[inside[0] as number] as Layer;
      if (inside.length === 1 && !only.holds) leaves.push(only);
      else modules.push(build([...path, name], name, inside));
    }
    const single = modules[0];
    if (path.length > 0 && leaves.length === 0 && modules.length === 1 && single)
      return { ...single, own: `${own}/${single.own}` };
    return {
      path: path.join('/'),
      own,
      layers: members.map((at) => layers[at] as Layer),
      modules,
      leaves,
    };
  };
  return build(
    [],
    '',
    layers.map((_, at) => at),
  );
}

// Returns a layer's name within its module: in the model's own names if it has one, without the layers fused into it.
function labelIn(module: Module, layer: Layer): string {
  const [own = layer.name] = layer.label.split(' ');
  const parts = partsOf(own);
  const around = module.path === '' ? [] : partsOf(module.path);
  const isInside = parts.length > around.length && around.every((part, at) => part === parts[at]);
  return isInside ? parts.slice(around.length).join('/') : (parts.at(-1) ?? layer.name);
}

const nodesIn = (module: Module) => module.leaves.filter((one) => !one.holds).length;

// Returns the modules that are open at first: whole levels of the tree, from the outermost inwards, as long as the
// graph has no more than `most` nodes.
export function firstOpen(root: Module, most: number): Set<string> {
  const open = new Set<string>();
  let level = root.modules;
  let count = nodesIn(root) + level.length;
  while (level.length > 0) {
    const next = level.flatMap((one) => one.modules);
    count += level.reduce((sum, one) => sum + nodesIn(one) + one.modules.length - 1, 0);
    if (count > most) break;
    for (const one of level) open.add(one.path);
    level = next;
  }
  return open;
}

export function allModules(root: Module): Module[] {
  return root.modules.flatMap((one) => [one, ...allModules(one)]);
}

export interface GraphNode {
  key: string; // of a module its path, of a layer its index
  label: string;
  module: Module | null; // null: a layer
  layers: Layer[];
  share: number;
}

export interface Graph {
  nodes: GraphNode[]; // in the order of execution
  edges: [from: number, to: number][]; // positions in `nodes`
  frames: { module: Module; nodes: number[] }[]; // open modules, the outermost first
}

// Returns the graph in which the modules of `open` show what is in them.
export function graphOf(root: Module, open: ReadonlySet<string>): Graph {
  const found: (GraphNode & { first: number })[] = [];
  const frames: { module: Module; keys: Set<string> }[] = [];
  const walk = (module: Module, around: Set<string>[]) => {
    const add = (node: GraphNode) => {
      found.push({ ...node, first: node.layers[0]?.index ?? 0 });
      for (const keys of around) keys.add(node.key);
    };
    for (const layer of module.leaves) {
      if (layer.holds) continue;
      const label = labelIn(module, layer);
      add({ key: String(layer.index), label, module: null, layers: [layer], share: layer.share });
    }
    for (const one of module.modules) {
      if (open.has(one.path)) {
        const keys = new Set<string>();
        frames.push({ module: one, keys });
        walk(one, [...around, keys]);
      } else {
        const share = one.layers.reduce((sum, layer) => sum + layer.share, 0);
        add({ key: one.path, label: one.own, module: one, layers: one.layers, share });
      }
    }
  };
  walk(root, []);
  found.sort((a, b) => a.first - b.first);
  const place = new Map(found.map((one, at) => [one.key, at]));
  const owner = new Map<number, number>(); // of a layer's index, the position of its node
  found.forEach((one, at) => one.layers.forEach((layer) => owner.set(layer.index, at)));
  // A layer that holds others gives the result of the last layer in it.
  const holders = root.layers.filter((one) => one.holds && !owner.has(one.index));
  for (const one of holders) {
    const inside = root.layers.filter((layer) => layer.name.startsWith(`${one.name}/`)).at(-1);
    const at = inside && owner.get(inside.index);
    if (at !== undefined) owner.set(one.index, at);
  }
  const edges = new Map<string, [number, number]>();
  for (const [to, node] of found.entries()) {
    for (const layer of node.layers) {
      for (const input of layer.inputs) {
        const from = owner.get(input);
        if (from !== undefined && from !== to) edges.set(`${from} ${to}`, [from, to]);
      }
    }
  }
  return {
    nodes: found.map(({ first: _, ...node }) => node),
    edges: [...edges.values()],
    frames: frames
      .map(({ module, keys }) => ({
        module,
        nodes: [...keys].flatMap((key) => place.get(key) ?? []),
      }))
      .filter(({ nodes }) => nodes.length > 0),
  };
}

// The keys of the timeline.

export type Action =
  | { kind: 'hold'; key: string }
  | { kind: 'span' | 'level' | 'iteration' | 'match'; by: 1 | -1 }
  | { kind: 'search' | 'fit' | 'names' | 'whole' | 'home' | 'help' | 'escape' };

export const KEYS: [string, string][] = [
  ['W S', 'zoom in and out'],
  ['A D', 'pan'],
  ['← →', 'previous, next span of the lane; pans if none is selected'],
  ['↑ ↓', 'its parent, its first child'],
  ['[ ]', 'previous, next iteration or step'],
  ['m', 'the median iteration or step'],
  ['f', 'fit the selection'],
  ['t', 'the time of each name in view'],
  ['0', 'the whole run'],
  ['/', 'search; Enter and n: next, Shift+Enter and N: previous'],
  ['Esc', 'let go of what is measured, selected, searched'],
  ['wheel', 'zoom at the pointer; with Shift pan; with Alt scroll the lanes'],
  ['drag', 'pan; in the strip above: go there'],
  ['Shift+drag', 'measure between two points: the time of each name'],
  ['click', 'select a span, or zoom into a block; twice: fit it'],
];

interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  target: EventTarget | null;
}

const isTyping = (target: EventTarget | null): boolean => {
  const tag = (target as { tagName?: string } | null)?.tagName;
  return tag === 'INPUT' || tag === 'SELECT' || tag === 'TEXTAREA';
};

const ACTIONS: Record<string, Action> = {
  w: { kind: 'hold', key: 'w' },
  a: { kind: 'hold', key: 'a' },
  s: { kind: 'hold', key: 's' },
  d: { kind: 'hold', key: 'd' },
  ArrowLeft: { kind: 'span', by: -1 },
  ArrowRight: { kind: 'span', by: 1 },
  ArrowUp: { kind: 'level', by: -1 },
  ArrowDown: { kind: 'level', by: 1 },
  '[': { kind: 'iteration', by: -1 },
  ']': { kind: 'iteration', by: 1 },
  n: { kind: 'match', by: 1 },
  N: { kind: 'match', by: -1 },
  m: { kind: 'home' },
  f: { kind: 'fit' },
  t: { kind: 'names' },
  '0': { kind: 'whole' },
  '/': { kind: 'search' },
  '?': { kind: 'help' },
  Escape: { kind: 'escape' },
};

// Returns the action of a key; none while the user types, or for the browser's own shortcuts.
export function keyAction(press: Press): Action | undefined {
  if (press.ctrlKey || press.metaKey || press.altKey || isTyping(press.target)) return undefined;
  const lower = press.key.toLowerCase();
  return ACTIONS[press.key] ?? ('wasd'.includes(lower) ? ACTIONS[lower] : undefined);
}

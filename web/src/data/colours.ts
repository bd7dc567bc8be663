// The colours of categories, such as types of layers: each follows from its name, so that it is the same in
// every view and after every reload. Two names of one view that want the same colour are told apart: one of
// them takes the next free colour, and keeps it as long as the page is open.

export const COLOURS = 7; // --c1 to --c7; --c8 is for the others

// The bounds of kernels and layers have the colours of a roofline's regions. Causes of a step that often
// occur together have different colours.
const FIXED = new Map<string, number>([
  ['memory', 0],
  ['other kernels', 0],
  ['unknown', COLOURS],
  ['compute', 1],
  ['l2', 2],
  ['data', 2],
  ['host code', 3],
  ['framework', 5],
  ['launch', 6],
  ['synchronisation', 4],
  ['copy', 4],
]);

// Words in the names of operators, by the colour of their kind. The first that occurs decides.
const KINDS: [RegExp, number][] = [
  [
    /reshape|transpose|permute|flatten|squeeze|concat|^cat|copy|slice|split|identity|^view|cast/,
    COLOURS,
  ],
  [/conv/, 0],
  [/norm|^bn|lrn/, 1],
  [/soft_?max|attention|sdpa|embed|gather|lstm|gru/, 4],
  [/relu|elu|sigmoid|tanh|silu|swish|clip|activation/, 2],
  [/gemm|linear|matmul|addmm|^b?mm$|dense|inner_?product|fully_?connected/, 6],
  [/average|avg|mean|reduce/, 4],
  [/pool/, 5],
  [/add|mul|sub|div|sum|elementwise|eltwise|binary/, 3],
];

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

// Returns a colour that follows from the whole name alone, from 0.
export const hashedColour = (name: string): number => hashOf(name) % COLOURS;

// Returns the colour that a name wants, from 0: "aten::_convolution" and "Conv" want the same. COLOURS stands for
// the others, among which is what only moves data.
export function wantedColour(name: string): number {
  const fixed = FIXED.get(name);
  if (fixed !== undefined) return fixed;
  const word = (name.split('::').at(-1) as string).toLowerCase().replace(/^_+|_+$/g, '');
  return KINDS.find(([kind]) => kind.test(word))?.[1] ?? hashedColour(word);
}

const kept = new Map<string, number>(); // colours of names that had to give way

// Returns a name's colour, given the number of times that each colour is in use already in this view.
export function colourBeside(name: string, used: readonly number[]): number {
  const least = Math.min(...used);
  const wanted = kept.get(name) ?? wantedColour(name);
  if (wanted >= used.length) return wanted;
  let colour = wanted;
  while ((used[colour] as number) > least) colour = (colour + 1) % used.length;
  if (colour !== wanted && !kept.has(name)) kept.set(name, colour);
  return colour;
}

// What the bars of the overview are divided into: parts of a whole, the largest first, the rest by name.
export interface Part {
  name: string;
  value: number;
  detail?: string;
}

export interface Segment extends Part {
  share: number; // of the whole, 0 to 1
  kind: 'part' | 'others' | 'rest';
}

// At most `most` parts are shown on their own; smaller ones are put together. What they leave of the whole is
// called `rest`. Where they exceed it (kernels that overlap, layers that run slower when recorded) the bar is as
// long as they are.
export function segmentsOf(whole: number, parts: Part[], rest: string, most = 7): Segment[] {
  const sorted = parts.filter((part) => part.value > 0).sort((a, b) => b.value - a.value);
  const shown = sorted.length > most ? sorted.slice(0, most - 1) : sorted;
  const others = sorted.slice(shown.length);
  const sum = sorted.reduce((total, part) => total + part.value, 0);
  const length = Math.max(whole, sum);
  if (!(length > 0)) return [];
  const segment = (part: Part, kind: Segment['kind']): Segment => ({
    ...part,
    share: part.value / length,
    kind,
  });
  const segments = shown.map((part) => segment(part, 'part'));
  if (others.length > 0) {
    const value = others.reduce((total, part) => total + part.value, 0);
    segments.push(segment({ name: `${others.length} others`, value }, 'others'));
  }
  if (whole - sum > whole * 1e-4)
    segments.push(segment({ name: rest, value: whole - sum }, 'rest'));
  return segments;
}

// Parts of the same name together.
export function summed(parts: Part[]): Part[] {
  const sums = new Map<string, { value: number; count: number }>();
  for (const { name, value } of parts) {
    const known = sums.get(name) ?? { value: 0, count: 0 };
    sums.set(name, { value: known.value + value, count: known.count + 1 });
  }
  return [...sums].map(([name, { value, count }]) => ({
    name,
    value,
    ...(count > 1 ? { detail: `${count} of them` } : {}),
  }));
}

// Computes which rows of a long table are drawn: those in view and some around them.
export interface Window {
  first: number;
  end: number;
  before: number; // pixels above the first
  after: number; // pixels below the last
}

export function windowOf(
  rows: number,
  rowHeight: number,
  scrollTop: number,
  viewHeight: number,
  around = 12,
): Window {
  const first = Math.max(0, Math.min(rows, Math.floor(scrollTop / rowHeight) - around));
  const count = Math.ceil(viewHeight / rowHeight) + 2 * around;
  const end = Math.min(rows, first + count);
  return { first, end, before: first * rowHeight, after: (rows - end) * rowHeight };
}

// Returns the row that a key moves to, which may be one before the first or behind the last, or
// nothing if the key moves none.
export function rowAfterKey(
  key: string,
  active: number,
  page: number,
  count: number,
): number | undefined {
  const steps: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  };
  return steps[key];
}

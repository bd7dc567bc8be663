// Shares of a whole as they are written, which add up to what is written of the whole.
//
// Rounding each share by itself gives bars of 99 or 101 per cent. The rule is that of the largest remainder, as
// `xsp profile` and `xsp run` have it (src/desk/cli/shares.h): each share is rounded down, and those that
// lost most get what is missing, one last digit each. The largest share is rounded by itself, because sentences tell
// it, too.

const UNITS = 10; // in one per cent: shares are written with one decimal

// Returns whole numbers in the proportion of `parts` that add up to `total`. `unrounded` is what was rounded to
// `total`: each part is that of it, so that the largest is not rounded twice.
export function apportioned(parts: number[], total: number, unrounded = total): number[] {
  const sum = parts.reduce((all, one) => all + one, 0);
  if (!(sum > 0)) return parts.map(() => 0);
  const whole = Math.abs(unrounded - total) > 0.5 ? total : unrounded;
  const exact = parts.map((one) => (whole * one) / sum);
  const units = exact.map(Math.floor);
  const lost = exact.map((one, at) => ({ at, by: one - Math.floor(one) }));
  const most = Math.max(...parts);
  const largest = parts.indexOf(most);
  const alone = largest === parts.lastIndexOf(most) ? lost[largest] : undefined;
  if (alone) alone.by = alone.by < 0.5 ? -1 : 1;
  lost.sort((a, b) => b.by - a.by || a.at - b.at);
  const left = total - units.reduce((all, one) => all + one, 0);
  for (const { at } of lost.slice(0, left)) units[at] = (units[at] as number) + 1;
  return units;
}

// Returns the shares of `whole` in per cent, with one decimal. `said` is what is written of their sum elsewhere: they
// add up to it, unless their sum is another.
export function sharesOf(parts: number[], whole: number, said?: number): number[] {
  if (!(whole > 0)) return parts.map(() => 0);
  const own = (100 * parts.reduce((sum, one) => sum + one, 0)) / whole;
  const isSame = said !== undefined && Math.abs(own - said) < 1.5 / UNITS;
  const units = Math.round(UNITS * (isSame ? said : own));
  return apportioned(parts, units, UNITS * own).map((one) => one / UNITS);
}

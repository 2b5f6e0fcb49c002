/** Which direction of a figure is better. */
export type Better = 'less' | 'more';

/**
 * The places of the points that no other point beats: none is at least as good in both figures and better in one.
 * In order of x. Points that are not finite are left out.
 */
export function paretoFront(x: Float64Array, y: Float64Array, betterX: Better, betterY: Better): number[] {
  const sign = (better: Better) => (better === 'less' ? 1 : -1);
  const [sx, sy] = [sign(betterX), sign(betterY)];
  const order = [...x.keys()]
    .filter((i) => Number.isFinite(x[i]!) && Number.isFinite(y[i]!))
    .sort((a, b) => sx * (x[a]! - x[b]!) || sy * (y[a]! - y[b]!));
  const front: number[] = [];
  let best = Infinity;
  let bestX = NaN;
  for (const i of order) {
    const value = sy * y[i]!;
    // Equal points are all on the front.
    if (value < best || (value === best && x[i] === bestX)) {
      front.push(i);
      [best, bestX] = [value, x[i]!];
    }
  }
  return front.sort((a, b) => x[a]! - x[b]!);
}

import type { Limits } from './model';

/** A chart that follows others in its range of x. */
export interface Linked {
  follow(x: Limits | null): void;
}

const groups = new Map<string, Set<Linked>>();

export function link(key: string, chart: Linked): void {
  const group = groups.get(key) ?? new Set();
  groups.set(key, group.add(chart));
}

export function unlink(key: string, chart: Linked): void {
  const group = groups.get(key);
  group?.delete(chart);
  if (group?.size === 0) groups.delete(key);
}

/** Tells the other charts of the key which range of x is seen. */
export function tell(key: string, from: Linked, x: Limits | null): void {
  for (const chart of groups.get(key) ?? []) if (chart !== from) chart.follow(x);
}

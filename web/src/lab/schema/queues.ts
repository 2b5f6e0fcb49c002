// Where a scenario writes its queues.

import { isTable, type Path, type Tree, valueAt } from './path';

export interface QueuePlace {
  /** As results call it. */
  name: string;
  path: Path;
}

/** The links of a scenario that have a queue, by the keys of each topology. */
export function queuePlaces(tree: Tree): QueuePlace[] {
  const topology = tree.topology;
  if (!isTable(topology)) return [];
  const places: QueuePlace[] = [];
  if (isTable(topology.bottleneck)) places.push({ name: 'bottleneck', path: ['topology', 'bottleneck'] });
  for (const key of ['hops', 'links'] as const) {
    const list = topology[key];
    if (!Array.isArray(list)) continue;
    list.forEach((each: unknown, i) => {
      const name = isTable(each) && typeof each.name === 'string' ? each.name : `hop ${i + 1}`;
      const queued = key === 'hops' || (isTable(each) && 'buffer' in each);
      if (queued) places.push({ name, path: ['topology', key, i] });
    });
  }
  if (isTable(topology.reverse) && 'buffer' in topology.reverse) places.push({ name: 'reverse', path: ['topology', 'reverse'] });
  return places;
}

/** The place of the queue of a link. Names of links can come from parts of the scenario, so the order decides then. */
export function placeOfLink(tree: Tree, link: string, names: readonly string[]): QueuePlace | null {
  const places = queuePlaces(tree);
  return places.find((each) => each.name === link) ?? places[names.indexOf(link)] ?? places[0] ?? null;
}

/** The name of the AQM at a queue. */
export function aqmName(tree: Tree, place: QueuePlace): string {
  const aqm = valueAt(tree, [...place.path, 'aqm']);
  if (typeof aqm === 'string') return aqm;
  return isTable(aqm) && typeof aqm.name === 'string' ? aqm.name : 'droptail';
}

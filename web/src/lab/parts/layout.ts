// Places of nodes and links in the picture of a network.

import type { Compiled, LinkInfo, TopologyEdge, TopologyNode } from '../../engine/protocol';

export interface PlacedNode extends TopologyNode { x: number; y: number }
export interface PlacedEdge extends Omit<TopologyEdge, 'link'> { link: LinkInfo; path: string; x: number; y: number }
export interface Layout { width: number; height: number; nodes: PlacedNode[]; edges: PlacedEdge[]; omitted: number }

/** End systems in a column that can be told apart. */
const MOST = 8;
const GAP = 34;

/** Nodes stand in columns by their distance from the first queue: what leads to it on the left, what follows on the right. */
export function layout(whole: Compiled): Layout {
  const compiled = withoutDoubles(whole);
  const links = new Map(compiled.links.map((each) => [each.index, each]));
  const edges = drawn(compiled, links);
  const level = levels(compiled, links);
  const columns = new Map<number, TopologyNode[]>();
  for (const node of compiled.topology.nodes) {
    const column = level.get(node.id) ?? 0;
    columns.set(column, [...(columns.get(column) ?? []), node]);
  }
  const order = [...columns.keys()].sort((a, b) => a - b);
  const kept = order.map((column) => columns.get(column)!.slice(0, MOST));
  const omitted = compiled.topology.nodes.length - kept.reduce((sum, each) => sum + each.length, 0);
  const rows = Math.max(...kept.map((each) => each.length), 3);
  const height = Math.max(150, rows * GAP + 20);
  const nodes: PlacedNode[] = [];
  let x = 50;
  kept.forEach((column, i) => {
    if (i > 0) x += widthBefore(kept[i - 1]!, column, edges, links);
    column.forEach((node, row) => nodes.push({ ...node, x, y: height / 2 + (row - (column.length - 1) / 2) * GAP }));
  });
  const at = new Map(nodes.map((each) => [each.id, each]));
  const placed = edges.flatMap((edge): PlacedEdge[] => {
    const [from, to, link] = [at.get(edge.from), at.get(edge.to), links.get(edge.index)];
    return from && to && link ? [{ ...edge, link, ...curve(from, to) }] : [];
  });
  // Links with a queue last: they are drawn over the others.
  placed.sort((a, b) => Number(a.link.aqm !== null) - Number(b.link.aqm !== null));
  return { width: x + 50, height, nodes, edges: placed, omitted };
}

/** Both directions of a bottleneck end at the same routers: those beside the same hosts are drawn as one. */
function withoutDoubles(compiled: Compiled): Compiled {
  const { nodes, edges } = compiled.topology;
  const hosts = new Set(nodes.filter((each) => each.kind === 'host').map((each) => each.id));
  const beside = (id: string) =>
    edges.flatMap(({ from, to }) => (from === id && hosts.has(to) ? [to] : to === id && hosts.has(from) ? [from] : [])).sort();
  const first = new Map<string, string>();
  const same = new Map<string, string>();
  for (const { id } of nodes) {
    const key = hosts.has(id) ? `host ${id}` : [...new Set(beside(id))].join() || `router ${id}`;
    if (!first.has(key)) first.set(key, id);
    same.set(id, first.get(key)!);
  }
  const merged = edges.map((each) => ({ ...each, from: same.get(each.from)!, to: same.get(each.to)! }));
  return { ...compiled, topology: { nodes: nodes.filter(({ id }) => same.get(id) === id), edges: merged.filter((each) => each.from !== each.to) } };
}

type Links = Map<number, LinkInfo>;

/** Links with a queue, and one for each pair of nodes without: the way back of an access link says nothing. */
function drawn({ topology: { edges } }: Compiled, links: Links): TopologyEdge[] {
  const pair = (edge: TopologyEdge) => [edge.from, edge.to].sort().join();
  const queued = edges.filter((each) => links.get(each.index)?.aqm != null);
  const met = new Set(queued.map(pair));
  const others = edges.filter((each) => !met.has(pair(each)) && met.add(pair(each)));
  return [...others, ...queued];
}

function widthBefore(left: TopologyNode[], right: TopologyNode[], edges: TopologyEdge[], links: Links): number {
  const [lefts, rights] = [left, right].map((nodes) => new Set(nodes.map((each) => each.id))) as [Set<string>, Set<string>];
  const queued = edges.filter((each) => links.get(each.index)?.aqm != null);
  return queued.some((each) => lefts.has(each.from) && rights.has(each.to)) ? 230 : 110;
}

/** Columns: 0 is where the first queue begins and 1 where its link ends; others by the steps from there. */
function levels({ topology: { nodes, edges } }: Compiled, links: Links): Map<string, number> {
  const first = edges.find((each) => links.get(each.index)?.aqm != null) ?? edges[0];
  const level = new Map<string, number>();
  if (!first) return level;
  level.set(first.from, 0).set(first.to, 1);
  const waiting = [first.from, first.to];
  while (waiting.length > 0) {
    const here = waiting.shift()!;
    const step = level.get(here)! <= 0 ? -1 : 1;
    for (const { from, to } of edges) {
      const next = from === here ? to : to === here ? from : null;
      if (next === null || level.has(next)) continue;
      level.set(next, level.get(here)! + step);
      waiting.push(next);
    }
  }
  for (const node of nodes) if (!level.has(node.id)) level.set(node.id, 0);
  return level;
}

/** A line forward, a bow below for a link back. */
function curve(from: PlacedNode, to: PlacedNode): { path: string; x: number; y: number } {
  const back = to.x <= from.x;
  const sign = back ? -1 : 1;
  const [x1, x2] = [from.x + sign * 12, to.x - sign * 13];
  const bow = back ? 46 : 0;
  const x = (x1 + x2) / 2;
  const y = (from.y + to.y) / 2 + bow;
  const path = back ? `M${x1} ${from.y}Q${x} ${y + bow} ${x2} ${to.y}` : `M${x1} ${from.y}L${x2} ${to.y}`;
  return { path, x, y };
}

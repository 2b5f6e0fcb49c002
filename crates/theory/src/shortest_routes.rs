//! Routes of least propagation delay in a graph (Dijkstra 1959), for graphs of 10^5 links and routes from all their nodes.
//!
//! Ties are broken by the number of links, then by the names of the links in their order. So a route depends neither on
//! the order of links nor on what else is in the graph.

use rayon::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// No edge.
const NONE: u32 = u32::MAX;
/// The cost of a route is its delay, and below it its number of links: one number.
const HOP_BITS: u32 = 24;
const NODE_BITS: u32 = 32;

/// A link between two nodes.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The node where it begins.
    pub start: u32,
    /// The node where it ends.
    pub end: u32,
    /// In ns.
    pub delay: u64,
}

/// The nodes and links of a graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// By the nodes where they begin: those of node `n` are from `first[n]` to `first[n + 1]`.
    edges: Vec<Edge>,
    first: Vec<usize>,
    /// The number of each edge, as it was given.
    numbers: Vec<u32>,
    /// The place of each edge in the order of names; equal names have equal places.
    ranks: Vec<u32>,
}

impl Graph {
    /// A graph of so many nodes; `names` are those of the edges.
    pub fn new(nodes: usize, edges: Vec<Edge>, names: &[String]) -> Graph {
        let mut numbers: Vec<u32> = (0..edges.len() as u32).collect();
        numbers.sort_by_key(|&i| edges[i as usize].start);
        let edges: Vec<Edge> = numbers.iter().map(|&i| edges[i as usize]).collect();
        let first = (0..=nodes).map(|n| edges.partition_point(|edge| (edge.start as usize) < n)).collect();
        let name = |i: usize| &names[numbers[i] as usize];
        let mut by_name: Vec<usize> = (0..edges.len()).collect();
        by_name.sort_by_key(|&i| name(i));
        let mut ranks = vec![0; edges.len()];
        for pair in by_name.windows(2) {
            ranks[pair[1]] = ranks[pair[0]] + u32::from(name(pair[0]) != name(pair[1]));
        }
        Graph { edges, first, numbers, ranks }
    }

    /// For each pair of nodes the numbers of the edges of the route from the one to the other; none if there is no route.
    pub fn routes(&self, pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let mut by_start: Vec<usize> = (0..pairs.len()).collect();
        by_start.sort_by_key(|&p| pairs[p].0);
        let of_starts: Vec<&[usize]> = by_start.chunk_by(|&p, &q| pairs[p].0 == pairs[q].0).collect();
        let found: Vec<Vec<Vec<u32>>> = of_starts
            .par_iter()
            .map(|of_start| {
                let into = self.tree(pairs[of_start[0]].0);
                of_start
                    .iter()
                    .map(|&p| self.route(&into, pairs[p].1).map(|i| self.numbers[i as usize]).collect())
                    .collect()
            })
            .collect();
        let mut routes = vec![Vec::new(); pairs.len()];
        for (&p, route) in by_start.iter().zip(found.into_iter().flatten()) {
            routes[p] = route;
        }
        routes
    }

    /// The edges of the route to a node.
    fn route(&self, into: &[u32], mut end: u32) -> impl Iterator<Item = u32> {
        let mut route = Vec::new();
        while into[end as usize] != NONE {
            let i = into[end as usize];
            route.push(i);
            end = self.edges[i as usize].start;
        }
        route.into_iter().rev()
    }

    /// The last edge of the best route from a node to each other.
    fn tree(&self, root: u32) -> Vec<u32> {
        let nodes = self.first.len() - 1;
        let (mut costs, mut into) = (vec![u128::MAX; nodes], vec![NONE; nodes]);
        costs[root as usize] = 0;
        // A cost with the node below it: one number, which is compared faster than three.
        let mut heap = BinaryHeap::from([Reverse(u128::from(root))]);
        while let Some(Reverse(next)) = heap.pop() {
            let (cost, node) = (next >> NODE_BITS, next as u32 as usize);
            if cost > costs[node] {
                continue;
            }
            for i in self.first[node]..self.first[node + 1] {
                let Edge { end, delay, .. } = self.edges[i];
                let through = cost + (u128::from(delay) << HOP_BITS) + 1;
                match through.cmp(&costs[end as usize]) {
                    Ordering::Less => {
                        costs[end as usize] = through;
                        into[end as usize] = i as u32;
                        heap.push(Reverse(through << NODE_BITS | u128::from(end)));
                    }
                    Ordering::Equal if self.is_first(&into, i as u32) => into[end as usize] = i as u32,
                    Ordering::Equal | Ordering::Greater => {}
                }
            }
        }
        into
    }

    /// Do the names of the route over edge `i` come before those of the best one so far to the same node? Both have equal
    /// costs, and the nodes before the last are settled.
    fn is_first(&self, into: &[u32], i: u32) -> bool {
        let ranks =
            |last: u32| self.route(into, self.edges[last as usize].start).chain([last]).map(|i| self.ranks[i as usize]);
        ranks(i).lt(ranks(into[self.edges[i as usize].end as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(nodes: usize, edges: &[(u32, u32, u64, &str)]) -> Graph {
        let names: Vec<String> = edges.iter().map(|e| e.3.to_string()).collect();
        Graph::new(nodes, edges.iter().map(|&(start, end, delay, _)| Edge { start, end, delay }).collect(), &names)
    }

    #[test]
    fn the_shortest_then_the_one_with_fewer_links_then_that_of_the_first_names() {
        let direct_is_longer = graph(3, &[(0, 2, 5, "a"), (0, 1, 2, "b"), (1, 2, 2, "c")]);
        assert_eq!(direct_is_longer.routes(&[(0, 2)]), [vec![1, 2]]);
        let equal = graph(3, &[(0, 1, 2, "a"), (1, 2, 2, "b"), (0, 2, 4, "c")]);
        assert_eq!(equal.routes(&[(0, 2)]), [vec![2]]);
        // Both have two links; the names of the first link decide, not those of the last.
        let by_name = graph(4, &[(0, 1, 1, "b"), (1, 3, 1, "a"), (0, 2, 1, "a2"), (2, 3, 1, "z")]);
        assert_eq!(by_name.routes(&[(0, 3)]), [vec![2, 3]]);
    }

    #[test]
    fn no_route_has_no_edges_and_pairs_keep_their_order() {
        let one_way = graph(3, &[(0, 1, 1, "a"), (1, 2, 1, "b")]);
        assert_eq!(one_way.routes(&[(2, 0), (1, 2), (0, 2), (1, 1)]), [vec![], vec![1], vec![0, 1], vec![]]);
    }

    /// Delay and edges of the best routes from a node (Bellman and Ford): the edges are numbered in the order of their names.
    fn by_relaxing(nodes: usize, edges: &[Edge], root: u32) -> Vec<Option<(u64, usize, Vec<u32>)>> {
        let mut best = vec![None; nodes];
        best[root as usize] = Some((0, 0, vec![]));
        loop {
            let before = best.clone();
            for (i, edge) in (0..).zip(edges) {
                let Some((delay, links, route)) = &best[edge.start as usize] else { continue };
                let through = (delay + edge.delay, links + 1, [&route[..], &[i]].concat());
                if best[edge.end as usize].as_ref().is_none_or(|known| through < *known) {
                    best[edge.end as usize] = Some(through);
                }
            }
            if best == before {
                return best;
            }
        }
    }

    /// Without delay, of few values, so that many routes are equal, and much longer ones beside short ones.
    fn edges_of(links: &[(u32, u32, u64, usize)]) -> Vec<Edge> {
        let units = [0, 1, 1000, 1_000_000_000_000];
        links.iter().map(|&(start, end, delay, unit)| Edge { start, end, delay: delay * units[unit] }).collect()
    }

    proptest! {
        #[test]
        fn the_routes_are_the_best(
            links in prop::collection::vec((0u32..9, 0u32..9, 0u64..3, 0usize..4), 0..40),
            roots in prop::collection::vec(0u32..9, 1..4)
        ) {
            let edges = edges_of(&links);
            let names: Vec<String> = (0..edges.len()).map(|i| format!("{i:02}")).collect();
            let pairs: Vec<(u32, u32)> = roots.iter().flat_map(|&root| (0..9).map(move |end| (root, end))).collect();
            let routes = Graph::new(9, edges.clone(), &names).routes(&pairs);
            for (&(root, end), route) in pairs.iter().zip(&routes) {
                let expected = by_relaxing(9, &edges, root)[end as usize].take();
                prop_assert_eq!(&expected.map_or(vec![], |(_, _, route)| route), route);
            }
        }
    }
}

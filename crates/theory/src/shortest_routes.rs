//! Routes of least propagation delay in a graph (Dijkstra 1959), for graphs of 10^5 links and routes from all their nodes.
//!
//! Ties are broken by the number of links, then by the names of the links in their order. So a route depends neither on
//! the order of links nor on what else is in the graph.

use rayon::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// No edge.
const NONE: u32 = u32::MAX;

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
    edges: Vec<Edge>,
    /// The place of each edge in the order of names.
    ranks: Vec<u32>,
    /// The edges that leave each node: those of node `n` are from `first[n]` to `first[n + 1]`.
    leaving: Vec<u32>,
    first: Vec<usize>,
}

/// The best routes from one node to all others.
struct Tree {
    /// Delay and number of links of the best route to each node.
    costs: Vec<(u64, u32)>,
    /// The last edge of that route.
    into: Vec<u32>,
}

impl Graph {
    /// A graph of so many nodes; `names` are those of the edges.
    pub fn new(nodes: usize, edges: Vec<Edge>, names: &[String]) -> Graph {
        let mut by_name: Vec<u32> = (0..edges.len() as u32).collect();
        by_name.sort_by_key(|&i| &names[i as usize]);
        let mut ranks = vec![0; edges.len()];
        for (rank, &i) in (0..).zip(&by_name) {
            ranks[i as usize] = rank;
        }
        let mut leaving: Vec<u32> = (0..edges.len() as u32).collect();
        leaving.sort_by_key(|&i| edges[i as usize].start);
        let first = (0..=nodes).map(|n| leaving.partition_point(|&i| (edges[i as usize].start as usize) < n)).collect();
        Graph { edges, ranks, leaving, first }
    }

    /// For each pair of nodes the edges of the route from the one to the other; none if there is no route.
    pub fn routes(&self, pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let mut by_start: Vec<usize> = (0..pairs.len()).collect();
        by_start.sort_by_key(|&p| pairs[p].0);
        let of_starts: Vec<&[usize]> = by_start.chunk_by(|&p, &q| pairs[p].0 == pairs[q].0).collect();
        let found: Vec<Vec<Vec<u32>>> = of_starts
            .par_iter()
            .map(|of_start| {
                let tree = self.tree(pairs[of_start[0]].0);
                of_start.iter().map(|&p| self.route(&tree.into, pairs[p].1)).collect()
            })
            .collect();
        let mut routes = vec![Vec::new(); pairs.len()];
        for (&p, route) in by_start.iter().zip(found.into_iter().flatten()) {
            routes[p] = route;
        }
        routes
    }

    /// The edges of the route to a node.
    fn route(&self, into: &[u32], mut end: u32) -> Vec<u32> {
        let mut route = Vec::new();
        while into[end as usize] != NONE {
            let i = into[end as usize];
            route.push(i);
            end = self.edges[i as usize].start;
        }
        route.reverse();
        route
    }

    /// The best routes from a node.
    fn tree(&self, root: u32) -> Tree {
        let nodes = self.first.len() - 1;
        let mut tree = Tree { costs: vec![(u64::MAX, u32::MAX); nodes], into: vec![NONE; nodes] };
        tree.costs[root as usize] = (0, 0);
        let mut heap = BinaryHeap::from([Reverse(((0, 0), root))]);
        while let Some(Reverse((cost, node))) = heap.pop() {
            if cost > tree.costs[node as usize] {
                continue;
            }
            for &i in &self.leaving[self.first[node as usize]..self.first[node as usize + 1]] {
                let Edge { end, delay, .. } = self.edges[i as usize];
                let through = (cost.0.saturating_add(delay), cost.1 + 1);
                match through.cmp(&tree.costs[end as usize]) {
                    Ordering::Less => {
                        tree.costs[end as usize] = through;
                        tree.into[end as usize] = i;
                        heap.push(Reverse((through, end)));
                    }
                    Ordering::Equal if self.is_first(&tree.into, i) => tree.into[end as usize] = i,
                    Ordering::Equal | Ordering::Greater => {}
                }
            }
        }
        tree
    }

    /// Do the names of the route over edge `i` come before those of the best one so far to the same node? Both have equal
    /// costs, and the nodes before the last are settled.
    fn is_first(&self, into: &[u32], i: u32) -> bool {
        let ranks = |last: u32| {
            let mut route = self.route(into, self.edges[last as usize].start);
            route.push(last);
            route.into_iter().map(|i| self.ranks[i as usize])
        };
        ranks(i).lt(ranks(into[self.edges[i as usize].end as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

//! The lists of flows of a tin: doubly linked, so that a flow moves from any place of a list in constant time.

use alloc::vec::Vec;
/// The list that a flow is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Flows that have just become busy.
    New,
    /// Flows that used up a quantum.
    Old,
    /// Empty flows whose AQM has not come to rest.
    Decaying,
}

/// The links of all flows. Each list is a ring through a node of its own behind those of the flows.
#[derive(Debug)]
pub struct Chains {
    next: Vec<u16>,
    previous: Vec<u16>,
}

const LISTS: usize = 3;

impl Chains {
    /// No flow is in a list.
    pub fn new(flows: usize) -> Chains {
        let alone: Vec<u16> = (0..(flows + LISTS) as u16).collect();
        Chains { next: alone.clone(), previous: alone }
    }

    fn head(&self, list: List) -> usize {
        self.next.len() - LISTS + list as usize
    }

    /// The first flow of a list.
    pub fn first(&self, list: List) -> Option<usize> {
        let head = self.head(list);
        let first = usize::from(self.next[head]);
        (first != head).then_some(first)
    }

    /// Takes a flow out of its list, if it is in one.
    pub fn remove(&mut self, flow: usize) {
        let (previous, next) = (self.previous[flow], self.next[flow]);
        self.next[usize::from(previous)] = next;
        self.previous[usize::from(next)] = previous;
        (self.next[flow], self.previous[flow]) = (flow as u16, flow as u16);
    }

    /// Moves a flow to the end of a list.
    pub fn move_to_end(&mut self, flow: usize, list: List) {
        self.remove(flow);
        let head = self.head(list);
        let last = self.previous[head];
        (self.previous[flow], self.next[flow]) = (last, head as u16);
        self.next[usize::from(last)] = flow as u16;
        self.previous[head] = flow as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_move_between_lists_in_order() {
        let mut chains = Chains::new(4);
        let drain = |chains: &mut Chains, list| {
            core::iter::from_fn(|| chains.first(list).inspect(|&flow| chains.remove(flow))).collect::<Vec<_>>()
        };
        (0..4).for_each(|flow| chains.move_to_end(flow, List::New));
        chains.move_to_end(1, List::Old);
        chains.move_to_end(0, List::Old);
        chains.move_to_end(1, List::Old);
        assert_eq!(drain(&mut chains, List::New), [2, 3]);
        assert_eq!(drain(&mut chains, List::Old), [0, 1]);
        assert_eq!(drain(&mut chains, List::Decaying), []);
    }
}

//! What results tell of QUIC senders: traces, and windows at sampling instants.

use marqueue_cc::SenderInfo;
use marqueue_core::Time;
use marqueue_sim::result::{CwndResult, SenderTrace};

/// A trace with one more row, if the sender has changed.
pub fn record(trace: &mut SenderTrace, at: Time, sender: SenderInfo) {
    if trace.rows.last().is_none_or(|&(_, last)| last != sender) {
        trace.rows.push((at, sender));
    }
}

/// The sampled windows of a group.
#[derive(Debug)]
pub struct Windows {
    result: CwndResult,
    /// For each flow, number, sum and sum of squares of its samples in the present measuring window.
    sums: Vec<[f64; 3]>,
    window: usize,
}

impl Windows {
    /// Without samples.
    pub fn new(group: usize, flows: usize) -> Windows {
        Windows { result: CwndResult::empty(group), sums: vec![[0.0; 3]; flows], window: 0 }
    }

    /// Adds the windows of all flows of the group, in their order. A sample at an edge belongs to the window that ends
    /// there.
    pub fn sample(&mut self, at: Time, edges: &[Time], cwnds: impl Iterator<Item = f64>) {
        while at > edges[self.window + 1] {
            self.end_window();
        }
        self.result.t.push(at.secs());
        let mut sum = 0.0;
        for (sums, cwnd) in self.sums.iter_mut().zip(cwnds) {
            sum += cwnd;
            for (to, value) in sums.iter_mut().zip([1.0, cwnd, cwnd * cwnd]) {
                *to += value;
            }
        }
        self.result.sum.push(sum);
    }

    fn end_window(&mut self) {
        // NaN without samples.
        let variance = |[n, sum, squares]: [f64; 3]| (squares - sum * sum / n) / n;
        self.result.variances.push(self.sums.iter().map(|&sums| variance(sums)).sum());
        self.sums.fill([0.0; 3]);
        self.window += 1;
    }

    /// The result of a run that ended then.
    pub fn finish(mut self, edges: &[Time], ended: Time) -> CwndResult {
        while self.window + 1 < edges.len() && edges[self.window] < ended {
            self.end_window();
        }
        self.result
    }
}

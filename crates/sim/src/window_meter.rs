//! Samples the congestion windows of a group of flows: their sum over time and the variance of each.

use crate::flow::{Flow, FlowKind};
use crate::result::CwndResult;
use marqueue_core::Time;

/// Sampler of the windows of one group of TCP flows.
#[derive(Debug)]
pub struct WindowMeter {
    /// The slot of its first flow; the others follow.
    first_slot: usize,
    /// The row of its first flow in the flow table; the others follow.
    first_row: u32,
    /// For each flow the sum and the sum of squares of its samples in the measuring window.
    moments: Vec<(f64, f64)>,
    /// Samples in the measuring window.
    samples: u32,
    result: CwndResult,
}

impl WindowMeter {
    /// A sampler of the traffic group `group`, whose `count` flows have consecutive slots and rows.
    pub fn new(group: usize, first_slot: usize, first_row: u32, count: u32) -> WindowMeter {
        let moments = vec![(0.0, 0.0); count as usize];
        WindowMeter { first_slot, first_row, moments, samples: 0, result: CwndResult::empty(group) }
    }

    /// Takes a sample at `now`. A flow that has not started or has ended has a window of 0.
    pub fn sample(&mut self, now: Time, flows: &[Flow]) {
        let mut total = 0.0;
        let slots = &flows[self.first_slot..][..self.moments.len()];
        for ((row, flow), (sum, sum_sq)) in (self.first_row..).zip(slots).zip(&mut self.moments) {
            match &flow.kind {
                // A reused slot belongs to another flow.
                FlowKind::Tcp(tcp) if tcp.started && flow.row == row => {
                    let cwnd = tcp.sender.core().window.cwnd;
                    total += cwnd;
                    *sum += cwnd;
                    *sum_sq += cwnd * cwnd;
                }
                _ => {}
            }
        }
        self.samples += 1;
        self.result.t.push(now.secs());
        self.result.sum.push(total);
    }

    /// The measuring window ends.
    pub fn close(&mut self) {
        let n = f64::from(self.samples);
        let variance = |&(sum, sum_sq): &(f64, f64)| (sum_sq - sum * sum / n) / n;
        self.result.variances.push(self.moments.iter().map(variance).sum());
        self.moments.fill((0.0, 0.0));
        self.samples = 0;
    }

    /// Returns all samples.
    pub fn into_result(self) -> CwndResult {
        self.result
    }
}

//! Loss recoveries that turn out to be spurious: "Updating the Model Upon Detecting a Spurious Loss Recovery".

use super::state::{State, Undo};
use super::{Bbr3, FullBw};
use crate::window_law::Window;

impl Bbr3 {
    /// SaveStateUponLoss.
    pub(super) fn save_state(&mut self, cwnd: f64) {
        self.save_cwnd(cwnd);
        let bounds = &self.bounds;
        self.undo = Undo {
            count: self.undo.count,
            state: None,
            bw_shortterm: bounds.bw_shortterm,
            inflight_shortterm: bounds.inflight_shortterm,
            inflight_longterm: bounds.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo_recovery(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.full = FullBw::default();
        let (undo, bounds) = (self.undo, &mut self.bounds);
        bounds.loss_in_round = false;
        bounds.bw_shortterm = bounds.bw_shortterm.max(undo.bw_shortterm);
        bounds.inflight_shortterm = bounds.inflight_shortterm.max(undo.inflight_shortterm);
        bounds.inflight_longterm = bounds.inflight_longterm.max(undo.inflight_longterm);
        let probes_rtt = self.state == State::ProbeRtt;
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_reached = false;
                if !probes_rtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && !probes_rtt => self.start_refill(),
            _ => {}
        }
        self.undo.state = None;
        self.undo.count += 1;
    }
}

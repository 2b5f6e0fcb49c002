//! The sender's side of a model of the path ([`crate::path_model`]): what the model is told, and what it sets.

use super::{Core, SendContext};
use crate::config::Config;
use crate::delivery_rate::DeliveryRate;
use crate::path_model::{ModelInfo, ModelInput, RepairPhase};
use crate::window_law::Window;
use marqueue_core::Time;

impl Core {
    /// The delivery rate samples, if a model of the path needs them.
    #[inline]
    pub fn delivery(&mut self) -> Option<&mut DeliveryRate> {
        self.control.model().map(|model| model.delivery())
    }

    /// The connection is established.
    pub(super) fn start_model(&mut self, tx: &SendContext<'_>) {
        let srtt = self.rto.srtt(tx.config);
        if let Some(rate) = self.control.model().map(|model| model.start(tx.config, tx.now, srtt)) {
            self.set_pacing_rate(rate);
        }
    }

    /// A segment of data leaves.
    pub(super) fn note_sent(&mut self, now: Time, seq: u32) {
        let Some(model) = self.control.model() else { return };
        if model.delivery().in_flight() == 0 {
            if let Some(rate) = model.on_restart(&mut self.window, now) {
                self.set_pacing_rate(rate);
            }
        }
        if let Some(delivery) = self.delivery() {
            delivery.sent(seq, now);
        }
    }

    /// An acknowledgement has been processed: the model sets window and pacing rate, before anything is sent.
    pub fn follow_model(&mut self, tx: &SendContext<'_>, phase: RepairPhase) {
        let Some(model) = self.control.model() else { return };
        let rate = model.update(&mut self.window, &ModelInput { now: tx.now, config: tx.config, phase });
        self.set_pacing_rate(rate);
    }

    /// The last loss recovery is found to have been spurious. The window of before comes back, if there is one: a law that is
    /// no model of the path knows of no recovery.
    pub fn undo_recovery(&mut self, before: Option<Window>) {
        if let Some(model) = self.control.model() {
            model.on_spurious_recovery(&mut self.window);
        } else if let Some(Window { cwnd, ssthresh }) = before {
            self.window.cwnd = self.window.cwnd.max(cwnd);
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
            self.cwr_pending = false;
        }
    }

    /// The model's state for traces, if there is one.
    pub fn model_info(&mut self, config: &Config) -> Option<ModelInfo> {
        self.control.model().map(|model| model.info(config))
    }

    /// A loss recovery begins. Returns true if a model of the path decides what that means.
    pub(super) fn is_decided_by_model(&mut self, timeout: bool) -> bool {
        let cwnd = self.window.cwnd;
        self.control.model().map(|model| model.on_congestion(cwnd, timeout)).is_some()
    }
}

//! The window law of a flow under a program ([`crate::program`]).

use crate::config::Config;
use crate::path_model::PathModel;
use crate::program::{Control, FlowState, ProgramLaw};
use crate::window_law::{AckedSegments, EcnFeedback, Signal, Window};
use marqueue_core::Time;

/// The law of a flow under a program. Its methods mean what those of [`crate::window_law::WindowLaw`] mean.
#[derive(Debug)]
pub struct ProgramWindowLaw {
    law: Box<dyn ProgramLaw>,
    /// As of the latest acknowledgement.
    flow: FlowState,
}

impl Clone for ProgramWindowLaw {
    fn clone(&self) -> Self {
        ProgramWindowLaw { law: self.law.boxed_clone(), flow: self.flow }
    }
}

#[allow(missing_docs)]
impl ProgramWindowLaw {
    pub fn new(control: &Control) -> ProgramWindowLaw {
        ProgramWindowLaw { law: control.0.law(), flow: FlowState::default() }
    }

    pub fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        self.flow = FlowState {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            acked: acked.segments,
            outstanding: acked.outstanding,
            rtt: acked.rto.latest().map_or(0.0, |rtt| rtt.secs()),
            srtt: acked.rto.srtt(acked.config),
            segment: acked.config.segment,
        };
        window.cwnd = self.law.on_ack(&self.flow, acked.now);
        // Congestion avoidance goes on below the window that the latest loss left.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    pub fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        let flow = FlowState { cwnd, acked: 0.0, segment: config.segment, ..self.flow };
        let left = match signal {
            Signal::Loss => self.law.on_loss(&flow),
            Signal::Ecn => self.law.on_ecn(&flow),
        };
        left / cwnd
    }

    pub fn on_echo(&mut self, _: &Config, _: EcnFeedback) {}

    pub fn answers_echo(&mut self, _: &Config, _: Time) -> bool {
        true
    }

    pub fn on_unused_window(&mut self, _: Time) {}

    pub fn model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }

    pub fn on_timeout(&mut self) {
        self.law.on_timeout();
    }

    pub fn pacing_rate(&self) -> Option<f64> {
        self.law.pacing_rate()
    }
}

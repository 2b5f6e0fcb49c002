//! A window law that is in no list: a program of the user's, such as a class in Python. Slow start, loss recovery and the
//! times of reductions are those of every law.

use crate::config::Config;
use crate::window_law::{AckedSegments, EcnFeedback, Signal, Window};
use marqueue_core::params::PolicySpec;
use marqueue_core::Time;
use std::fmt::Debug;
use std::sync::Arc;

/// The prefix of the names of programs in plans.
pub const PREFIX: &str = "python:";

/// What a program reads of its flow. Windows are in segments, times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowState {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
    /// Segments that the acknowledgement newly reports.
    pub acked: f64,
    /// Segments that were outstanding before it.
    pub outstanding: f64,
    /// The latest round-trip time; 0 before the first.
    pub rtt: f64,
    /// The smoothed round-trip time; 0 before the first.
    pub srtt: f64,
    /// Payload of a segment, bytes.
    pub segment: u32,
}

/// The window law of one flow.
#[allow(missing_docs)]
pub trait ProgramLaw: Debug + Send + Sync {
    /// New data was acknowledged in congestion avoidance. Returns the new window.
    fn on_ack(&mut self, flow: &FlowState, now: Time) -> f64;
    /// A congestion signal. Returns the new window.
    fn on_signal(&mut self, flow: &FlowState, signal: Signal) -> f64;
    fn on_timeout(&mut self);
    /// The pacing rate in segments/s, if it sets one.
    fn pacing_rate(&self) -> Option<f64>;
    fn boxed_clone(&self) -> Box<dyn ProgramLaw>;
}

/// Makes the window law of each flow.
pub trait ProgramLaws: Debug + Send + Sync {
    /// The law of a new flow.
    fn law(&self) -> Box<dyn ProgramLaw>;
}

/// The program of a transport; equal to itself only.
#[derive(Clone, Debug)]
pub struct Control(pub Arc<dyn ProgramLaws>);

impl PartialEq for Control {
    fn eq(&self, other: &Control) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The program that settings of TCP name as their congestion control.
pub fn program_of(values: &marqueue_core::ParamValues) -> Option<&PolicySpec> {
    match values.get("control") {
        Some(marqueue_core::Value::Policy(spec)) if spec.name.starts_with(PREFIX) => Some(spec),
        _ => None,
    }
}

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
        self.law.on_signal(&flow, signal) / cwnd
    }

    pub fn on_echo(&mut self, _: &Config, _: EcnFeedback) {}

    pub fn answers_echo(&mut self, _: &Config, _: Time) -> bool {
        true
    }

    pub fn on_unused_window(&mut self, _: Time) {}

    pub fn model(&mut self) -> Option<&mut dyn crate::path_model::PathModel> {
        None
    }

    pub fn on_timeout(&mut self) {
        self.law.on_timeout();
    }

    pub fn pacing_rate(&self) -> Option<f64> {
        self.law.pacing_rate()
    }
}

//! A window law that is in no list: a program of the user's, such as a class in Python. Slow start, loss recovery and the
//! times of reductions are those of every law.

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
    /// A loss. Returns the new window.
    fn on_loss(&mut self, flow: &FlowState) -> f64;
    /// An ECN echo. Returns the new window.
    fn on_ecn(&mut self, flow: &FlowState) -> f64;
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

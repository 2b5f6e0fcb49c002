//! The interface of a model of the path: a sender whose window and pacing rate follow from estimates of what the path
//! delivers, not from losses. It is a window law that leaves slow start, growth and reductions to its model.

use crate::config::Config;
use crate::delivery_rate::DeliveryRate;
use crate::window::Window;
use marqueue_core::Time;

/// The loss recovery that an acknowledgement finds, once it has been processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepairPhase {
    /// None.
    #[default]
    None,
    /// Fast recovery.
    Fast,
    /// Recovery after a retransmission timeout.
    Timeout,
}

macro_rules! states {
    ($($(#[doc = $doc:literal])+ $state:ident = $name:literal),* $(,)?) => {
        /// The states of the models' state machines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ModelState { $($(#[doc = $doc])+ $state),* }

        impl ModelState {
            /// The names of all states, in the order of their numbers.
            pub const NAMES: &'static [&'static str] = &[$($name),*];
        }
    };
}

states! {
    /// Doubles the rate each round trip.
    Startup = "startup",
    /// Empties the queue of Startup.
    Drain = "drain",
    /// Cycles through gains (version 1).
    ProbeBw = "probe-bw",
    /// ProbeBW_DOWN (version 3).
    Down = "probe-bw-down",
    /// ProbeBW_CRUISE (version 3).
    Cruise = "probe-bw-cruise",
    /// ProbeBW_REFILL (version 3).
    Refill = "probe-bw-refill",
    /// ProbeBW_UP (version 3).
    Up = "probe-bw-up",
    /// Measures the least round-trip time.
    ProbeRtt = "probe-rtt",
}

/// A model, for traces: the variables of draft-ietf-ccwg-bbr. Volumes are in segments, rates in segments/s, times in seconds; a
/// bound that is not set is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelInfo {
    /// BBR.state.
    pub state: ModelState,
    /// BBR.max_bw.
    pub max_bw: f64,
    /// BBR.bw.
    pub bw: f64,
    /// BBR.min_rtt, infinite before the first.
    pub min_rtt: f64,
    /// C.pacing_rate.
    pub pacing_rate: f64,
    /// BBR.bw_shortterm.
    pub bw_shortterm: f64,
    /// BBR.inflight_shortterm.
    pub inflight_shortterm: f64,
    /// BBR.inflight_longterm.
    pub inflight_longterm: f64,
    /// BBR.extra_acked.
    pub extra_acked: f64,
    /// Inflight(1.0): what has to be in flight at most for Drain to end.
    pub drained: f64,
    /// C.inflight.
    pub in_flight: u32,
    /// C.delivered.
    pub delivered: u32,
    /// C.lost.
    pub lost: u32,
    /// BBR.round_count.
    pub rounds: u32,
    /// BBR.full_bw_count.
    pub full_bw_count: u32,
    /// Loss recoveries that were found to be spurious.
    pub spurious: u32,
    /// BBR.full_bw_reached.
    pub full_bw_reached: bool,
    /// BBR.idle_restart.
    pub idle_restart: bool,
    /// The sender is limited by its application.
    pub app_limited: bool,
}

/// An acknowledgement, once it has been processed: the arguments of [`PathModel::update`].
#[derive(Clone, Copy, Debug)]
pub struct ModelInput<'a> {
    /// Now.
    pub now: Time,
    /// The flow's settings.
    pub config: &'a Config,
    /// The loss recovery.
    pub phase: RepairPhase,
}

/// A model of the path. Rates are in segments/s.
pub trait PathModel {
    /// The delivery rate samples.
    fn delivery(&mut self) -> &mut DeliveryRate;

    /// A seed for the model's draws.
    fn seed(&mut self, seed: u64);

    /// The connection is established, with a smoothed round-trip time of `srtt` seconds; 0 if it is not known. Returns the
    /// first pacing rate.
    fn start(&mut self, config: &Config, now: Time, srtt: f64) -> f64;

    /// An acknowledgement: the window. Returns the pacing rate.
    fn update(&mut self, window: &mut Window, input: &ModelInput<'_>) -> f64;

    /// A loss recovery begins, with this window; `timeout`: after a retransmission timeout.
    fn on_congestion(&mut self, cwnd: f64, timeout: bool);

    /// All that was sent again in the last loss recovery had arrived already (HandleSpuriousLossDetection): the recovery is
    /// undone.
    fn on_spurious_recovery(&mut self, window: &mut Window);

    /// Its state, for traces.
    fn info(&self, config: &Config) -> ModelInfo;

    /// A segment is to leave after nothing was in flight, for want of data. Returns a pacing rate to use from now on.
    fn on_restart(&mut self, window: &mut Window, now: Time) -> Option<f64>;
}

/// A maximum over the last `N` rounds or so (Linux, lib/win_minmax.c): the largest values of the window with their times, each
/// later one smaller.
#[derive(Clone, Debug, Default)]
pub struct WindowedMax(Vec<(u32, f64)>);

impl WindowedMax {
    /// Adds a value at `time`, and forgets those older than `length`.
    pub fn update(&mut self, value: f64, time: u32, length: u32) {
        self.0.retain(|&(at, v)| time.wrapping_sub(at) <= length && v > value);
        self.0.push((time, value));
    }

    /// The maximum; 0 without a value.
    pub fn get(&self) -> f64 {
        self.0.first().map_or(0.0, |&(_, v)| v)
    }
}

/// Segments that Linux sends at once at this rate: about a millisecond's, at least two, or one below 1.2 Mbit/s, and at
/// most 64 kB. The window makes room for them, though segments leave one by one here.
pub fn send_quantum(config: &Config, rate: f64) -> f64 {
    let segment = f64::from(config.segment);
    let least = if rate * segment * 8.0 < 1.2e6 { 1.0 } else { 2.0 };
    (rate / 1024.0).floor().max(least).min((65_536.0 / segment).floor().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_forgotten_after_its_window() {
        let mut max = WindowedMax::default();
        for (time, value, expected) in [(0, 5.0, 5.0), (1, 3.0, 5.0), (2, 4.0, 5.0), (10, 1.0, 5.0), (11, 2.0, 4.0)] {
            max.update(value, time, 10);
            assert_eq!(max.get(), expected, "at {time}");
        }
        max.update(0.5, 13, 10);
        assert_eq!(max.get(), 2.0);
    }
}

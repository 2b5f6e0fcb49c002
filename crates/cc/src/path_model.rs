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

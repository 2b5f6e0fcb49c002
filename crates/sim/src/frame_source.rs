//! The encoder of a media flow: what size each frame has.
//!
//! A frame of rate r and period T has r T / 8 bytes in the mean, and a Laplace distribution about that, as in the synthetic
//! codec of RFC 8593. A key frame is larger by a factor; with periodic key frames the others are smaller, so that the mean
//! is kept. The first frame is a key frame, and one is made when a receiver has lost what others refer to.
//!
//! An encoder with a ladder has the highest of its rates that is at most the target, its lowest otherwise. It leaves a rate
//! for a higher one after [`HOLD`] only, because each change costs a key frame. (The rule is ours: RFC 8593 has none.)

use crate::media_plan::EncoderPlan;
use marqueue_core::{math, Dur, Rng, Time};

/// How long a rate of a ladder is kept before a higher one.
const HOLD: Dur = Dur(1_000_000_000);
/// The smallest frame, as a share of the mean.
const LEAST: f64 = 0.1;

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Does it refer to no other?
    pub is_key: bool,
    /// Size in RTP packets, bytes.
    pub bytes: u32,
}

/// An encoder.
#[derive(Debug)]
pub struct FrameSource {
    plan: EncoderPlan,
    rng: Rng,
    /// When the next frame is due.
    next: Time,
    stop: Time,
    next_key: Time,
    /// The rate in use, of a ladder, and when it was chosen.
    rung: Option<(usize, Time)>,
}

impl FrameSource {
    /// An encoder that starts at `start`.
    pub fn new(plan: EncoderPlan, rng: Rng, start: Time, stop: Time) -> FrameSource {
        FrameSource { plan, rng, next: start, stop, next_key: start, rung: None }
    }

    /// When [`FrameSource::encode`] is due.
    pub fn deadline(&self) -> Time {
        if self.next < self.stop {
            self.next
        } else {
            Time::NEVER
        }
    }

    /// A receiver cannot go on without a key frame.
    pub fn ask_for_key(&mut self) {
        self.next_key = self.next;
    }

    /// Makes the frame that is due, for a target in bit/s.
    pub fn encode(&mut self, target: f64) -> Frame {
        let now = self.next;
        let rate = self.rate(now, target);
        let is_key = now >= self.next_key;
        if is_key {
            self.next_key = self.plan.key_frames.map_or(Time::NEVER, |every| now + every);
        }
        let between = self.plan.key_frames.map_or(f64::INFINITY, |every| every.secs() / self.plan.period.secs());
        let others = if between.is_finite() { between / (between - 1.0 + self.plan.key_size).max(1.0) } else { 1.0 };
        let share = if is_key { others * self.plan.key_size } else { others };
        let mean = rate * self.plan.period.secs() / 8.0 * share;
        let bytes = mean * (1.0 + self.laplace()).max(LEAST);
        self.next = now + self.plan.period;
        Frame { is_key, bytes: bytes.round().max(1.0) as u32 }
    }

    fn rate(&mut self, now: Time, target: f64) -> f64 {
        let ladder = &self.plan.ladder;
        if ladder.is_empty() {
            return target.max(self.plan.min_rate.0 as f64).min(self.plan.max_rate.0 as f64);
        }
        let wanted = ladder.iter().rposition(|rate| rate.0 as f64 <= target).unwrap_or(0);
        let chosen = match self.rung {
            Some((rung, since)) if wanted == rung || (wanted > rung && now - since < HOLD) => rung,
            _ => {
                self.next_key = now;
                self.rung = Some((wanted, now));
                wanted
            }
        };
        ladder[chosen].0 as f64
    }

    /// A draw of mean zero and scale `deviation`.
    fn laplace(&mut self) -> f64 {
        let u = self.rng.uniform() - 0.5;
        -self.plan.deviation * u.signum() * math::ln(1.0 - 2.0 * u.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::Rate;

    fn source(plan: EncoderPlan) -> FrameSource {
        FrameSource::new(plan, Rng::named(1, "encoder"), Time::ZERO, Time(u64::MAX - 1))
    }

    fn plan() -> EncoderPlan {
        EncoderPlan {
            period: Dur(20_000_000),
            min_rate: Rate(100_000),
            max_rate: Rate(10_000_000),
            ladder: Vec::new(),
            deviation: 0.0,
            key_frames: None,
            key_size: 4.0,
        }
    }

    #[test]
    fn a_frame_has_the_bits_of_its_period_and_a_key_frame_a_multiple() {
        let mut encoder = source(plan());
        // 1 Mbit/s in 20 ms: 2500 bytes.
        assert_eq!(encoder.encode(1e6), Frame { is_key: true, bytes: 10_000 });
        assert_eq!(encoder.encode(1e6), Frame { is_key: false, bytes: 2500 });
        assert_eq!(encoder.encode(1e3).bytes, 250);
        assert_eq!(encoder.encode(1e9).bytes, 25_000);
        encoder.ask_for_key();
        assert!(encoder.encode(1e6).is_key && !encoder.encode(1e6).is_key);
    }

    #[test]
    fn periodic_key_frames_leave_the_mean_rate() {
        let mut encoder = source(EncoderPlan { key_frames: Some(Dur(200_000_000)), deviation: 0.15, ..plan() });
        let frames: Vec<_> = (0..50_000).map(|_| encoder.encode(1e6)).collect();
        let mean = frames.iter().map(|frame| f64::from(frame.bytes)).sum::<f64>() / 50_000.0;
        assert!((mean / 2500.0 - 1.0).abs() < 0.01, "{mean}");
        assert_eq!(frames.iter().filter(|frame| frame.is_key).count(), 5000);
        // The mean deviation of a Laplace distribution is its scale: of frames that are no key frames, 2500 10/13 bytes.
        let others: Vec<_> = frames.iter().filter(|f| !f.is_key).map(|f| f64::from(f.bytes) / 1923.08).collect();
        let scale = others.iter().map(|x| (x - 1.0).abs()).sum::<f64>() / others.len() as f64;
        assert!((scale - 0.15).abs() < 0.005, "{scale}");
    }

    #[test]
    fn a_ladder_falls_at_once_and_climbs_after_a_second_each_time_with_a_key_frame() {
        let rates = [1, 2, 4].map(|mbit| Rate(mbit * 1_000_000)).to_vec();
        let mut encoder = source(EncoderPlan { ladder: rates, key_size: 1.0, ..plan() });
        assert_eq!(encoder.encode(2.5e6).bytes, 5000);
        assert!(!encoder.encode(9e6).is_key);
        let climbed = (2..100).map(|_| encoder.encode(9e6)).position(|frame| frame.is_key);
        assert_eq!(climbed, Some(48));
        assert_eq!(encoder.encode(0.5e6), Frame { is_key: true, bytes: 2500 });
    }
}

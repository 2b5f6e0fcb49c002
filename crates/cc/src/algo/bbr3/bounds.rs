//! Delivery signals of a round trip, and the bounds that losses set: "Updating the Model Upon Packet Loss".

use super::state::{is_too_high, State, BETA, LOSS_THRESH};
use super::Bbr3;
use crate::delivery_rate::{LostSegment, RateSample};
use crate::window_law::Window;
use marqueue_core::Time;

/// InflightAtLoss: where losses crossed the threshold.
fn inflight_at_loss(lost: &LostSegment) -> f64 {
    let before = f64::from(lost.in_flight) - 1.0;
    let lost_before = f64::from(lost.lost) - 1.0;
    before + (LOSS_THRESH * before - lost_before) / (1.0 - LOSS_THRESH)
}

impl Bbr3 {
    /// HandleLostPacket for each segment lost since the last acknowledgement.
    pub(super) fn note_losses(&mut self, window: &Window, now: Time) {
        for lost in self.delivery.take_losses() {
            let (ranges, last) = self.lost_ranges;
            self.lost_ranges = (ranges + u32::from(lost.seq != last + 1), lost.seq);
            if !self.bounds.loss_in_round {
                self.bounds.round_delivered = self.delivery.delivered();
                self.save_state(window.cwnd);
            }
            self.bounds.loss_in_round = true;
            if self.probe.is_sample && is_too_high(lost.lost, lost.in_flight) {
                self.on_inflight_too_high(window, now, &lost);
            }
        }
    }

    /// HandleInflightTooHigh.
    fn on_inflight_too_high(&mut self, window: &Window, now: Time, lost: &LostSegment) {
        self.probe.prev_too_high = true;
        self.probe.is_sample = false;
        if !lost.app_limited {
            self.bounds.inflight_longterm = inflight_at_loss(lost).max(BETA * self.target_inflight(window));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest_signals(&mut self, sample: &RateSample) {
        let bounds = &mut self.bounds;
        bounds.round_start = false;
        bounds.bw_latest = bounds.bw_latest.max(sample.rate);
        bounds.inflight_latest = bounds.inflight_latest.max(sample.delivered);
        if sample.prior_delivered.is_some_and(|prior| prior >= bounds.round_delivered) {
            bounds.round_delivered = self.delivery.delivered();
            bounds.round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest_signals(&mut self, sample: &RateSample) {
        if self.bounds.round_start {
            self.bounds.bw_latest = sample.rate;
            self.bounds.inflight_latest = sample.delivered;
        }
    }

    /// UpdateCongestionSignals and AdaptLowerBoundsFromCongestion.
    pub(super) fn update_congestion_signals(&mut self, window: &Window, sample: &RateSample) {
        self.update_max_bw(sample);
        if !self.bounds.round_start {
            return;
        }
        if self.bounds.loss_in_round && !self.state.is_probing() {
            self.bounds.lower(self.max_bw.get(), window.cwnd);
        }
        self.bounds.loss_in_round = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::bbr3::state::Bounds;

    #[test]
    fn two_percent_of_what_was_in_flight() {
        assert!(!is_too_high(2, 100));
        assert!(is_too_high(3, 100));
        // 100 in flight, the third loss: 99 + (0.02 x 99 - 2)/0.98.
        let lost = LostSegment { seq: 9, in_flight: 100, lost: 3, app_limited: false };
        assert!((inflight_at_loss(&lost) - (99.0 - 0.02 / 0.98)).abs() < 1e-9);
    }

    #[test]
    fn losses_lower_by_three_tenths_but_not_below_what_was_delivered() {
        let mut b = Bounds { bw_latest: 50.0, inflight_latest: 5, ..Bounds::default() };
        b.lower(100.0, 20.0);
        assert_eq!((b.bw_shortterm, b.inflight_shortterm), (70.0, 14.0));
        b.bw_latest = 60.0;
        b.lower(100.0, 20.0);
        assert_eq!(b.bw_shortterm, 60.0);
        assert!((b.inflight_shortterm - 9.8).abs() < 1e-12);
    }
}

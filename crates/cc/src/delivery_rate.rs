//! Delivery rate samples: Cheng, Cardwell, Hassas Yeganeh and Jacobson, "Delivery Rate Estimation",
//! draft-cheng-iccrg-delivery-rate-estimation-02; draft-ietf-ccwg-bbr, "Delivery Rate Samples".
//!
//! Each transmission notes how much had been delivered by then (P.delivered), when (P.delivered_time), and when the segment
//! was sent of which that was known (P.first_send_time). When it is acknowledged, the segments delivered since, over the longer
//! of the time in which they were sent and the time in which they were acknowledged, are a sample of the rate at which the path
//! delivers. Of the segments that one acknowledgement reports, the one sent last makes the sample. A sample is limited by
//! the application if the sender had nothing to send and room in its window before the segment left.
//!
//! Departure: counts are of segments, not bytes; all but the last of a flow have one size.

use marqueue_core::{Dur, Time};
use std::collections::VecDeque;

/// What a transmission remembers.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    sent: Time,
    first_sent: Time,
    delivered_time: Time,
    delivered: u32,
    lost: u32,
    in_flight: u32,
    app_limited: bool,
    again: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Delivered,
}

/// A segment that was lost: what the path carried when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its number.
    pub seq: u32,
    /// P.tx_in_flight: segments in flight then, it included.
    pub in_flight: u32,
    /// Segments lost since, it included.
    pub lost: u32,
    /// The sender was limited by the application.
    pub app_limited: bool,
}

/// What one acknowledgement tells of the path: RS.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Segments newly reported.
    pub newly_acked: u32,
    /// Segments newly lost.
    pub newly_lost: u32,
    /// Round-trip time of the segment sent last of those sent once.
    pub rtt: Option<Dur>,
    /// P.delivered of the segment sent last; `None` if nothing is newly reported.
    pub prior_delivered: Option<u32>,
    /// Segments delivered in the interval.
    pub delivered: u32,
    /// Rate, segments/s; 0 if the interval is too short for one.
    pub rate: f64,
    /// Limited by the application.
    pub app_limited: bool,
    /// Segments in flight when it was sent, it included, and lost since.
    pub tx_in_flight: u32,
    /// Segments lost since it was sent.
    pub lost: u32,
    /// Segments in flight before the acknowledgement.
    pub prior_in_flight: u32,
}

/// State of the connection: C.
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    /// C.delivered.
    delivered: u32,
    /// C.lost.
    lost: u32,
    /// C.delivered_time.
    delivered_time: Time,
    /// C.first_send_time.
    first_sent: Time,
    /// C.app_limited: the count of delivered segments at which the limited phase is over; 0 outside of one.
    app_limited: u32,
    in_flight: u32,
    /// Number of the first of `segments`.
    first: u32,
    segments: VecDeque<Transmission>,
    /// The newest segment of the acknowledgement that is being processed.
    newest: Option<(u32, Transmission)>,
    /// The sample that is being made.
    sample: RateSample,
    /// Segments lost since the last sample.
    losses: Vec<LostSegment>,
    /// The window was filled in this round trip, which ends at `filled_until`.
    filled: bool,
    filled_until: u32,
}

impl Default for DeliveryRate {
    fn default() -> DeliveryRate {
        DeliveryRate {
            delivered: 0,
            lost: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited: 0,
            in_flight: 0,
            first: 1,
            segments: VecDeque::new(),
            newest: None,
            sample: RateSample::default(),
            losses: Vec::new(),
            filled: false,
            filled_until: 0,
        }
    }
}

impl DeliveryRate {
    /// Segments delivered so far.
    pub fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Segments lost so far.
    pub fn count_lost(&self) -> u32 {
        self.lost
    }

    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Has the window been filled lately (C.is_cwnd_limited)?
    pub fn is_cwnd_limited(&self) -> bool {
        self.filled
    }

    /// Is the sender limited by its application?
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// OnPacketSent: segment `seq` leaves, new or again.
    pub fn sent(&mut self, seq: u32, now: Time) {
        if self.in_flight == 0 {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        if self.segments.is_empty() {
            self.first = seq;
        }
        let i = (seq - self.first) as usize;
        let again = i < self.segments.len();
        self.in_flight += u32::from(!again || self.segments[i].state != State::InFlight);
        let transmission = Transmission {
            sent: now,
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            lost: self.lost,
            in_flight: self.in_flight,
            app_limited: self.is_app_limited(),
            again,
            state: State::InFlight,
        };
        if again {
            self.segments[i] = transmission;
        } else {
            self.segments.push_back(transmission);
        }
    }

    /// UpdateRateSample: segment `seq` is newly reported.
    pub fn arrived(&mut self, seq: u32, now: Time) {
        let i = (seq - self.first) as usize;
        let segment = self.segments[i];
        if segment.state == State::Delivered {
            return;
        }
        if self.sample.newly_acked == 0 {
            self.sample.prior_in_flight = self.in_flight;
        }
        self.in_flight -= u32::from(segment.state == State::InFlight);
        self.segments[i].state = State::Delivered;
        self.delivered += 1;
        self.delivered_time = now;
        self.sample.newly_acked += 1;
        if self.newest.is_none_or(|(last, n)| (segment.sent, seq) > (n.sent, last)) {
            self.newest = Some((seq, segment));
        }
    }

    /// Segments below `una` are not needed any longer.
    pub fn forget_below(&mut self, una: u32) {
        while self.first < una && self.segments.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// Segment `seq` is lost.
    pub fn lost(&mut self, seq: u32) {
        let segment = &mut self.segments[(seq - self.first) as usize];
        if segment.state != State::InFlight {
            return;
        }
        segment.state = State::Lost;
        self.in_flight -= 1;
        self.lost += 1;
        self.sample.newly_lost += 1;
        let lost = self.lost - segment.lost;
        self.losses.push(LostSegment { seq, in_flight: segment.in_flight, lost, app_limited: segment.app_limited });
    }

    /// The segments lost since the last call.
    pub fn take_losses(&mut self) -> Vec<LostSegment> {
        std::mem::take(&mut self.losses)
    }

    /// GenerateRateSample: the sample of an acknowledgement. An interval shorter than `min_rtt` is no measurement.
    pub fn take_sample(&mut self, now: Time, min_rtt: Dur) -> RateSample {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = std::mem::take(&mut self.sample);
        let Some((_, newest)) = self.newest.take() else { return sample };
        self.first_sent = newest.sent;
        let interval = (newest.sent - newest.first_sent).max(now - newest.delivered_time);
        sample.prior_delivered = Some(newest.delivered);
        sample.delivered = self.delivered - newest.delivered;
        sample.app_limited = newest.app_limited;
        sample.tx_in_flight = newest.in_flight;
        sample.lost = self.lost - newest.lost;
        sample.rtt = (!newest.again).then(|| now - newest.sent);
        if interval >= min_rtt && interval > Dur::ZERO {
            sample.rate = f64::from(sample.delivered) / interval.secs();
        }
        sample
    }

    /// MarkConnectionAppLimited.
    pub fn mark_app_limited(&mut self) {
        self.app_limited = (self.delivered + self.in_flight).max(1);
    }

    /// All has been sent that may be: did that fill the window, and was there nothing left to send?
    pub fn note_fill(&mut self, una: u32, max: u32, fills: bool, empty: bool) {
        if fills || una >= self.filled_until {
            (self.filled, self.filled_until) = (fills, max);
        }
        if empty && !fills {
            self.mark_app_limited();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Time {
        Time(t * 1_000_000)
    }

    #[test]
    fn the_rate_of_a_bottleneck_is_found_in_two_round_trips() {
        // 10 segments at once; a round-trip time of 100 ms, then one every 5 ms: 200 segments/s.
        let mut d = DeliveryRate::default();
        (1..=10).for_each(|seq| d.sent(seq, ms(0)));
        let mut rates = Vec::new();
        for n in 0..10u32 {
            let now = ms(100 + 5 * u64::from(n));
            d.arrived(1 + n, now);
            rates.push(d.take_sample(now, Dur::ZERO).rate);
            d.sent(11 + n, now);
        }
        assert!((rates[9] - 10.0 / 0.145).abs() < 1e-9, "the first round trip includes its delay: {}", rates[9]);
        d.arrived(11, ms(200));
        let s = d.take_sample(ms(200), Dur::ZERO);
        assert_eq!((s.delivered, s.rtt), (10, Some(Dur(100_000_000))));
        assert!((s.rate - 10.0 / 0.1).abs() < 1e-9);
        d.arrived(12, ms(205));
        let rate = d.take_sample(ms(205), Dur::ZERO).rate;
        assert!((rate - 10.0 / 0.105).abs() < 1e-9, "it was sent 105 ms after the one whose arrival was known: {rate}");
    }

    #[test]
    fn compressed_acknowledgements_do_not_raise_the_rate_above_that_of_sending() {
        // A segment every 10 ms, all acknowledged within a moment.
        let mut d = DeliveryRate::default();
        (0..10u32).for_each(|n| d.sent(1 + n, ms(10 * u64::from(n))));
        (1..=5).for_each(|seq| d.arrived(seq, ms(100)));
        d.take_sample(ms(100), Dur::ZERO);
        (6..=10).for_each(|seq| d.arrived(seq, ms(101)));
        let s = d.take_sample(ms(101), Dur::ZERO);
        assert!((s.rate - 10.0 / 0.101).abs() < 1e-9, "{}", s.rate);
    }

    #[test]
    fn losses_count_from_the_transmission() {
        let mut d = DeliveryRate::default();
        (1..=4).for_each(|seq| d.sent(seq, ms(0)));
        d.arrived(4, ms(50));
        (1..=2).for_each(|seq| d.lost(seq));
        let lost = |seq, in_flight| LostSegment { seq, in_flight, lost: seq, app_limited: false };
        assert_eq!(d.take_losses(), [lost(1, 1), lost(2, 2)]);
        assert_eq!(d.in_flight(), 1);
        d.sent(1, ms(50));
        assert_eq!(d.in_flight(), 2);
        d.forget_below(2);
        d.arrived(3, ms(60));
        assert_eq!(d.take_sample(ms(60), Dur::ZERO).newly_acked, 2);
    }

    #[test]
    fn a_sample_is_app_limited_until_what_was_in_flight_is_delivered() {
        let mut d = DeliveryRate::default();
        d.sent(1, ms(0));
        d.note_fill(1, 2, false, true);
        d.sent(2, ms(1));
        d.arrived(1, ms(50));
        assert!(!d.take_sample(ms(50), Dur::ZERO).app_limited, "1 left before");
        d.arrived(2, ms(51));
        assert!(d.take_sample(ms(51), Dur::ZERO).app_limited);
        assert!(!d.is_app_limited());
    }
}

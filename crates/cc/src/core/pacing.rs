//! Pacing: segments leave at a rate, one by one or in short bursts.
//!
//! The rate of a window law is r max(cwnd, FlightSize)/srtt, with a ratio r for slow start (cwnd below half of ssthresh) and
//! one for congestion avoidance. A model of the path sets the rate itself. A segment that leaves at t lets the next one
//! leave at t + 1/rate. A segment that leaves late is made up for by up to half of that time. Of a burst (`pacing_burst`) all
//! leave at once, and the next one waits for as long as they take at the rate. The first segments of data
//! (`pacing_quantum`) are not paced, nor is anything before the first round-trip time is measured.
//!
//! Source: Linux, tcp_update_pacing_rate, tcp_update_skb_after_send and tcp_pacing_check; the first segments are the
//! initial quantum of its queue fq.
//!
//! Departures: Linux adds 64 KB / 2^(least round-trip time / 512 us) to a burst (tcp_tso_autosize), which is 1 segment at a round
//! trip of 3 ms and none from 4 ms on; its BBR lets single segments go below 1.2 Mbit/s (bbr_min_tso_segs). A sender does not wait for a burst to be full, as Linux does while its window allows no more
//! (tcp_tso_should_defer). Fast retransmits
//! of Reno and NewReno, limited transmit, probes and retransmissions after a timeout leave at once, and what follows waits for
//! them. The rate follows cwnd at each segment; in Linux it follows at the next acknowledgement.

use super::{Core, SendContext};
use crate::pacing::Pacing;
use marqueue_core::Time;

impl Core {
    /// The pacing that the settings ask for, at the start of a flow.
    pub(super) fn new_pacing(config: &crate::config::Config) -> Option<Box<Pacing>> {
        config.pacing.as_ref().map(|_| Box::new(Pacing::new(config.pacing_quantum)))
    }

    /// Must the segment that could be sent now wait for its time? If so, the sender's timer is set for it.
    #[inline]
    pub fn waits_for_pacing(&mut self, now: Time) -> bool {
        let Some(pacing) = self.pacing.as_deref_mut() else { return false };
        let waits = pacing.next > now && !pacing.burst.takes(now);
        pacing.due = if waits { pacing.next } else { Time::NEVER };
        waits
    }

    /// When a segment leaves that waits for its time; never, if none does.
    #[inline]
    pub fn pacing_due(&self) -> Time {
        self.pacing.as_ref().map_or(Time::NEVER, |pacing| pacing.due)
    }

    /// Is the time of a waiting segment reached? If so, it does not wait any longer.
    pub(crate) fn end_pacing_wait(&mut self, now: Time) -> bool {
        let reached = self.pacing_due() <= now;
        if let Some(pacing) = self.pacing.as_deref_mut().filter(|_| reached) {
            pacing.due = Time::NEVER;
        }
        reached
    }

    /// Nothing waits.
    pub(super) fn clear_pacing_wait(&mut self) {
        if let Some(pacing) = &mut self.pacing {
            pacing.due = Time::NEVER;
        }
    }

    /// A model of the path sets the rate, segments/s.
    pub(super) fn set_pacing_rate(&mut self, rate: f64) {
        if let Some(pacing) = &mut self.pacing {
            pacing.rate = Some(rate);
        }
    }

    /// The pacing rate in force, segments/s; 0 before there is one, `None` if the sender does not pace.
    pub fn pacing_rate(&self, config: &crate::config::Config) -> Option<f64> {
        let (pacing, ratios) = (self.pacing.as_ref()?, config.pacing?);
        if pacing.rate.is_some() {
            return pacing.rate;
        }
        let srtt = self.rto.srtt(config);
        let window = self.window.cwnd.max(f64::from(self.flight()));
        let ratio = if self.window.cwnd < self.window.ssthresh / 2.0 { ratios.slow_start } else { ratios.avoidance };
        Some(if srtt > 0.0 { ratio * window / srtt } else { 0.0 })
    }

    /// A segment of data leaves.
    pub(super) fn pace(&mut self, tx: &SendContext<'_>) {
        let rate = self.pacing_rate(tx.config).unwrap_or(0.0);
        if let Some(pacing) = &mut self.pacing {
            pacing.sent(tx.now, rate, tx.config.pacing_burst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segments_are_not_paced_and_half_a_gap_is_made_up_for() {
        let mut pacing = Pacing::new(2);
        for _ in 0..2 {
            pacing.sent(Time(500), 1e6, 1);
            assert_eq!(pacing.next, Time(500));
        }
        pacing.sent(Time(500), 1e6, 1);
        assert_eq!(pacing.next, Time(1500), "a microsecond a segment");
        pacing.sent(Time(1700), 1e6, 1);
        assert_eq!(pacing.next, Time(1700 + 1000 - 200), "200 ns late");
        pacing.sent(Time(9000), 1e6, 1);
        assert_eq!(pacing.next, Time(9500), "at most half");
        pacing.sent(Time(9200), 1e6, 1);
        assert_eq!(pacing.next, Time(10_500), "a retransmission that does not wait");
    }

    /// Bursts at `rate` segments/s with at most `most` segments: the size of each of three, and the times between them.
    fn bursts(rate: f64, most: u32) -> (Vec<u32>, Vec<u64>) {
        let mut pacing = Pacing::new(0);
        let (mut sizes, mut starts) = (Vec::new(), Vec::new());
        let mut now = Time(1_000_000_000);
        for _ in 0..3 {
            let mut size = 0;
            while pacing.next <= now || pacing.burst.takes(now) {
                pacing.sent(now, rate, most);
                size += 1;
            }
            sizes.push(size);
            starts.push(now.0);
            now = pacing.next;
        }
        (sizes, starts.windows(2).map(|w| w[1] - w[0]).collect())
    }

    #[test]
    fn a_burst_is_what_the_rate_sends_in_a_millisecond_at_least_two_at_most_the_limit() {
        assert_eq!(bursts(1e6, 1).0, [1, 1, 1]);
        assert_eq!(bursts(500.0, 44).0, [2, 2, 2]);
        assert_eq!(bursts(10_240.0, 44).0, [10, 10, 10]);
        assert_eq!(bursts(1e6, 44).0, [44, 44, 44]);
        // The rate is kept: from the second burst on, which makes up for nothing.
        assert_eq!(bursts(10_000.0, 4).1[1], 400_000);
        assert_eq!(bursts(10_000.0, 1).1[1], 100_000);
    }
}

//! Pacing: segments leave one by one at a rate, not in bursts.
//!
//! The rate of a window law is r max(cwnd, FlightSize)/srtt, with a ratio r for slow start (cwnd below half of ssthresh) and
//! one for congestion avoidance. A model of the path sets the rate itself. A segment that leaves at t lets the next one
//! leave at t + 1/rate. A segment that leaves late is made up for by up to half of that time. The first segments of data
//! (`pacing_quantum`) are not paced, nor is anything before the first round-trip time is measured.
//!
//! Source: Linux, tcp_update_pacing_rate, tcp_update_skb_after_send and tcp_pacing_check; the first segments are the
//! initial quantum of its queue fq.
//!
//! Departures: a segment leaves alone; Linux sends as many at once as make up about a millisecond (TSO). Fast retransmits
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
        let waits = pacing.next > now;
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
            pacing.sent(tx.now, rate);
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
            pacing.sent(Time(500), 1e6);
            assert_eq!(pacing.next, Time(500));
        }
        pacing.sent(Time(500), 1e6);
        assert_eq!(pacing.next, Time(1500), "a microsecond a segment");
        pacing.sent(Time(1700), 1e6);
        assert_eq!(pacing.next, Time(1700 + 1000 - 200), "200 ns late");
        pacing.sent(Time(9000), 1e6);
        assert_eq!(pacing.next, Time(9500), "at most half");
        pacing.sent(Time(9200), 1e6);
        assert_eq!(pacing.next, Time(10_500), "a retransmission that does not wait");
    }
}

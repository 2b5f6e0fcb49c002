//! Round-trip times and the retransmission timer: what is measured, when a back-off ends, when the timer runs.

use super::{Core, SendContext};
use crate::config::{Dialect, RttSamples};
use crate::segment::Ack;
use marqueue_core::Time;

impl Core {
    /// New data was acknowledged, with `flight` segments outstanding before. Measures the round-trip time by the
    /// timestamp, or if the timed segment is among those acknowledged.
    #[inline]
    pub(super) fn measure(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>, flight: u32) {
        let by_segment = tx.config.rtt_samples == RttSamples::Segments;
        if by_segment && self.una > 1 {
            // Measured by the loss recovery, which knows when each segment was sent. The SYN is none of its segments.
            return self.end_back_off(ack.ece);
        }
        if ack.echo.is_some() && !by_segment {
            self.end_back_off(ack.ece);
            return self.measure_echo(tx, ack, flight);
        }
        if !self.timed_is_acknowledged() {
            return;
        }
        let sent = std::mem::replace(&mut self.timed_since, Time::NEVER);
        self.end_back_off(ack.ece);
        self.measured = true;
        self.rto.sample(tx.config, sent, tx.now);
    }

    fn timed_is_acknowledged(&self) -> bool {
        self.timed_since != Time::NEVER && self.una > self.timed
    }

    /// RFC 7323, 4.1 and appendix G: the echoed timestamp of an acknowledgement of new data measures the round-trip
    /// time, retransmitted or not. A receiver acknowledges every second segment.
    pub(super) fn measure_echo(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>, flight: u32) {
        if let Some(echo) = ack.echo.filter(|_| tx.config.rtt_samples == RttSamples::Acknowledgements) {
            let sent = tx.config.sent_at(echo, tx.now);
            self.measured = true;
            self.rto.sample_often(tx.config, sent, tx.now, flight.div_ceil(2));
        }
    }

    /// A segment that was sent once, at `sent`, is known to have arrived.
    pub fn measure_segment(&mut self, tx: &SendContext<'_>, sent: Time) {
        self.measured = true;
        self.rto.sample(tx.config, sent, tx.now);
    }

    fn end_back_off(&mut self, ece: bool) {
        if !(self.ecn_negotiated && self.ecn_floor && ece) {
            self.rto.end_back_off();
            (self.ecn_floor, self.ecn_wait) = (false, false);
        }
    }

    /// Restarts the retransmission timer.
    #[inline]
    pub fn set_timer(&mut self, tx: &SendContext<'_>) {
        self.deadline = tx.now + self.rto.timeout(tx.config);
    }

    /// RFC 6298, 5.2 and 5.3. ns-2 keeps the timer running with nothing outstanding, which reopens a window below one
    /// segment.
    pub fn restart_timer(&mut self, tx: &SendContext<'_>) {
        if self.una < self.max || self.ecn_wait || tx.config.dialect == Dialect::Ns2 {
            self.set_timer(tx);
        } else {
            self.deadline = Time::NEVER;
        }
    }

    /// Stops all timers.
    pub fn stop_timers(&mut self) {
        self.deadline = Time::NEVER;
        self.repair_deadline = Time::NEVER;
        self.clear_pacing_wait();
    }
}

//! The reaction to ECN: an echo reduces the window once per window of data, and a loss that is detected in a window that
//! an echo has reduced does not reduce it again (RFC 3168, section 6.1.2).

use super::{Core, LastCut, SendContext};
use crate::accecn::{ace_bits, negotiated, Marks, Negotiated, SenderCounters};
use crate::config::{Config, Dialect, EcnReductionBase, EcnRequest, Recovery, Reduction};
use crate::law_list::EchoMode;
use crate::segment::Ack;
use crate::window_law::{EcnFeedback, Signal, Window};
use marqueue_core::Flags;

impl Core {
    /// An acknowledgement on an ECN connection, before it is processed.
    #[inline(always)]
    pub fn on_echo(&mut self, tx: &SendContext<'_>, ack: u32, ece: bool, marks: Marks) {
        self.control.on_echo(tx.config, EcnFeedback { now: tx.now, marks, ack, max: self.max });
        if ece && !tx.config.by_model {
            self.on_ece(tx, ack);
        }
    }

    /// What an acknowledgement newly reports, by the counters of AccECN.
    #[inline(never)]
    pub(crate) fn count_marks(&mut self, config: &Config, ack: &Ack<'_>) -> Marks {
        let (una, flight) = (self.una, self.flight());
        let duplicates = config.recovery != Recovery::Sack && ack.ack == una && flight > 0;
        self.extras.count().decode(config, ack, una, duplicates)
    }

    /// The flags by which a SYN asks for ECN: ECE, or all three for AccECN. The third SYN does not ask for AccECN, because
    /// a middlebox may drop those that do (RFC 9768, section 3.1.4.1).
    #[cold]
    pub(super) fn ecn_request(&self, config: &Config) -> Flags {
        match config.ecn_request {
            EcnRequest::None => Flags::NONE,
            EcnRequest::Classic => Flags::ECE,
            EcnRequest::AccEcn if self.counts.timeouts < 2 => Flags::AE | Flags::CWR | Flags::ECE,
            EcnRequest::AccEcn => Flags::NONE,
        }
    }

    /// What the SYN-ACK negotiates: is it ECN (RFC 3168, section 6.1.1; RFC 9768, Table 2)?
    pub(super) fn negotiate_ecn(&mut self, config: &Config, ack: &Ack<'_>) {
        self.ecn_negotiated = config.ecn
            && match config.ecn_request {
                EcnRequest::None => false,
                EcnRequest::Classic => ack.ece,
                EcnRequest::AccEcn => negotiated(ace_bits(ack.flags)) != Negotiated::Not,
            };
        if self.ecn_negotiated && config.feedback == EchoMode::Counted {
            self.extras.set_counters(SenderCounters::after(ack));
        }
    }

    /// RFC 3168, section 6.1.2: an ECN echo reduces the window, once per window of data.
    fn on_ece(&mut self, tx: &SendContext<'_>, ack: u32) {
        let ns2 = tx.config.dialect == Dialect::Ns2;
        if !(ack > self.recover || ns2 && self.last_cut == LastCut::Timeout) {
            return;
        }
        let counted = tx.config.echo == EchoMode::Counted;
        if counted && !self.control.answers_echo(tx.config, tx.now) {
            return;
        }
        self.recover = self.max;
        self.last_cut = LastCut::Ecn;
        self.counts.ecn_cuts += 1;
        let at_floor = self.window.cwnd <= 1.0 && !counted;
        if at_floor && self.ecn_floor {
            // RFC 9438, section 4.6: while echoes persist at one segment, the rate falls further.
            self.rto.back_off(tx.config);
        }
        self.ecn_floor = at_floor;
        if at_floor && !ns2 {
            self.ecn_wait = true;
            self.cwr_pending = true;
            self.set_timer(tx);
            return;
        }
        let (window, flight) = (self.window, self.flight());
        self.reduce_for_ece(tx.config);
        self.cut_nonvalidated(tx, window, flight, false);
    }

    /// Reduces the window for an ECN echo by the law or by ABE (RFC 8511, section 3.1).
    fn reduce_for_ece(&mut self, config: &Config) {
        let before = self.window;
        let flight = f64::from(self.flight() - self.limited);
        let left = self.cut(config, Signal::Ecn);
        if config.dialect == Dialect::Ns2 {
            return;
        }
        // RFC 8511, section 4: in congestion avoidance only.
        let left = config.abe_beta.filter(|_| before.cwnd > before.ssthresh).unwrap_or(left);
        let cwnd = config.counted(before.cwnd);
        let on_flight_size = config.ecn_reduction_base == EcnReductionBase::FlightSize;
        let base = if on_flight_size { flight.min(cwnd) } else { cwnd };
        let reduced = match config.whole_segments && config.echo == EchoMode::PerSegment {
            // Linux, dctcp_ssthresh: what is taken is rounded, so that it may be nothing.
            true => base - (base * (1.0 - left)).floor(),
            false => config.counted(base * left),
        };
        if config.echo == EchoMode::Counted {
            self.window = Window { cwnd: reduced.max(2.0), ssthresh: reduced.max(2.0) };
            return;
        }
        self.window = match config.ecn_reduction {
            Reduction::Cut => {
                let ssthresh = if on_flight_size { reduced } else { config.counted(flight * left) };
                Window { cwnd: reduced.max(1.0), ssthresh: ssthresh.max(2.0) }
            }
            Reduction::Prr => Window { cwnd, ssthresh: reduced.max(2.0) },
        };
    }

    /// Is an echo on an acknowledgement up to `ack` one from before the latest timeout? Retransmissions are not
    /// ECN-capable, and CWR, which would end the echo, is on new segments only: while what was outstanding at the timeout
    /// is sent again, every acknowledgement carries the echo of an old mark.
    pub(super) fn echo_is_old(&self, config: &Config, ack: u32) -> bool {
        let until_cwr = config.dialect == Dialect::Rfc && config.feedback == EchoMode::UntilCwr;
        until_cwr && self.last_cut == LastCut::Timeout && ack <= self.recover
    }

    /// Must a proportional reduction begin for the echo that has just arrived?
    pub fn echo_begins_reduction(&self, config: &Config) -> bool {
        config.ecn_reduction == Reduction::Prr
            && self.last_cut == LastCut::Ecn
            && self.recover == self.max
            && !self.ecn_floor
    }

    /// Has an ECN echo already reduced the window in which a loss is detected, so that the loss does not reduce it
    /// again (RFC 3168, section 6.1.2)? Never if an echo is a weaker signal than a loss (RFC 8257, section 3.5).
    pub fn ecn_has_cut(&self, config: &Config) -> bool {
        let in_reduced_window = match config.dialect {
            // The first segment after the reduction carries CWR; its loss reduces the window again.
            Dialect::Rfc => self.una < self.recover,
            Dialect::Ns2 => self.una <= self.recover,
        };
        self.last_cut == LastCut::Ecn && in_reduced_window && config.echo == EchoMode::UntilCwr
    }
}

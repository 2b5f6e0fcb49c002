//! The state that all TCP senders share, whatever their loss recovery: sequence variables, window, retransmission
//! timer, round-trip timing, sending.
//!
//! Submodules extend it: `loss` (the reaction to losses), `ecn` (the reaction to ECN), `timing` (round-trip times and the
//! timer), `application` (applications that write in pieces), `window_validation` (windows that are not used),
//! `slow_start` (the end of the first slow start), `pacing` (when segments leave), `bursts` (PSH), `model` (laws that are a model
//! of the path).

use crate::accecn::SenderCounters;
use crate::algo::AnyWindowLaw;
use crate::config::{Config, DctcpEct, Dialect, GrowthCounts, LostSynWindow, WindowValidation};
use crate::law_list::EchoMode;
use crate::pacing::Pacing;
use crate::rto::Rto;
use crate::segment::{Ack, Segment};
use crate::slow_start::SlowStartMonitor;
use crate::window_law::{AckedSegments, Window};
use marqueue_core::ring::prefetch_bounds;
use marqueue_core::{Dur, Flags, Time};

mod application;
mod bursts;
mod ecn;
mod extras;
mod loss;
mod model;
mod pacing;
mod slow_start;
mod timing;
mod window_use;
mod window_validation;

use extras::Extras;

/// The arguments of a call into the sender: the time, the settings, and the buffer for segments to send.
pub struct SendContext<'a> {
    /// Now.
    pub now: Time,
    /// The flow's settings.
    pub config: &'a Config,
    /// Segments to send, in order.
    pub out: &'a mut Vec<Segment>,
}

/// The cause of the last window reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastCut {
    /// Nothing yet.
    Nothing,
    /// Duplicate acknowledgements; loss recovery is in progress.
    Loss,
    /// Duplicate acknowledgements; loss recovery has ended.
    Repaired,
    /// ECN.
    Ecn,
    /// The retransmission timer.
    Timeout,
}

/// Counts for the flow table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments sent, the SYN and retransmissions included.
    pub sent: u32,
    /// Retransmissions.
    pub retransmits: u32,
    /// Expiries of the retransmission timer with data outstanding.
    pub timeouts: u32,
    /// Window reductions by ECN.
    pub ecn_cuts: u32,
}

/// The state of a sender for traces (compare `ss -ti` and TCP_INFO on Linux). Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderInfo {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow start threshold.
    pub ssthresh: f64,
    /// The latest round-trip time, if one has been measured.
    pub rtt: Option<Dur>,
    /// The smoothed round-trip time in seconds; 0 before the first measurement.
    pub srtt: f64,
    /// The retransmission timeout in force.
    pub rto: Dur,
}

/// State of a sender that does not depend on its loss recovery.
#[derive(Clone, Debug)]
pub struct Core {
    /// Oldest segment not acknowledged (SND.UNA).
    pub una: u32,
    /// Next segment to send (SND.NXT); falls back to `una` after a timeout.
    pub nxt: u32,
    /// One past the highest segment ever sent.
    pub max: u32,
    /// One past the last segment that the application has written.
    pub limit: u32,
    /// One past the last segment that it will ever write.
    pub end: u32,
    /// `max` at the last window reduction: acknowledgements up to here belong to that event (RFC 6582's recover, plus
    /// one).
    pub recover: u32,
    /// Duplicate acknowledgements in a row.
    pub dupacks: u32,
    /// By how many segments duplicate acknowledgements inflate the window (RFC 5681, 3.2, step 4).
    pub inflation: u32,
    /// Outstanding segments that limited transmit has sent on these duplicates.
    pub limited: u32,
    /// cwnd and ssthresh.
    pub window: Window,
    /// The cause of its last reduction.
    pub last_cut: LastCut,
    /// A round-trip time has been measured since this was last cleared.
    pub measured: bool,
    /// ECN has been negotiated.
    pub ecn_negotiated: bool,
    /// The latest ECN echoes arrived at a window of one segment.
    pub ecn_floor: bool,
    /// After such an echo nothing is sent before the timer expires.
    pub ecn_wait: bool,
    /// When the retransmission timer expires.
    pub deadline: Time,
    /// When the timer of the loss recovery expires.
    pub repair_deadline: Time,
    /// Round-trip estimate.
    pub rto: Rto,
    /// Counts.
    pub counts: Counts,
    control: AnyWindowLaw,
    /// Set CWR on the next segment.
    cwr_pending: bool,
    /// The segment being timed (one at a time; never a retransmission: Karn).
    timed: u32,
    /// When it was sent; never, if none is.
    timed_since: Time,
    /// `una` at the last timeout.
    timed_out: Option<u32>,
    syn_lost: bool,
    /// When segments leave, if the sender paces.
    pacing: Option<Box<Pacing>>,
    /// What only some senders have.
    extras: Extras,
}

impl Core {
    /// Prefetches what is outside it.
    pub fn prefetch_parts(&self) {
        self.control.prefetch();
        self.extras.prefetch();
        if let Some(pacing) = &self.pacing {
            prefetch_bounds(&**pacing);
        }
    }

    /// A sender with `size` segments of data, or with endless data. `phase` is uniform on [0, 1).
    pub fn new(config: &Config, size: Option<u32>, phase: f64) -> Core {
        let end = size.map_or(u32::MAX, |n| n.saturating_add(1));
        Core {
            una: 0,
            nxt: 0,
            max: 0,
            limit: end,
            end,
            recover: match config.dialect {
                // RFC 6582, 3.2: the initial sequence number.
                Dialect::Rfc => 0,
                Dialect::Ns2 => 1,
            },
            dupacks: 0,
            inflation: 0,
            limited: 0,
            window: Window { cwnd: 1.0, ssthresh: config.initial_ssthresh },
            last_cut: LastCut::Nothing,
            measured: false,
            ecn_negotiated: false,
            ecn_floor: false,
            ecn_wait: false,
            deadline: Time::NEVER,
            repair_deadline: Time::NEVER,
            rto: Rto::new(config, phase),
            counts: Counts::default(),
            control: AnyWindowLaw::new(config),
            cwr_pending: false,
            timed: 0,
            timed_since: Time::NEVER,
            timed_out: None,
            syn_lost: false,
            pacing: Core::new_pacing(config),
            extras: Extras::new(
                (config.window_validation == WindowValidation::Rfc7661 || config.pacing.is_some()).then(Box::default),
                SlowStartMonitor::new(config),
            ),
        }
        .with_seed(phase)
    }

    /// The connection is established without a SYN.
    pub fn establish(&mut self, tx: &SendContext<'_>) {
        let config = tx.config;
        (self.una, self.nxt, self.max) = (1, 1, 1);
        self.window.cwnd = config.initial_window;
        self.ecn_negotiated = config.ecn;
        self.start_model(tx);
    }

    /// The random draws of a model of the path begin with the flow's phase.
    fn with_seed(mut self, phase: f64) -> Core {
        if let Some(model) = self.control.model() {
            model.seed(phase.to_bits());
        }
        self
    }

    /// Segments outstanding, by the sender's sequence variables.
    pub fn flight(&self) -> u32 {
        self.max - self.una
    }

    /// The window in whole segments. RFC 3168, 6.1.2: after an ECN echo at a window of one segment the sender waits for
    /// its timer. In ns-2 the window has then fallen below one by itself.
    #[inline]
    pub fn usable_window(&self, config: &Config) -> u32 {
        if self.ecn_wait {
            return 0;
        }
        (self.window.cwnd as u32).saturating_add(self.inflation).min(config.max_window)
    }

    /// Sends one segment, new or old.
    #[inline(never)]
    pub fn send(&mut self, tx: &mut SendContext<'_>, seq: u32) {
        let ns2 = tx.config.dialect == Dialect::Ns2;
        let new = seq >= self.max;
        let mut flags = if new { Flags::NONE } else { Flags::RETRANSMIT };
        if seq == 0 {
            flags |= Flags::SYN | self.ecn_request(tx.config);
        } else if self.cwr_pending && (new || ns2) {
            if self.ecn_negotiated {
                flags |= Flags::CWR;
            }
            self.cwr_pending = false;
        }
        // Linux's tcp_push; only its receiver looks at it.
        if tx.config.quick_acks && seq > 0 && seq + 1 == self.limit {
            flags |= Flags::PSH;
        }
        let ect = self.is_ect(tx.config, seq, new);
        if ect {
            flags |= Flags::ANSWERS_CE;
        }
        let nothing_outstanding = self.una == self.max;
        if new {
            self.max = seq + 1;
            if self.timed_since == Time::NEVER {
                (self.timed, self.timed_since) = (seq, tx.now);
            }
        } else {
            self.counts.retransmits += 1;
            if self.timed == seq {
                self.timed_since = Time::NEVER;
            }
        }
        self.counts.sent += 1;
        if let Some(used) = self.extras.window_use() {
            used.last_sent = tx.now;
        }
        if self.pacing.is_some() && seq > 0 {
            self.pace(tx);
            self.note_sent(tx.now, seq);
        }
        tx.out.push(Segment { seq, flags, ect });
        if self.deadline == Time::NEVER || nothing_outstanding {
            self.set_timer(tx);
        }
    }

    /// Is this segment sent as ECN-capable? RFC 3168, sections 6.1.1 and 6.1.5: not the SYN and not retransmissions. A
    /// DCTCP connection may send both so (RFC 8257, sections 3.6 and 4.1); ns-2 sends all packets so but the first, which
    /// negotiates ECN even if it is data.
    fn is_ect(&self, config: &Config, seq: u32, new: bool) -> bool {
        if config.dialect == Dialect::Ns2 {
            return config.ecn && seq > u32::from(!config.handshake);
        }
        match seq {
            0 => config.ecn && config.ect != DctcpEct::Data,
            _ => self.ecn_negotiated && (new || config.ect == DctcpEct::All),
        }
    }

    /// Sends as much as the window allows, at most `burst` segments.
    #[inline(always)]
    pub fn fill_window(&mut self, tx: &mut SendContext<'_>, burst: u32) {
        self.end_nonvalidated_repair();
        let end = self.una.saturating_add(self.usable_window(tx.config)).min(self.limit);
        for _ in 0..burst {
            if self.nxt >= end || self.waits_for_pacing(tx.now) {
                break;
            }
            self.send(tx, self.nxt);
            self.nxt += 1;
        }
    }

    /// Is there new data that the receiver's window allows?
    pub fn can_send_new(&self, tx: &SendContext<'_>) -> bool {
        self.nxt < self.limit && self.nxt < self.una.saturating_add(tx.config.max_window)
    }

    /// RFC 3042: sends one new segment on each of the first two duplicate acknowledgements. In ns-2 it may be one that
    /// must be sent again after a timeout.
    pub fn limited_transmit(&mut self, tx: &mut SendContext<'_>) {
        if self.nxt < self.max && tx.config.dialect == Dialect::Rfc {
            return;
        }
        let beyond = f64::from(self.nxt) + 1.0 <= f64::from(self.una) + self.window.cwnd + f64::from(self.dupacks);
        if tx.config.limited_transmit && beyond && self.can_send_new(tx) {
            self.send(tx, self.nxt);
            self.nxt += 1;
            self.limited += 1;
        }
    }

    /// All segments below `ack` have been acknowledged.
    pub fn advance(&mut self, ack: u32) {
        debug_assert!(ack >= self.una && ack <= self.max);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
    }

    /// A partial acknowledgement during loss recovery: updates the sequence variables, and the round-trip time if there
    /// is a timestamp.
    pub fn acknowledge_part(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>) {
        let flight = self.flight();
        self.advance(ack.ack);
        // They are the newest.
        self.limited = self.limited.min(self.flight());
        self.measure_echo(tx, ack, flight);
    }

    /// New data was acknowledged outside loss recovery: updates everything but the window.
    #[inline(always)]
    pub fn acknowledge(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>) {
        let flight = self.flight();
        self.dupacks = 0;
        self.limited = 0;
        self.advance(ack.ack);
        self.measure(tx, ack, flight);
        self.restart_timer(tx);
    }

    /// Was the first packet acknowledged that the connection begins with, `una`, so that the window does not grow? That is
    /// the SYN; in ns-2 without SYN it is the data that negotiates ECN.
    fn is_opened(&mut self, tx: &SendContext<'_>, una: u32, ack: &Ack<'_>) -> bool {
        if una == 1 {
            return tx.config.dialect == Dialect::Ns2 && tx.config.ecn && !tx.config.handshake;
        }
        self.window.cwnd = tx.config.initial_window;
        if self.syn_lost {
            if tx.config.lost_syn_window == LostSynWindow::Always || self.counts.retransmits > 1 {
                self.window.cwnd = 1.0;
            }
            self.rto.reset_after_lost_syn(tx.config);
        }
        self.negotiate_ecn(tx.config, ack);
        self.start_model(tx);
        true
    }

    /// [`Core::acknowledge`], then the window grows: by slow start, by the window law, or to the initial window.
    #[inline(always)]
    pub fn acknowledge_and_open(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>) {
        let mut acked = ack.ack - self.una;
        if tx.config.growth_counts == GrowthCounts::Delivered {
            // Each duplicate has reported one of them (Linux, tcp_remove_reno_sacks).
            acked = acked.saturating_sub(self.dupacks).max(1);
        }
        self.acknowledge_and_open_for(tx, ack, acked);
    }

    /// The same, where the window grows for `acked` segments.
    #[inline(always)]
    pub fn acknowledge_and_open_for(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>, acked: u32) {
        let una = self.una;
        let may_open = self.may_open(tx, ack.ack);
        self.acknowledge(tx, ack);
        if una <= 1 && self.is_opened(tx, una, ack) {
            return;
        }
        let ece = self.ecn_negotiated && ack.ece && !self.echo_is_old(tx.config, ack.ack);
        if ece && tx.config.echo == EchoMode::Counted {
            if may_open {
                let marked = self.extras.counters().map_or(0, |counters| counters.latest());
                self.open(tx, acked.saturating_sub(marked));
            }
        } else if !ece {
            (self.ecn_floor, self.ecn_wait) = (false, false);
            if may_open {
                self.open(tx, acked);
            } else {
                self.control.on_unused_window(tx.now);
            }
        }
    }

    /// Grows the window for `acked` segments: slow start (RFC 5681, 3.1), or the window law.
    #[inline]
    fn open(&mut self, tx: &SendContext<'_>, acked: u32) {
        if tx.config.by_model {
            return;
        }
        if self.window.in_slow_start() && !tx.config.law_has_slow_start {
            // Several segments at once do not raise it beyond ssthresh: after a timeout one acknowledgement may cover a
            // whole window.
            let more = self.slow_start_growth(tx, f64::from(acked));
            let Window { cwnd, ssthresh } = self.window;
            self.window.cwnd = (cwnd + more).min(ssthresh.max(cwnd + 1.0));
        } else {
            let segments = if tx.config.dialect == Dialect::Ns2 { 1.0 } else { f64::from(acked) };
            let outstanding = f64::from(self.flight() + acked);
            let acked = AckedSegments { now: tx.now, config: tx.config, rto: &self.rto, segments, outstanding };
            self.control.on_ack(&mut self.window, &acked);
            if let Some(rate) = self.control.pacing_rate() {
                self.set_pacing_rate(rate);
            }
        }
    }

    /// Its state for traces.
    pub fn info(&self, config: &Config) -> SenderInfo {
        SenderInfo {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            rtt: self.rto.latest(),
            srtt: self.rto.srtt(config),
            rto: self.rto.timeout(config),
        }
    }

    /// What AccECN has reported of this connection, once it has reported anything.
    pub fn marks_reported(&self) -> Option<&SenderCounters> {
        self.extras.counters()
    }

    /// Has all data of the application been acknowledged?
    pub fn is_done(&self) -> bool {
        self.una >= self.end
    }
}

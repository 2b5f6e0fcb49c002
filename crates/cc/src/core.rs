//! The state that all TCP senders share, whatever their loss recovery: sequence variables, window, retransmission
//! timer, round-trip timing, sending.
//!
//! Submodules extend it: `ecn` (the reaction to ECN), `application` (applications that write in pieces),
//! `window_validation` (windows that are not used), `slow_start` (the end of the first slow start).

use crate::algo::AnyWindowLaw;
use crate::config::{Config, DctcpEct, Dialect, FlightSize, WindowValidation};
use crate::rto::Rto;
use crate::segment::{Ack, Segment};
use crate::slow_start::SlowStartMonitor;
use crate::window_law::{AckedSegments, Signal, Window};
use marqueue_core::{Dur, Flags, Time};

mod application;
mod ecn;
mod slow_start;
mod window_use;
mod window_validation;

use window_use::WindowUse;

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
    /// The use of the window, where that is remembered.
    window_use: Option<Box<WindowUse>>,
    /// The algorithm that may end the first slow start, while that lasts.
    slow_start_monitor: Option<Box<SlowStartMonitor>>,
}

impl Core {
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
            window_use: (config.window_validation == WindowValidation::Rfc7661).then(Box::default),
            slow_start_monitor: SlowStartMonitor::new(config),
        }
    }

    /// The connection is established without a SYN.
    pub fn establish(&mut self, config: &Config) {
        (self.una, self.nxt, self.max) = (1, 1, 1);
        self.window.cwnd = config.initial_window;
        self.ecn_negotiated = config.ecn;
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
            flags |= Flags::SYN;
            if tx.config.ecn {
                flags |= Flags::ECE;
            }
        } else if self.cwr_pending && (new || ns2) {
            flags |= Flags::CWR;
            self.cwr_pending = false;
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
        if let Some(used) = &mut self.window_use {
            used.last_sent = tx.now;
        }
        tx.out.push(Segment { seq, flags, ect });
        if self.deadline == Time::NEVER || nothing_outstanding {
            self.set_timer(tx);
        }
    }

    /// Is this segment sent as ECN-capable? RFC 3168, sections 6.1.1 and 6.1.5: not the SYN and not retransmissions. A
    /// DCTCP connection may send both so (RFC 8257, sections 3.6 and 4.1); ns-2 sends all data so.
    fn is_ect(&self, config: &Config, seq: u32, new: bool) -> bool {
        if config.dialect == Dialect::Ns2 {
            return config.ecn && seq > 0;
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
            if self.nxt >= end {
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

    /// Restarts the retransmission timer.
    #[inline]
    pub fn set_timer(&mut self, tx: &SendContext<'_>) {
        self.deadline = tx.now + self.rto.timeout(tx.config);
    }

    /// All segments below `ack` have been acknowledged.
    pub fn advance(&mut self, ack: u32) {
        debug_assert!(ack >= self.una && ack <= self.max);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
    }

    /// New data was acknowledged, with `flight` segments outstanding before. Measures the round-trip time by the
    /// timestamp, or if the timed segment is among those acknowledged.
    #[inline]
    fn measure(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>, flight: u32) {
        if ack.echo.is_some() {
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
    fn measure_echo(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>, flight: u32) {
        if let Some(echo) = ack.echo {
            let sent = tx.config.sent_at(echo, tx.now);
            self.measured = true;
            self.rto.sample_often(tx.config, sent, tx.now, flight.div_ceil(2));
        }
    }

    fn end_back_off(&mut self, ece: bool) {
        if !(self.ecn_negotiated && self.ecn_floor && ece) {
            self.rto.end_back_off();
            (self.ecn_floor, self.ecn_wait) = (false, false);
        }
    }

    /// A partial acknowledgement during loss recovery: updates the sequence variables, and the round-trip time if there
    /// is a timestamp.
    pub fn acknowledge_part(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>) {
        let flight = self.flight();
        self.advance(ack.ack);
        self.measure_echo(tx, ack, flight);
    }

    /// ns-2, on a partial acknowledgement: a timed segment that it covers ends the back-off but gives no round-trip
    /// time.
    pub fn discard_measurement(&mut self) {
        if self.timed_is_acknowledged() {
            self.timed_since = Time::NEVER;
            self.rto.end_back_off();
        }
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

    /// [`Core::acknowledge`], then the window grows: by slow start, by the window law, or to the initial window.
    #[inline(always)]
    pub fn acknowledge_and_open(&mut self, tx: &SendContext<'_>, ack: &Ack<'_>) {
        let acked = ack.ack - self.una;
        let first = self.una == 0;
        let may_open = self.may_open(tx, ack.ack);
        self.acknowledge(tx, ack);
        if first {
            self.window.cwnd = tx.config.initial_window;
            if self.syn_lost {
                // RFC 5681, section 3.1.
                self.window.cwnd = 1.0;
                self.rto.reset_after_lost_syn(tx.config);
            }
            self.ecn_negotiated = tx.config.ecn && ack.ece;
            return;
        }
        let ece = self.ecn_negotiated && ack.ece;
        if !ece {
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
        if self.window.in_slow_start() {
            // Several segments at once do not raise it beyond ssthresh: after a timeout one acknowledgement may cover a
            // whole window.
            let more = self.slow_start_growth(tx, f64::from(acked));
            let Window { cwnd, ssthresh } = self.window;
            self.window.cwnd = (cwnd + more).min(ssthresh.max(cwnd + 1.0));
        } else {
            let segments = if tx.config.dialect == Dialect::Ns2 { 1.0 } else { f64::from(acked) };
            let acked = AckedSegments { now: tx.now, config: tx.config, rto: &self.rto, segments };
            self.control.on_ack(&mut self.window, &acked);
        }
    }

    /// FlightSize of RFC 5681, equation (4), without what limited transmit has sent (section 3.2, step 2).
    ///
    /// The text defines it as all that is not cumulatively acknowledged (section 2), and where it is used, as what is
    /// outstanding in the network. In loss recovery the first includes what was received above a hole, which may be
    /// several windows: a timeout would leave a larger ssthresh than the loss before it, where section 4.3 wants it
    /// lowered twice.
    fn flight_size(&self, config: &Config) -> f64 {
        let outstanding = f64::from(self.flight() - self.limited);
        match config.flight_size {
            FlightSize::Outstanding => outstanding,
            FlightSize::Window => outstanding.min(self.window.cwnd),
        }
    }

    /// Reduces ssthresh and cwnd by the window law. Returns the share that is left.
    fn cut(&mut self, config: &Config, signal: Signal) -> f64 {
        self.slow_start_monitor = None;
        let cwnd = match config.dialect {
            Dialect::Rfc => self.window.cwnd,
            // ns-2's window grows beyond the receiver's, which is not in the network.
            Dialect::Ns2 => self.window.cwnd.min(f64::from(config.max_window)),
        };
        let left = self.control.decrease(config, config.counted(cwnd), signal);
        match config.dialect {
            // RFC 5681, equation (4).
            Dialect::Rfc => {
                self.window.ssthresh = config.counted(self.flight_size(config) * left).max(2.0);
                self.window.cwnd = self.window.ssthresh;
            }
            // ns-2 halves the window itself, inflation included, and rounds only ssthresh.
            Dialect::Ns2 => {
                let half = (self.window.cwnd + f64::from(self.inflation)).min(f64::from(config.max_window)) * left;
                self.window.ssthresh = half.floor().max(2.0);
                self.window.cwnd = half;
            }
        }
        self.cwr_pending = true;
        left
    }

    /// A retransmission was lost too: a second signal (RFC 5681, 4.3). The outstanding data says nothing about the
    /// network during recovery, so ssthresh is reduced.
    pub fn cut_again(&mut self, config: &Config) {
        let left = self.control.decrease(config, self.window.cwnd, Signal::Loss);
        self.window.ssthresh = (self.window.ssthresh * left).max(2.0);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.cwr_pending = true;
    }

    /// A loss was detected: fast recovery begins. `cut`: reduce the window.
    pub fn begin_repair(&mut self, tx: &mut SendContext<'_>, cut: bool) {
        if cut {
            let (window, flight) = (self.window, self.flight());
            self.recover = self.max;
            self.cut(tx.config, Signal::Loss);
            self.cut_nonvalidated(tx, window, flight, true);
        }
        self.last_cut = LastCut::Loss;
        self.timed_since = Time::NEVER;
        self.set_timer(tx);
    }

    /// Retransmits the oldest segment after duplicate acknowledgements. `cut`: reduce the window.
    pub fn fast_retransmit(&mut self, tx: &mut SendContext<'_>, cut: bool) {
        self.begin_repair(tx, cut);
        self.send(tx, self.una);
    }

    /// The retransmission timer has expired: RFC 5681, 3.1 and 3.2; RFC 6298, 5.4 to 5.6.
    pub fn on_timeout(&mut self, tx: &mut SendContext<'_>) {
        let outstanding = self.una < self.max;
        self.inflation = 0;
        self.dupacks = 0;
        self.limited = 0;
        let repeated = self.timed_out == Some(self.una);
        if outstanding {
            self.counts.timeouts += 1;
            self.timed_out = Some(self.una);
            self.syn_lost |= self.una == 0;
            self.shrink_after_timeout(tx.config, repeated);
            self.control.on_timeout();
            self.rto.back_off(tx.config);
        }
        self.recover = self.max;
        self.cwr_pending = true;
        self.ecn_wait = false;
        self.window.cwnd = 1.0;
        self.last_cut = LastCut::Timeout;
        self.nxt = self.una;
        self.timed_since = Time::NEVER;
        self.set_timer(tx);
    }

    /// Sets ssthresh after a timeout. RFC 5681, 3.1: not again for a segment that a timeout has already retransmitted;
    /// ns-2: not if ECN has just reduced it.
    fn shrink_after_timeout(&mut self, config: &Config, repeated: bool) {
        let keep = match config.dialect {
            Dialect::Rfc => repeated || self.is_reducing() && !config.timeout_cuts_again,
            Dialect::Ns2 => self.last_cut == LastCut::Ecn,
        };
        if keep {
            self.window.ssthresh = self.window.ssthresh.max(2.0);
        } else {
            let repairing = self.last_cut == LastCut::Loss && config.dialect == Dialect::Rfc;
            // Proportional rate reduction lets cwnd follow what is in flight; the window that it aims at is ssthresh.
            let least = if repairing { self.window.ssthresh } else { 1.0 };
            self.window.cwnd = self.window.cwnd.max(least);
            self.cut(config, Signal::Loss);
        }
    }

    /// Is a loss being repaired, or has ECN reduced the window that is outstanding?
    fn is_reducing(&self) -> bool {
        matches!(self.last_cut, LastCut::Loss | LastCut::Ecn) && self.una < self.recover
    }

    /// Stops all timers.
    pub fn stop_timers(&mut self) {
        self.deadline = Time::NEVER;
        self.repair_deadline = Time::NEVER;
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

    /// Has all data of the application been acknowledged?
    pub fn is_done(&self) -> bool {
        self.una >= self.end
    }
}

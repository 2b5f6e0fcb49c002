//! Loss recovery by time: RACK-TLP, RFC 8985, with the window reduction of `prr.rs`.
//!
//! A segment is lost if one that was sent later has arrived and the reordering window has passed:
//! sent + RACK.rtt + RACK.reo_wnd <= now (`detector.rs`). Lost retransmissions are detected in the same way. At the tail
//! of a flight, where nothing sent later can arrive, a probe is sent
//! (`probe.rs`). Of the timers for reordering, for the probe and for retransmission only one is armed at a time
//! (section 8).
//! While less than the window is in flight, lost segments are sent again, lowest first, then new data. In flight is what
//! is neither sacked nor lost.
//! If a retransmission is lost too, and the window is not reduced in proportion, it is reduced a second time, once for
//! all retransmissions that were sent since the last reduction (section 9.3; RFC 5681, section 4.3).
//! After a timeout the scoreboard is kept, and only what section 6.3 says is lost is sent again.
//! Departures: RACK.min_RTT is the smallest of the whole connection, where section 6.2, step 1 wants (SHOULD) a
//! windowed minimum that adapts to longer paths: paths do not change here. A loss in a window that ECN has just reduced
//! is repaired without a second reduction (RFC 3168, section 6.1.2).

mod detector;
mod probe;
mod rtt_sample;
mod scoreboard;
mod spurious;

use super::loss_recovery::LossRecovery;
use super::prr::{Progress, WindowReduction};
use super::repair_info::{RepairInfo, RepairState};
use crate::config::{GrowthCounts, Reduction, RttSamples};
use crate::core::{Core, LastCut, SendContext};
use crate::path_model::RepairPhase;
use crate::segment::Ack;
use detector::{Detector, ReorderingInputs, Report};
use marqueue_core::ring::prefetch_bounds;
use marqueue_core::{Dur, Time};
use probe::Probe;
use rtt_sample::RttSample;
use scoreboard::Scoreboard;
use spurious::SpuriousCheck;
use std::ops::Range;

/// The phase of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No recovery.
    #[default]
    Open,
    /// No recovery, but the window is being reduced for an ECN echo.
    Cwr,
    /// Fast recovery: a loss was detected by acknowledgements.
    Fast,
    /// Recovery after a retransmission timeout.
    Timeout,
}

/// State of RACK-TLP.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    scoreboard: Scoreboard,
    detector: Detector,
    probe: Probe,
    reducing: WindowReduction,
    phase: Phase,
    /// Until when to wait for reordered segments.
    wait: Option<Time>,
    /// When the window was last cut for a loss.
    cut_at: Time,
    /// SND.UNA and SND.NXT when the probe timer was last started.
    progress: (u32, u32),
    /// An acknowledgement that is being processed has ended a recovery.
    ended: bool,
    /// Was the last recovery spurious?
    spurious: SpuriousCheck,
}

/// The information of an acknowledgement, or of the reordering timer.
#[derive(Clone, Copy, Debug, Default)]
struct AckSummary {
    /// It carries a D-SACK.
    dsack: bool,
    /// It has ended a recovery.
    recovered: bool,
    progress: Progress,
}

impl Rack {
    /// Prefetches it.
    pub fn prefetch(&self) {
        prefetch_bounds(&self.scoreboard);
        prefetch_bounds(&self.detector);
        prefetch_bounds(&self.probe);
        prefetch_bounds(&self.reducing);
        prefetch_bounds(&self.spurious);
    }

    /// Prefetches what it knows of segments. It must be in the cache itself.
    pub fn prefetch_segments(&self) {
        self.scoreboard.prefetch_segments();
    }

    fn send(&mut self, core: &mut Core, tx: &mut SendContext<'_>, seq: u32) {
        if seq < core.max && self.repairing() {
            self.spurious.sent_again(tx.now);
        }
        core.send(tx, seq);
        core.nxt = core.nxt.max(seq + 1);
        self.scoreboard.sent(seq, tx.now);
        self.reducing.sent(1);
    }

    fn fill(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        self.repair_and_fill(core, tx, false);
    }

    /// Sends what is lost, then new data, while the window has room. If the window has just been cut, the
    /// fast retransmit goes out though there may be none.
    fn repair_and_fill(&mut self, core: &mut Core, tx: &mut SendContext<'_>, mut begun: bool) {
        // Before the handshake there is nothing to send but the SYN.
        let window = if core.una == 0 { 0 } else { core.usable_window(tx.config) };
        loop {
            let first = std::mem::take(&mut begun);
            if !first && self.scoreboard.in_flight() >= window {
                break;
            }
            let new = Some(core.nxt).filter(|_| core.can_send_new(tx));
            let Some(seq) = self.scoreboard.first_lost().or(new) else { break };
            if !first && core.waits_for_pacing(tx.now) {
                break;
            }
            // What goes out while segments are sacked is no part of the window that a loss cuts
            // (RFC 5681, 3.2, step 2).
            core.limited += u32::from(seq == core.max && !self.repairing() && self.scoreboard.count_sacked() > 0);
            self.send(core, tx, seq);
        }
        if tx.config.by_model {
            self.note_fill(core, tx, window);
        }
        self.set_timer(core, tx);
    }

    /// All has been sent that may be: a model of the path learns whether that filled the window.
    fn note_fill(&mut self, core: &mut Core, tx: &SendContext<'_>, window: u32) {
        let fills = self.scoreboard.in_flight() >= window;
        let empty = core.una > 0 && !core.can_send_new(tx) && self.scoreboard.first_lost().is_none();
        let (una, max) = (core.una, core.max);
        if let Some(delivery) = core.delivery() {
            delivery.note_fill(una, max, fills, empty);
        }
    }

    /// The loss recovery, for a model of the path.
    fn repair_phase(&self) -> RepairPhase {
        match self.phase {
            Phase::Open | Phase::Cwr => RepairPhase::None,
            Phase::Fast => RepairPhase::Fast,
            Phase::Timeout => RepairPhase::Timeout,
        }
    }

    /// Updates the scoreboard and the detector by an acknowledgement. Returns the number of segments newly reported as
    /// delivered.
    fn update_scoreboard(&mut self, core: &mut Core, tx: &SendContext<'_>, ack: &Ack<'_>) -> u32 {
        let Rack { scoreboard, detector, .. } = self;
        let una = core.una;
        let mut delivery = core.delivery();
        let mut delivered = 0;
        let mut sample = RttSample::default();
        let report = Report { now: tx.now, ack: ack.ack, rtt: tx.config.rack_rtt };
        while let Some((seq, sent, news)) = scoreboard.pop_acknowledged(ack.ack) {
            sample.acknowledged(&sent, news);
            if news {
                delivered += 1;
                detector.arrived(seq, sent, report);
                if let Some(delivery) = &mut delivery {
                    delivery.arrived(seq, tx.now);
                }
            }
        }
        scoreboard.trim(ack.ack);
        // From below: the first block is the latest, and what lies below it has not come late if the
        // acknowledgement that should have told of it was lost.
        let mut from = ack.ack.max(una);
        while let Some(&(start, end)) = ack.sack.iter().filter(|b| b.1 > from).min_by_key(|b| b.0) {
            scoreboard.sack(start.max(from), end, |seq, sent| {
                sample.sacked(&sent);
                delivered += 1;
                detector.arrived(seq, sent, report);
                if let Some(delivery) = &mut delivery {
                    delivery.arrived(seq, tx.now);
                }
            });
            from = end;
        }
        if let Some(delivery) = &mut delivery {
            delivery.forget_below(ack.ack);
        }
        detector.finish_update(report, |sent| {
            ack.echo.is_some_and(|echo| tx.config.timestamp(sent).wrapping_sub(echo) as i32 > 0)
        });
        if tx.config.rtt_samples == RttSamples::Segments && ack.ack >= una {
            let echoed = ack.echo.filter(|_| ack.ack > una).map(|echo| tx.config.sent_at(echo, tx.now));
            if let Some(sent) = sample.sent().or(echoed) {
                core.measure_segment(tx, sent);
            }
        }
        delivered
    }

    /// Steps 4 and 5: detects losses. Returns true if a reduction begins, or the window is reduced again.
    fn detect(&mut self, core: &mut Core, tx: &mut SendContext<'_>, news: AckSummary) -> bool {
        let AckSummary { dsack, recovered, progress } = news;
        self.detector.widen(ReorderingInputs {
            una: core.una,
            nxt: core.max,
            dsack,
            repairing: self.repairing(),
            recovered,
            srtt: Dur::from_secs(core.rto.srtt(tx.config)),
            many_sacked: self.scoreboard.count_sacked() >= tx.config.dupthresh,
        });
        let before = self.scoreboard.in_flight() + progress.delivered;
        let mut delivery = core.delivery();
        let found = self.detector.detect(&mut self.scoreboard, tx.now, |seq| {
            if let Some(delivery) = &mut delivery {
                delivery.lost(seq);
            }
        });
        self.wait = found.wait;
        let begins = found.lost && !self.repairing();
        let again = !begins
            && tx.config.reduction == Reduction::Cut
            && found.retransmission.is_some_and(|at| at >= self.cut_at);
        // A reduction that an echo has begun goes on, towards a lower ssthresh if a loss is a stronger signal (Linux,
        // tcp_enter_recovery).
        let goes_on = begins && self.phase == Phase::Cwr && tx.config.reduction == Reduction::Prr;
        if begins {
            self.begin_check(core, tx);
            self.phase = Phase::Fast;
            self.probe.clear();
            if !goes_on {
                self.reducing.end(core);
                self.reducing = WindowReduction::begin(tx.config.reduction, before);
            }
            core.begin_repair(tx, !core.ecn_has_cut(tx.config));
            core.recover = core.max;
        } else if again {
            core.cut_again(tx.config);
        }
        if begins || again {
            self.cut_at = tx.now;
        }
        if matches!(self.phase, Phase::Cwr | Phase::Fast) {
            let in_flight = self.scoreboard.in_flight();
            self.reducing.on_ack(core, Progress { in_flight, safe: progress.safe && !found.lost, ..progress });
        }
        begins && !goes_on || again
    }

    /// Arms the timer for segments that may be late, or for a probe, counted from when new data was last sent or
    /// acknowledged (section 7.2). While it is armed, the retransmission timer cannot expire (section 8); if its time has
    /// passed, it starts again.
    fn set_timer(&mut self, core: &mut Core, tx: &SendContext<'_>) {
        self.arm_timer(core, tx);
        if core.repair_deadline == Time::NEVER && core.deadline <= tx.now {
            core.set_timer(tx);
        }
    }

    fn arm_timer(&mut self, core: &mut Core, tx: &SendContext<'_>) {
        let quiet = !self.repairing() && self.scoreboard.count_sacked() == 0;
        let before = std::mem::replace(&mut self.progress, (core.una, core.max));
        core.repair_deadline = match self.wait {
            Some(due) => due,
            None if quiet && core.una > 0 && core.flight() > 0 => {
                if before == self.progress {
                    return;
                }
                Probe::due(core, tx)
            }
            None => Time::NEVER,
        };
    }

    /// An ECN echo has just arrived, the first in a window of data: reduces the window to ssthresh in proportion to
    /// delivered segments, without growth, until data sent from now on is acknowledged (Linux's CWR state).
    fn begin_cwr(&mut self, core: &Core, tx: &SendContext<'_>) {
        if self.phase != Phase::Cwr && core.echo_begins_reduction(tx.config) {
            self.phase = Phase::Cwr;
            // A mark proves congestion: what an earlier recovery has taken does not come back (Linux, tcp_enter_cwr).
            self.spurious.take_window();
            self.reducing = WindowReduction::begin(Reduction::Prr, self.scoreboard.in_flight());
        }
    }

    /// Data sent after the echo is acknowledged: the reduction is over.
    fn end_cwr(&mut self, core: &mut Core, ack: u32) {
        if self.phase == Phase::Cwr && ack > core.recover {
            self.reducing.end(core);
            self.phase = Phase::Open;
        }
    }

    fn repairing(&self) -> bool {
        matches!(self.phase, Phase::Fast | Phase::Timeout)
    }

    /// The segments that a D-SACK reports.
    fn read_dsack(&mut self, core: &mut Core, tx: &SendContext<'_>, ack: &Ack<'_>) -> Option<Range<u32>> {
        let dsack = spurious::dsack(ack);
        let range = dsack.as_ref().filter(|_| tx.config.by_model || tx.config.undo_spurious);
        if range.is_some_and(|range| self.spurious.is_spurious(range)) {
            self.undo(core);
        }
        dsack
    }

    /// Does an acknowledgement of new data show that a segment has arrived that was thought lost?
    fn is_of_original(&self, tx: &SendContext<'_>, ack: &Ack<'_>) -> bool {
        let times = ack.echo.zip(self.spurious.first_retransmission());
        times.is_some_and(|(echo, first)| tx.config.timestamp(first).wrapping_sub(echo) as i32 > 0)
    }

    /// An original has arrived. What was sent again and may still come tells, before the end, whether all did (Linux,
    /// tcp_try_undo_partial).
    fn undo_on_original(&mut self, core: &mut Core, ack: u32) {
        self.detector.note_reordering();
        let ends = ack >= core.recover || self.phase != Phase::Fast;
        if ends || self.scoreboard.retransmitted().next().is_none() {
            self.scoreboard.unmark_lost();
            self.undo(core);
        }
    }

    /// What the last recovery has done is taken back, as far as that is known how. It ends with that, if nothing else is
    /// lost.
    fn undo(&mut self, core: &mut Core) {
        if self.repairing() && self.scoreboard.count_lost() == 0 {
            self.leave(core);
            // It does not count for the reordering window (Linux, tcp_try_undo_recovery).
            self.ended = false;
        }
        core.undo_recovery(self.spurious.take_window());
    }

    /// A recovery begins. The window that it reduces can come back, but not one that ECN has reduced; a model of the path
    /// remembers its own.
    fn begin_check(&mut self, core: &Core, tx: &SendContext<'_>) {
        let config = tx.config;
        let kept = config.undo_spurious && !config.by_model && self.phase == Phase::Open && !core.ecn_has_cut(config);
        let before = kept.then(|| spurious::kept(core.window));
        self.spurious.begin(core.una, self.scoreboard.retransmitted(), before);
    }

    /// A loss has been repaired up to the end of what was outstanding.
    fn leave(&mut self, core: &mut Core) {
        self.reducing.end(core);
        self.phase = Phase::Open;
        self.ended = true;
        core.last_cut = LastCut::Repaired;
    }

    /// New data was acknowledged. Returns true if that ends a recovery.
    fn on_new_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>, delivered: u32) -> bool {
        self.end_cwr(core, ack.ack);
        if matches!(self.phase, Phase::Cwr | Phase::Fast) {
            core.acknowledge(tx, ack);
        } else if tx.config.growth_counts == GrowthCounts::Delivered {
            core.acknowledge_and_open_for(tx, ack, delivered);
        } else {
            core.acknowledge_and_open(tx, ack);
        }
        if self.repairing() && core.una >= core.recover {
            self.leave(core);
        }
        std::mem::take(&mut self.ended)
    }
}

impl LossRecovery for Rack {
    fn on_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        if core.una == 0 {
            core.acknowledge_and_open(tx, ack);
            self.detector.connected(Dur::from_secs(core.rto.srtt(tx.config)));
            return self.fill(core, tx);
        }
        self.begin_cwr(core, tx);
        let dsack = self.read_dsack(core, tx, ack);
        if self.probe.on_ack(core, ack, dsack.as_ref().map(|d| d.start)) {
            core.begin_repair(tx, !core.ecn_has_cut(tx.config));
            core.last_cut = LastCut::Repaired;
        }
        let delivered = self.update_scoreboard(core, tx, ack);
        let advances = ack.ack > core.una;
        if advances && self.is_of_original(tx, ack) {
            self.undo_on_original(core, ack.ack);
        }
        let recovered = advances && self.on_new_ack(core, tx, ack, delivered);
        let progress = Progress { delivered, in_flight: 0, safe: advances };
        let begun = self.detect(core, tx, AckSummary { dsack: dsack.is_some(), recovered, progress });
        if tx.config.by_model {
            core.follow_model(tx, self.repair_phase());
        }
        self.repair_and_fill(core, tx, begun);
    }

    /// Linux (tcp_ack, old_ack) and step 1 of RFC 8985, section 6.2, which takes any acknowledgement that reports segments.
    fn on_old_ack(&mut self, core: &mut Core, tx: &mut SendContext<'_>, ack: &Ack<'_>) {
        let dsack = self.read_dsack(core, tx, ack).is_some();
        let delivered = self.update_scoreboard(core, tx, ack);
        if delivered == 0 && !dsack {
            return;
        }
        let progress = Progress { delivered, in_flight: 0, safe: false };
        let begun = self.detect(core, tx, AckSummary { dsack, recovered: false, progress });
        if tx.config.by_model {
            core.follow_model(tx, self.repair_phase());
        }
        self.repair_and_fill(core, tx, begun);
    }

    /// Without this, PRR's transient window would be reduced by the echo, and the reduction that it began would go on
    /// with the counts of the one before.
    fn before_echo(&mut self, core: &mut Core, ack: u32) {
        self.end_cwr(core, ack);
        if self.repairing() && ack >= core.recover {
            self.leave(core);
        }
    }

    fn on_data(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        self.fill(core, tx);
    }

    /// Reordered segments count as lost now, or a probe is sent.
    fn on_timer(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        if self.wait.is_some() {
            let begun = self.detect(core, tx, AckSummary::default());
            self.repair_and_fill(core, tx, begun);
            return core.set_timer(tx);
        }
        // Section 7.3: neither while a probe is out, nor without a round-trip time since the last one.
        if core.measured && !self.probe.is_out() {
            let again = !core.can_send_new(tx);
            self.send(core, tx, if again { core.max - 1 } else { core.nxt });
            self.probe.sent(core, again);
        }
        core.set_timer(tx);
    }

    fn before_timeout(&mut self, core: &Core, tx: &SendContext<'_>) {
        if !self.repairing() {
            self.begin_check(core, tx);
        }
    }

    fn on_timeout(&mut self, core: &mut Core, tx: &mut SendContext<'_>) {
        if core.una == 0 {
            return core.fill_window(tx, u32::MAX);
        } else if core.una == core.max {
            return self.fill(core, tx);
        }
        core.nxt = core.max;
        core.repair_deadline = Time::NEVER;
        self.phase = Phase::Timeout;
        self.reducing = WindowReduction::AtOnce;
        self.probe.clear();
        self.wait = None;
        self.cut_at = tx.now;
        let una = core.una;
        let mut delivery = core.delivery();
        self.detector.mark_lost_on_timeout(&mut self.scoreboard, una, tx.now, |seq| {
            if let Some(delivery) = &mut delivery {
                delivery.lost(seq);
            }
        });
        if tx.config.by_model {
            core.window.cwnd = f64::from(self.scoreboard.in_flight() + 1);
        }
        self.send(core, tx, core.una);
        self.fill(core, tx);
    }
    fn info(&self) -> Option<RepairInfo> {
        let (sacked, unsent) = (self.scoreboard.count_sacked(), self.scoreboard.count_lost());
        let state = match self.phase {
            Phase::Open if sacked > 0 => RepairState::Disorder,
            Phase::Open => RepairState::Open,
            Phase::Cwr => RepairState::Cwr,
            Phase::Fast => RepairState::Recovery,
            Phase::Timeout => RepairState::Loss,
        };
        let retransmitted = self.scoreboard.retransmitted().count() as u32;
        Some(RepairInfo { state, sacked, lost: unsent + retransmitted, retransmitted })
    }
}

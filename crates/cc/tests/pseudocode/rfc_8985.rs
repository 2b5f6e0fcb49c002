//! RFC 8985, sections 5 to 8: RACK and TLP.
//!
//! What is lost is sent again first, from the lowest, then new data, while less than the window is in flight (section 9.3
//! leaves it to congestion control). The window, the smoothed round-trip time and the time at which the retransmission
//! timer expires are the sender's.

use super::path::{Call, Pseudocode};
use marqueue_cc::config::Reduction;
use marqueue_cc::{Ack, Config};
use marqueue_core::{Dur, Time};
use std::collections::BTreeMap;

struct Segment {
    /// Segment.xmit_ts; none for INFINITE_TS, while the segment is lost and not sent again.
    xmit_ts: Option<Time>,
    /// xmit_ts before it became INFINITE_TS: a segment may arrive although it is taken for lost, and the text does not
    /// say what its round-trip time is then.
    last_sent: Time,
    end_seq: u32,
    lost: bool,
    retransmitted: bool,
    sacked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    Fast,
    Rto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Reordering(Time),
    Pto(Time),
}

pub struct Rfc8985 {
    segments: BTreeMap<u32, Segment>,
    snd_una: u32,
    snd_nxt: u32,
    last: u32,
    rack_xmit_ts: Time,
    rack_end_seq: u32,
    rack_fack: u32,
    rack_min_rtt: Option<Dur>,
    rack_rtt: Dur,
    rack_reordering_seen: bool,
    rack_dsack_round: Option<u32>,
    rack_reo_wnd_mult: u64,
    rack_reo_wnd_persist: i32,
    tlp_is_retrans: bool,
    tlp_end_seq: Option<u32>,
    recovery: Recovery,
    recovery_point: u32,
    /// When the last recovery began, or congestion control last answered a lost retransmission (section 9.3).
    reduced_at: Time,
    timer: Option<Timer>,
    /// SND.UNA and SND.NXT when the PTO was last armed.
    armed_for: (u32, u32),
    /// RACK.reo_wnd
    last_reo_wnd: Dur,
}

/// RACK_sent_after()
fn sent_after(t1: Time, seq1: u32, t2: Time, seq2: u32) -> bool {
    t1 > t2 || t1 == t2 && seq1 > seq2
}

/// RFC 2883, section 4: the segment that the first block reports as received twice.
fn dsack(ack: &Ack<'_>) -> Option<u32> {
    let &(start, end) = ack.sack.first().filter(|b| b.0 < b.1)?;
    let second = ack.sack.get(1).copied().unwrap_or_default();
    (start < ack.ack || second.0 <= start && end <= second.1).then_some(start)
}

struct Detected {
    lost: bool,
    /// A retransmission sent at or after the last reduction is lost.
    retransmission_lost: bool,
    timeout: Dur,
}

impl Rfc8985 {
    /// Nothing but the SYN, segment 0, has been sent.
    pub fn new(last: u32) -> Rfc8985 {
        Rfc8985 {
            segments: BTreeMap::new(),
            snd_una: 0,
            snd_nxt: 1,
            last,
            rack_xmit_ts: Time::ZERO,
            rack_end_seq: 0,
            rack_fack: 0,
            rack_min_rtt: None,
            rack_rtt: Dur::ZERO,
            rack_reordering_seen: false,
            rack_dsack_round: None,
            rack_reo_wnd_mult: 1,
            rack_reo_wnd_persist: 16,
            tlp_is_retrans: false,
            tlp_end_seq: None,
            recovery: Recovery::None,
            recovery_point: 0,
            reduced_at: Time::ZERO,
            timer: None,
            armed_for: (0, 0),
            last_reo_wnd: Dur::ZERO,
        }
    }

    fn min_rtt(&self) -> Dur {
        self.rack_min_rtt.unwrap_or(Dur(u64::MAX))
    }

    fn segs_sacked(&self) -> usize {
        self.segments.values().filter(|s| s.sacked).count()
    }

    fn in_flight(&self) -> usize {
        self.segments.values().filter(|s| !s.sacked && !s.lost).count()
    }

    /// RACK_transmit_new_data() and RACK_retransmit_data()
    fn transmit(&mut self, now: Time, seq: u32, sent: &mut Vec<u32>) {
        let new = Segment {
            xmit_ts: None,
            last_sent: now,
            end_seq: seq + 1,
            lost: false,
            retransmitted: false,
            sacked: false,
        };
        let retransmitted = self.segments.contains_key(&seq);
        let segment = self.segments.entry(seq).or_insert(new);
        segment.retransmitted |= retransmitted;
        (segment.xmit_ts, segment.last_sent) = (Some(now), now);
        segment.lost = false;
        self.snd_nxt = self.snd_nxt.max(seq + 1);
        sent.push(seq);
    }

    /// Steps 1 to 3 of section 6.2.
    fn delivered(&mut self, call: &Call<'_>, ack: &Ack<'_>) {
        let mut newly: Vec<(Time, u32, bool)> = Vec::new();
        for (&seq, segment) in &mut self.segments {
            let sacked = ack.sack.iter().any(|&(start, end)| start <= seq && seq < end);
            if (seq < ack.ack || sacked) && !segment.sacked {
                (segment.sacked, segment.lost) = (true, false);
                newly.push((segment.last_sent, segment.end_seq, segment.retransmitted));
            }
        }
        self.segments.retain(|&seq, _| seq >= ack.ack);
        // Step 1: of the segments that were sent once.
        for rtt in newly.iter().filter(|newly| !newly.2).map(|newly| call.now - newly.0) {
            self.rack_min_rtt = Some(self.min_rtt().min(rtt));
        }
        // RACK_update()
        newly.sort_by_key(|&(xmit_ts, end_seq, _)| (xmit_ts, end_seq));
        for &(xmit_ts, end_seq, retransmitted) in &newly {
            let rtt = call.now - xmit_ts;
            if retransmitted {
                if ack.echo.is_some_and(|echo_reply| echo_reply < call.config.timestamp(xmit_ts)) {
                    continue;
                }
                if rtt < self.min_rtt() {
                    continue;
                }
            }
            self.rack_rtt = rtt;
            if sent_after(xmit_ts, end_seq, self.rack_xmit_ts, self.rack_end_seq) {
                (self.rack_xmit_ts, self.rack_end_seq) = (xmit_ts, end_seq);
            }
        }
        // RACK_detect_reordering()
        newly.sort_by_key(|&(_, end_seq, _)| end_seq);
        for &(_, end_seq, retransmitted) in &newly {
            if end_seq > self.rack_fack {
                self.rack_fack = end_seq;
            } else if end_seq < self.rack_fack && !retransmitted {
                self.rack_reordering_seen = true;
            }
        }
    }

    /// RACK_update_reo_wnd()
    fn reo_wnd(&mut self, call: &Call<'_>, dsack: bool, exiting_recovery: bool) -> Dur {
        if self.rack_dsack_round.is_some_and(|round| self.snd_una >= round) {
            self.rack_dsack_round = None;
        }
        if self.rack_dsack_round.is_none() && dsack {
            self.rack_dsack_round = Some(self.snd_nxt);
            self.rack_reo_wnd_mult += 1;
            self.rack_reo_wnd_persist = 16;
        } else if exiting_recovery {
            self.rack_reo_wnd_persist -= 1;
            if self.rack_reo_wnd_persist <= 0 {
                self.rack_reo_wnd_mult = 1;
            }
        }
        let recovering = self.recovery != Recovery::None;
        if !self.rack_reordering_seen && (recovering || self.segs_sacked() >= call.config.dupthresh as usize) {
            return Dur::ZERO;
        }
        Dur(self.rack_reo_wnd_mult.saturating_mul(self.min_rtt().0) / 4).min(srtt(call))
    }

    /// RACK_detect_loss()
    fn detect_loss(&mut self, now: Time, reo_wnd: Dur) -> Detected {
        let mut found = Detected { lost: false, retransmission_lost: false, timeout: Dur::ZERO };
        for segment in self.segments.values_mut().filter(|s| !s.sacked) {
            let Some(xmit_ts) = segment.xmit_ts else { continue };
            if sent_after(self.rack_xmit_ts, self.rack_end_seq, xmit_ts, segment.end_seq) {
                let due = xmit_ts + self.rack_rtt + reo_wnd;
                if due <= now {
                    segment.lost = true;
                    segment.xmit_ts = None;
                    found.lost = true;
                    found.retransmission_lost |= segment.retransmitted && xmit_ts >= self.reduced_at;
                } else {
                    found.timeout = found.timeout.max(due - now);
                }
            }
        }
        found
    }

    /// RACK_detect_loss_and_arm_timer(), the begin of recovery, and what congestion control lets out then.
    fn detect_and_send(&mut self, call: &Call<'_>, dsack: bool, exiting: bool, sent: &mut Vec<u32>) {
        let reo_wnd = self.reo_wnd(call, dsack, exiting);
        self.last_reo_wnd = reo_wnd;
        let found = self.detect_loss(call.now, reo_wnd);
        let begins = found.lost && self.recovery == Recovery::None;
        // Section 9.3: without PRR the loss of a retransmission is a second indication of congestion.
        let again = !begins && found.retransmission_lost && call.config.reduction == Reduction::Cut;
        if begins {
            self.recovery = Recovery::Fast;
            self.recovery_point = self.snd_nxt;
            (self.tlp_is_retrans, self.tlp_end_seq) = (false, None); // TLP_init()
        }
        if begins || again {
            self.reduced_at = call.now;
        }
        // The fast retransmit goes out although the window may be full.
        self.send(call, begins || again, sent);
        self.arm(call, (found.timeout > Dur::ZERO).then(|| call.now + found.timeout));
    }

    fn may_send_new(&self, config: &Config) -> bool {
        self.snd_nxt <= self.last && self.snd_nxt < self.snd_una + config.max_window
    }

    fn send(&mut self, call: &Call<'_>, mut at_least_one: bool, sent: &mut Vec<u32>) {
        let window = (call.after.window.cwnd as usize).min(call.config.max_window as usize);
        while self.in_flight() < window || at_least_one {
            at_least_one = false;
            let lost = self.segments.iter().find(|(_, segment)| segment.lost).map(|(&seq, _)| seq);
            let new = self.may_send_new(call.config).then_some(self.snd_nxt);
            let Some(seq) = lost.or(new) else { return };
            self.transmit(call.now, seq, sent);
        }
    }

    /// Section 7.2: the PTO after new data was transmitted or cumulatively acknowledged.
    fn arm(&mut self, call: &Call<'_>, reordering: Option<Time>) {
        let progress = (self.snd_una, self.snd_nxt) != self.armed_for;
        self.armed_for = (self.snd_una, self.snd_nxt);
        let wanted = self.recovery == Recovery::None && self.segs_sacked() == 0 && !self.segments.is_empty();
        self.timer = match (reordering, self.timer) {
            (Some(at), _) => Some(Timer::Reordering(at)),
            (None, Some(Timer::Pto(at))) if wanted && !progress => Some(Timer::Pto(at)),
            (None, None) if !progress => None,
            (None, _) => wanted.then(|| Timer::Pto(self.pto(call))),
        };
    }

    /// TLP_calc_PTO()
    fn pto(&self, call: &Call<'_>) -> Time {
        let srtt = srtt(call);
        let mut pto = Dur(1_000_000_000);
        if srtt > Dur::ZERO {
            pto = srtt + srtt;
            if self.segments.len() == 1 {
                pto = pto + call.config.delayed_ack;
            }
        }
        (call.now + pto).min(call.after.deadline)
    }

    /// TLP_process_ack(). Congestion control is the sender's.
    fn process_probe(&mut self, ack: &Ack<'_>, dsack: Option<u32>) {
        let Some(end_seq) = self.tlp_end_seq.filter(|&end_seq| ack.ack >= end_seq) else { return };
        let has_sack = ack.sack.iter().any(|b| b.0 < b.1);
        let settled = !self.tlp_is_retrans
            || dsack.is_some_and(|seq| seq + 1 == end_seq)
            || ack.ack > end_seq
            || ack.ack == self.snd_una && !has_sack;
        if settled {
            self.tlp_end_seq = None;
        }
    }

    /// TLP_send_probe()
    fn send_probe(&mut self, call: &Call<'_>, sent: &mut Vec<u32>) {
        if self.tlp_end_seq.is_none() && call.before.measured {
            self.tlp_is_retrans = !self.may_send_new(call.config);
            let seq = if self.tlp_is_retrans { self.snd_nxt - 1 } else { self.snd_nxt };
            self.transmit(call.now, seq, sent);
            self.tlp_end_seq = Some(self.snd_nxt);
        }
        assert_eq!(call.after.deadline, call.now + call.after.rto.timeout(call.config), "the RTO timer is armed again");
    }

    /// RACK_mark_losses_on_RTO()
    fn mark_losses_on_rto(&mut self, now: Time, reo_wnd: Dur) {
        let (snd_una, rtt) = (self.snd_una, self.rack_rtt);
        for (&seq, segment) in self.segments.iter_mut().filter(|(_, s)| !s.sacked) {
            let late = segment.xmit_ts.is_some_and(|xmit_ts| xmit_ts + rtt + reo_wnd <= now);
            if seq == snd_una || late {
                segment.lost = true;
                segment.xmit_ts = None;
            }
        }
    }
}

fn srtt(call: &Call<'_>) -> Dur {
    Dur::from_secs(call.after.rto.srtt(call.config))
}

impl Pseudocode for Rfc8985 {
    fn on_ack(&mut self, call: &Call<'_>, ack: &Ack<'_>) -> Vec<u32> {
        let mut sent = Vec::new();
        if self.snd_una == 0 {
            // The handshake is a round trip, too.
            self.snd_una = 1;
            self.rack_min_rtt = Some(srtt(call)).filter(|&rtt| rtt > Dur::ZERO);
            self.send(call, false, &mut sent);
            self.arm(call, None);
            return sent;
        }
        let dsack = dsack(ack);
        self.process_probe(ack, dsack);
        self.delivered(call, ack);
        self.snd_una = ack.ack;
        let exiting = self.recovery != Recovery::None && self.snd_una >= self.recovery_point;
        if exiting {
            self.recovery = Recovery::None;
        }
        self.detect_and_send(call, dsack.is_some(), exiting, &mut sent);
        sent
    }

    fn on_timer(&mut self, call: &Call<'_>) -> Vec<u32> {
        let mut sent = Vec::new();
        match self.timer.take() {
            Some(Timer::Reordering(at)) => {
                assert_eq!(at, call.now, "the reordering timer");
                self.detect_and_send(call, false, false, &mut sent);
                // Section 8: it was cancelled; RFC 6298, (5.1): and starts with what is sent now.
                assert_eq!(call.after.deadline, call.now + call.after.rto.timeout(call.config));
            }
            Some(Timer::Pto(at)) => {
                assert_eq!(at, call.now, "the probe timer");
                self.send_probe(call, &mut sent);
            }
            None => {
                assert_eq!(call.before.deadline, call.now, "the retransmission timer");
                self.mark_losses_on_rto(call.now, self.last_reo_wnd);
                (self.tlp_is_retrans, self.tlp_end_seq) = (false, None); // TLP_init()
                (self.recovery, self.recovery_point, self.reduced_at) = (Recovery::Rto, self.snd_nxt, call.now);
                self.transmit(call.now, self.snd_una, &mut sent);
                self.send(call, false, &mut sent);
                self.arm(call, None);
            }
        }
        sent
    }

    /// Section 8: one timer at a time.
    fn check(&self, call: &Call<'_>) {
        let due = match self.timer {
            Some(Timer::Reordering(at) | Timer::Pto(at)) => at,
            None => Time::NEVER,
        };
        assert_eq!(due, call.after.repair_deadline, "the timer at {:?}", call.now);
        assert!(self.segments.is_empty() || call.after.deadline != Time::NEVER);
    }
}

//! A sender under watch, whatever acknowledgements it hears: what holds for all ways to repair losses
//! and all window laws. Driven by tests and by the fuzzer.

use marqueue_cc::config::{Dialect, LossDetection, Recovery};
use marqueue_cc::sequence_ranges::SequenceRanges;
use marqueue_cc::{Ack, Config, Segment, Sender};
use marqueue_core::{Dur, Flags, Time};

/// A sender, the last that was seen of it, and what it has been told by SACK.
pub struct Watch {
    config: Config,
    pub sender: Sender,
    now: Time,
    out: Vec<Segment>,
    una: u32,
    max: u32,
    cwnd: f64,
    inflation: u32,
    /// What ns-2's Sack1 may send at once beyond its window: its `pipe` falls by one with every
    /// acknowledgement in recovery, by two with a partial one, below zero if there was nothing to send.
    saved: u32,
    /// What was reported as received since the last timeout, while no acknowledgement has
    /// contradicted it.
    sacked: SequenceRanges,
}

impl Watch {
    /// A sender that has sent its SYN.
    pub fn new(config: Config, size: Option<u32>, phase: f64) -> Watch {
        let sender = Sender::new(&config, size, phase);
        // Without a SYN the connection starts established, and its first window is data.
        let (first, cwnd) = if config.handshake { (0, 1.0) } else { (1, config.initial_window) };
        let mut watch = Watch {
            config,
            sender,
            now: Time::ZERO,
            out: Vec::new(),
            una: first,
            max: first,
            cwnd,
            inflation: 0,
            saved: 0,
            sacked: SequenceRanges::default(),
        };
        watch.sender.start(&watch.config, watch.now, &mut watch.out);
        watch.check();
        watch
    }

    /// An acknowledgement, however absurd.
    pub fn ack(&mut self, ack: u32, ece: bool, blocks: &[(u32, u32)]) {
        self.believe(ack, blocks);
        if self.config.dialect == Dialect::Ns2 && self.config.recovery == Recovery::Sack {
            self.saved += 2;
        }
        self.sender.on_ack(&self.config, self.now, &Ack { ack, ece, sack: blocks, ..Ack::default() }, &mut self.out);
        if self.is_overtaken(ack) {
            assert_eq!(self.sender.core().una, self.una);
        } else if ack < self.una.max(1) || ack > self.max {
            assert!(self.out.is_empty(), "an answer to an acknowledgement of nothing, or of what was never sent");
            assert_eq!((self.sender.core().una, self.sender.core().max), (self.una, self.max));
        } else {
            assert_eq!(self.sender.core().una, ack);
        }
        self.check();
    }

    /// Is it below what has been acknowledged, with SACK blocks that RACK reads all the same (RFC 8985, 6.2, step 1)?
    fn is_overtaken(&self, ack: u32) -> bool {
        (1..self.una).contains(&ack) && self.config.loss_detection == LossDetection::Rack
    }

    /// What an honest receiver would have meant by it.
    fn believe(&mut self, ack: u32, blocks: &[(u32, u32)]) {
        let ack = if self.is_overtaken(ack) { self.una } else { ack };
        if ack < self.una.max(1) || ack > self.max {
            return;
        }
        if self.sacked.find(ack).is_some() {
            self.sacked.clear();
        }
        self.sacked.trim_below(ack);
        for &(start, end) in blocks {
            // RFC 2018, section 3: beyond the next segment expected, within what was sent.
            if ack < start && start < end && end <= self.max {
                self.sacked.add(start, end);
            }
        }
    }

    /// Time passes; timers that are due expire.
    pub fn wait(&mut self, dur: Dur) {
        let until = self.now + dur;
        while self.sender.deadline() <= until {
            self.time_out();
        }
        self.now = until.max(self.now);
    }

    /// The retransmission timer expires. Tells whether it was running.
    pub fn time_out(&mut self) -> bool {
        let due = self.sender.deadline();
        if due == Time::NEVER {
            return false;
        }
        self.now = due;
        // RFC 2018, section 8: what was sacked is no longer relied on.
        self.sacked.clear();
        self.saved = 0;
        self.sender.on_timer(&self.config, self.now, &mut self.out);
        if self.sender.deadline() == due {
            // That of repairs and that of retransmissions may be due at the same instant.
            self.check();
            self.sender.on_timer(&self.config, self.now, &mut self.out);
        }
        assert!(self.sender.deadline() > due, "a timer that does not move on");
        self.check();
        true
    }

    /// The application stops.
    pub fn stop(&mut self) {
        self.sender.stop();
        self.check();
    }

    fn check(&mut self) {
        let core = self.sender.core();
        assert!(core.una <= core.nxt && core.nxt <= core.max, "{} {} {}", core.una, core.nxt, core.max);
        assert!(core.max <= core.limit.max(self.max), "beyond the end of the data");
        let window = core.window;
        assert!(window.cwnd.is_finite() && window.cwnd > 0.0, "{window:?}");
        assert!(window.ssthresh.is_finite() && window.ssthresh >= 1.0, "{window:?}");
        self.check_sent();
        self.check_timer();
        let core = self.sender.core();
        (self.una, self.max, self.cwnd, self.inflation) = (core.una, core.max, window.cwnd, core.inflation);
        self.saved = self.saved.saturating_sub(self.out.len() as u32);
        self.out.clear();
    }

    fn check_sent(&self) {
        let core = self.sender.core();
        // Limited transmit and the retransmission itself come on top of the window.
        let window = self.cwnd.max(core.window.cwnd) + f64::from(self.inflation.max(core.inflation));
        let room = window + f64::from(self.config.dupthresh + self.saved) + 1.0;
        assert!(self.out.len() as f64 <= room, "{} segments by a window of {window}", self.out.len());
        let mut max = self.max;
        for segment in &self.out {
            let seq = segment.seq;
            assert!(seq >= core.una, "{seq} has been acknowledged");
            assert!(seq <= max, "{seq}, but {max} has not been sent");
            assert!(seq < core.una.saturating_add(self.config.max_window), "{seq} is beyond the receiver's window");
            assert_eq!(segment.flags.has(Flags::RETRANSMIT), seq < max);
            assert!(!segment.ect || self.config.ecn);
            let sacks = self.config.recovery == Recovery::Sack;
            // ns-2's Sack1 sends again all that follows a timeout.
            let again = sacks && self.config.dialect == Dialect::Rfc && self.sacked.find(seq).is_some();
            assert!(!again, "{seq} has been sacked: {:?}", self.sacked);
            if !sacks && seq == max {
                let end = f64::from(core.una) + room;
                assert!(f64::from(seq) < end, "{seq} is new and beyond the window's end at {end}");
            }
            max = max.max(seq + 1);
        }
        assert_eq!(max, core.max);
    }

    /// The timer runs while anything is outstanding, and a finished flow has none.
    fn check_timer(&self) {
        let (core, deadline) = (self.sender.core(), self.sender.deadline());
        if self.sender.is_done() {
            assert_eq!(deadline, Time::NEVER);
        } else if core.una < core.max {
            assert_ne!(
                deadline,
                Time::NEVER,
                "{} of {} are outstanding without a timer",
                core.max - core.una,
                core.max
            );
        }
        // At a pacing ratio of 0.1 and a round trip of minutes the next segment waits for longer than any timer.
        let paces = deadline == core.pacing_due();
        let mut longest = self.now + self.config.max_rto.max(Dur(2_000_000_000));
        if deadline == core.repair_deadline {
            // RACK waits from when a segment was sent for a round-trip time and a reordering window of one at most.
            // Neither is longer than the connection has lasted, which may be longer than the longest timeout.
            longest = longest.max(self.now + Dur(2 * self.now.0));
        }
        assert!(deadline == Time::NEVER || paces || deadline <= longest, "{deadline:?} is too late");
        assert!(self.config.dialect == Dialect::Ns2 || deadline == Time::NEVER || !self.sender.is_done());
    }

    /// Everything that is sent from here on arrives: the flow ends.
    pub fn finish(&mut self) {
        let data = self.sender.core().limit - self.sender.core().una;
        for _ in 0..4 * data + 100 {
            if self.sender.is_done() {
                return;
            }
            self.now += Dur(1_000_000);
            let core = self.sender.core();
            if core.una < core.max {
                self.ack(core.max, false, &[]);
            } else {
                assert!(self.time_out(), "nothing will ever happen again");
            }
        }
        panic!("it does not end");
    }
}

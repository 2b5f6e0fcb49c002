//! A receiver beside the simplest model of one: the set of the numbers that have arrived. Driven by
//! tests and by the fuzzer.

use marqueue_cc::config::{Dialect, Recovery};
use marqueue_cc::law_list::EchoMode;
use marqueue_cc::receiver::{OutgoingAck, ReceiveContext};
use marqueue_cc::{Config, Options, Receiver};
use marqueue_core::{Dur, Ecn, Flags, Time};
use std::collections::BTreeSet;

/// Most SACK blocks that an acknowledgement may carry.
const MOST_BLOCKS: usize = 3;

/// A receiver under watch.
pub struct Watch {
    config: Config,
    pub receiver: Receiver,
    pub now: Time,
    /// Everything that has arrived.
    arrived: BTreeSet<u32>,
    /// The echo as the latest segment left it.
    echo: bool,
    /// One of the segments whose acknowledgement is held back had CE.
    held_ce: bool,
    /// The next segment expected when the latest acknowledgement was sent.
    acknowledged: u32,
    delivered: u32,
}

impl Watch {
    pub fn new(config: Config) -> Watch {
        Watch {
            config,
            receiver: Receiver::default(),
            now: Time::ZERO,
            arrived: BTreeSet::new(),
            echo: false,
            held_ce: false,
            acknowledged: 0,
            delivered: 0,
        }
    }

    /// The smallest number that has not arrived.
    pub fn next(&self) -> u32 {
        self.arrived.iter().zip(0..).find(|&(&have, n)| have != n).map_or(self.arrived.len() as u32, |(_, n)| n)
    }

    /// The blocks beyond a gap, ascending.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for &seq in self.arrived.range(self.next()..) {
            match blocks.last_mut() {
                Some(last) if last.1 == seq => last.1 += 1,
                _ => blocks.push((seq, seq + 1)),
            }
        }
        blocks
    }

    /// A segment arrives.
    pub fn segment(&mut self, seq: u32, flags: Flags, ecn: Ecn) {
        let (before, echo_before, held) = (self.next(), self.echo, self.receiver.deadline() != Time::NEVER);
        let waiting = if held { before - self.acknowledged } else { 0 };
        let in_order = seq == before && self.blocks().is_empty();
        let twice = !self.arrived.insert(seq) && self.config.dsack;
        let timestamp = self.config.timestamp(self.now);
        let per_segment = self.config.feedback == EchoMode::PerSegment;
        // CE does not count on a SYN (RFC 8257, 3.6), nor on a segment below the window (RFC 3168, 6.1.5).
        let counts = self.config.dialect == Dialect::Ns2 || seq > 0 && seq >= before;
        // RFC 3168, 6.1.3: from CE until CWR. RFC 8257, 3.2: as the segment says.
        self.echo = match per_segment {
            false => counts && ecn == Ecn::Ce || self.echo && !flags.has(Flags::CWR),
            true if counts => ecn == Ecn::Ce,
            true => self.echo,
        };
        let turned = per_segment && self.echo != echo_before;

        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: self.now, config: &self.config, options: &mut options };
        let got = self.receiver.on_segment(&mut rx, seq, flags, ecn, timestamp);
        let syn = u32::from(before == 0 && self.next() > 0);
        assert_eq!(got.delivered, self.next() - before - syn);
        self.delivered += got.delivered;
        assert_eq!(self.delivered + 1, self.next().max(1));

        let delays = self.config.delayed_ack > Dur::ZERO && in_order && seq > 0;
        match got.ack {
            None => assert!(
                delays && waiting + 1 < u32::from(self.config.ack_every) && !turned,
                "only segments in order before the last of `ack_every` are held back"
            ),
            Some(ack) if held && turned && self.config.dctcp_two_acks => {
                assert_eq!((ack.ack, ack.ece()), (before, echo_before), "what was held back has its own echo");
                assert_eq!(self.receiver.deadline(), self.now, "and the newest segment is acknowledged at once");
                self.acknowledged = before;
                return self.wait(Dur::ZERO);
            }
            Some(ack) => {
                let is_last = waiting + 1 >= u32::from(self.config.ack_every);
                assert!(is_last || turned || !delays, "segments before the last of `ack_every` are held back");
                // Segment 0 is the SYN.
                let negotiates = self.config.ecn && seq == 0 && flags.has(Flags::ECE);
                // RFC 3168, 6.1.3: if any of the segments had CE.
                let held_ce = held && self.held_ce && !per_segment;
                assert_eq!(ack.ack, self.next());
                self.echo_is(&ack, self.echo || held_ce || negotiates);
                self.options(&ack, options, Some(seq), twice);
            }
        }
        if let Some(ack) = got.ack {
            self.acknowledged = ack.ack;
        } else {
            self.held_ce = held && self.held_ce || ecn == Ecn::Ce && self.config.ecn_echo_held;
        }
        self.timer_is_right();
    }

    /// Counters of AccECN are not echoes: they have tests of their own.
    fn echo_is(&self, ack: &OutgoingAck, expected: bool) {
        assert!(self.config.feedback == EchoMode::Counted || ack.ece() == expected, "{ack:?}: expected ECE {expected}");
    }

    /// RFC 5681, 4.2: no segment in order waits for longer than the delay, nor as many as `ack_every`, which is two there.
    fn timer_is_right(&self) {
        let waiting = self.next() - self.acknowledged;
        let deadline = self.receiver.deadline();
        assert_eq!(waiting > 0, deadline != Time::NEVER);
        assert!(waiting <= 1 || waiting < u32::from(self.config.ack_every));
        assert!(deadline == Time::NEVER || deadline >= self.now && deadline <= self.now + self.config.delayed_ack);
    }

    /// RFC 2018, sections 3 and 4; RFC 2883, section 4; RFC 7323, section 4.
    fn options(&self, ack: &OutgoingAck, options: Options, seq: Option<u32>, twice: bool) {
        let there = self.blocks();
        assert!(ack.has_options || options == Options::NONE);
        assert_eq!(options.echo.is_some(), self.config.timestamps);
        assert!(options.echo.is_none_or(|echo| echo <= self.config.timestamp(self.now)), "of the future");
        let n = options.sack.iter().position(|b| *b == (0, 0)).unwrap_or(MOST_BLOCKS);
        let (used, unused) = options.sack.split_at(n);
        assert!(unused.iter().all(|b| *b == (0, 0)));
        if self.config.recovery != Recovery::Sack || there.is_empty() && !twice {
            assert_eq!((n, ack.bytes), (0, self.config.header));
            return;
        }
        let first = usize::from(twice);
        assert_eq!(used.first().filter(|_| twice), seq.map(|s| (s, s + 1)).as_ref().filter(|_| twice));
        let (used, n) = (&used[first..], n - first);
        assert!(used.iter().all(|b| there.contains(b)), "{used:?} of {there:?}");
        assert!((1..n).all(|i| !used[..i].contains(&used[i])), "a block twice: {used:?}");
        if let Some(newest) = there.iter().find(|b| seq.is_some_and(|s| b.0 <= s && s < b.1)) {
            assert_eq!(used.first(), Some(newest), "the block of the segment just received comes first");
        }
        let bytes = 8 * (n + first) as u32;
        match self.config.dialect {
            Dialect::Rfc => {
                assert_eq!(n, there.len().min(MOST_BLOCKS - first), "as many blocks as possible: {there:?}");
                assert_eq!(ack.bytes, self.config.header + bytes + 4);
            }
            Dialect::Ns2 => assert_eq!(ack.bytes, self.config.header + bytes),
        }
    }

    /// Time passes, and with it what waits for it.
    pub fn wait(&mut self, dur: Dur) {
        let until = self.now + dur;
        let due = self.receiver.deadline();
        if due <= until {
            self.now = due;
            let mut options = Options::NONE;
            let ack =
                self.receiver.on_timer(&mut ReceiveContext { now: due, config: &self.config, options: &mut options });
            assert_eq!(ack.ack, self.next());
            self.echo_is(&ack, self.echo);
            self.options(&ack, options, None, false);
            self.acknowledged = ack.ack;
            self.timer_is_right();
        }
        self.now = until;
    }
}

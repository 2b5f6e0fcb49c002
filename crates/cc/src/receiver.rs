//! A TCP receiver: reassembly, delayed acknowledgements (RFC 5681, section 4.2), selective acknowledgements (RFC 2018, RFC
//! 2883), timestamps (RFC 7323) and the ECN echo (RFC 3168, section 6.1.3, RFC 8257, section 3.2, or RFC 9768).

mod acknowledgement;

use crate::accecn::{self, ReceiverCounters};
use crate::config::{Config, DctcpEct, Dialect, EcnRequest, Recovery};
use crate::law_list::EchoMode;
use crate::quick_acks::{Arrival, QuickAcks};
use crate::sequence_ranges::SequenceRanges;
use marqueue_core::ring::prefetch_bounds;
use marqueue_core::{Dur, Ecn, Flags, Time};

use acknowledgement::MAX_BLOCKS;
pub use acknowledgement::{Options, OutgoingAck, SackBlocks};

/// The arguments of a call into the receiver: the time, the settings, and the buffer for options.
pub struct ReceiveContext<'a> {
    /// Now.
    pub now: Time,
    /// The flow's settings.
    pub config: &'a Config,
    /// Receives the options of the acknowledgement, if it has any.
    pub options: &'a mut Options,
}

/// The result of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentOutcome {
    /// Segments that became deliverable in order.
    pub delivered: u32,
    /// The acknowledgement to send now, if any.
    pub ack: Option<OutgoingAck>,
}

/// State of a receiver. The fields that all connections need are first: they fit into the first cache line of a flow.
/// Those behind them are read only where the settings say that they are there.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    next: u32,
    ece: bool,
    /// The segment whose acknowledgement is held back had CE.
    held_ce: bool,
    /// Segments whose acknowledgement is held back.
    held: u8,
    /// When the delayed acknowledgement is due; never, if none is held back.
    held_until: Time,
    /// Boxed, because most of the time nothing is out of order.
    ahead: Option<Box<OutOfOrder>>,
    /// TS.Recent: the timestamp to echo (RFC 7323, 4.3).
    recent: u32,
    /// Last.ACK.sent.
    last_ack: u32,
    /// The counters of AccECN, on a connection that has it.
    counters: Option<Box<ReceiverCounters>>,
    /// Which segments are acknowledged at once, on a host that does as Linux.
    quick: Option<Box<QuickAcks>>,
}

/// Segments that arrived out of order.
#[derive(Clone, Debug, Default)]
struct OutOfOrder {
    /// Never empty once it is used.
    ranges: SequenceRanges,
    /// Starts of blocks reported before, most recent first, to choose which blocks to repeat.
    reported: Vec<u32>,
}

impl Receiver {
    /// The receiver of a connection that has not started, or that starts established.
    pub fn new(config: &Config) -> Receiver {
        let next = u32::from(!config.handshake);
        let counters = (config.ecn && config.feedback == EchoMode::Counted).then(Box::default);
        let quick = config.quick_acks.then(|| Box::new(QuickAcks::new(config)));
        Receiver { next, last_ack: next, counters, quick, ..Receiver::default() }
    }
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver {
            next: 0,
            ece: false,
            held_ce: false,
            held: 0,
            held_until: Time::NEVER,
            ahead: None,
            recent: 0,
            last_ack: 0,
            counters: None,
            quick: None,
        }
    }
}

impl Receiver {
    /// Prefetches what is outside a receiver, which must be in the cache itself.
    pub fn prefetch_parts(&self) {
        if let Some(ahead) = &self.ahead {
            prefetch_bounds(&**ahead);
        }
        if let Some(quick) = &self.quick {
            prefetch_bounds(&**quick);
        }
    }

    /// When [`Receiver::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.held_until
    }

    /// A segment arrives. `timestamp` is used if the connection has timestamps.
    #[inline(always)]
    pub fn on_segment(
        &mut self,
        rx: &mut ReceiveContext<'_>,
        seq: u32,
        flags: Flags,
        ecn: Ecn,
        timestamp: u32,
    ) -> SegmentOutcome {
        let config = rx.config;
        if config.timestamps {
            self.note_timestamp(seq, timestamp);
        }
        let twice = config.dsack && (seq < self.next || self.holds(seq));
        let (before, echoed) = (self.next, self.ece);
        let turned = self.note_ecn(config, seq, flags, ecn);
        let held = self.held_until != Time::NEVER;
        // Nothing is out of order while an acknowledgement is held back: this one has no SACK blocks.
        let older =
            (turned && held && config.dctcp_two_acks).then(|| self.acknowledge(rx, before, !self.ece, None, false));
        let in_order = seq == self.next && self.ahead.is_none();
        let quick = config.quick_acks && self.wants_quick_ack(rx, &Arrival { seq, flags, ecn, timestamp, echoed });
        if in_order {
            self.next += 1;
        } else if seq >= self.next {
            self.reassemble(seq);
        }
        // The SYN is not payload.
        let delivered = self.next - before - u32::from(before == 0 && self.next > 0);
        let may_hold = config.delayed_ack > Dur::ZERO && in_order && seq > 0;
        let ack = if older.is_some() {
            // The acknowledgement of this segment is due at once, as the second.
            self.held_until = rx.now;
            older
        } else if may_hold && self.held + 1 < config.ack_every && !turned && !quick {
            if !held {
                self.held_until = rx.now + config.delayed_ack;
                self.held_ce = false;
            }
            self.held += 1;
            self.held_ce |= ecn == Ecn::Ce && config.ecn_echo_held;
            None
        } else {
            // RFC 3168, section 6.1.3: ECE if any of the segments had CE, though the second carries CWR.
            let held_ce = held && self.held_ce && config.feedback == EchoMode::UntilCwr;
            if held {
                (self.held_until, self.held) = (Time::NEVER, 0);
            }
            self.count_quick_ack(config);
            let mut ack = self.acknowledge(rx, self.next, self.ece || held_ce, Some(seq), twice);
            if seq == 0 {
                ack.echo |= Receiver::answer_to_syn(config, flags, ecn);
            }
            Some(ack)
        };
        SegmentOutcome { delivered, ack }
    }

    /// Updates the echo for a segment. Returns true if DCTCP.CE has changed, which asks for an immediate acknowledgement
    /// (RFC 8257, section 3.2).
    #[inline]
    fn note_ecn(&mut self, config: &Config, seq: u32, flags: Flags, ecn: Ecn) -> bool {
        // CE does not count on a SYN (RFC 8257, section 3.6), nor beside the window (RFC 3168, section 6.1.5).
        let counts = config.dialect == Dialect::Ns2 || seq > 0 && seq >= self.next;
        let ce = counts && ecn == Ecn::Ce;
        match config.feedback {
            EchoMode::Counted => {
                let counters = self.counters.as_deref_mut().filter(|_| counts);
                counters.is_some_and(|counters| counters.count(ecn, config.segment))
            }
            EchoMode::UntilCwr => {
                self.ece = ce || self.ece && !flags.has(Flags::CWR);
                false
            }
            EchoMode::PerSegment => counts && std::mem::replace(&mut self.ece, ce) != ce,
        }
    }

    /// The flags with which a SYN-ACK answers to what a SYN asks for: to AccECN what ECN field the SYN had (RFC 9768, Table
    /// 2), or ECE if this end knows RFC 3168 alone or the SYN asks for no more.
    #[cold]
    fn answer_to_syn(config: &Config, flags: Flags, syn: Ecn) -> Flags {
        if !config.ecn || !flags.has(Flags::ECE) {
            Flags::NONE
        } else if config.feedback == EchoMode::Counted
            && config.ecn_request == EcnRequest::AccEcn
            && flags.has(Flags::AE)
        {
            accecn::handshake_flags(syn)
        } else {
            Flags::ECE
        }
    }

    /// The timer is due ([`Receiver::deadline`]).
    pub fn on_timer(&mut self, rx: &mut ReceiveContext<'_>) -> OutgoingAck {
        self.held_until = Time::NEVER;
        self.held = 0;
        self.count_quick_ack(rx.config);
        self.acknowledge(rx, self.next, self.ece, None, false)
    }

    /// Does Linux acknowledge this segment at once, though it might hold the acknowledgement back?
    #[inline(never)]
    fn wants_quick_ack(&mut self, rx: &ReceiveContext<'_>, arrival: &Arrival) -> bool {
        let Some(quick) = self.quick.as_deref_mut() else { return false };
        let last_ahead = self.ahead.as_ref().and_then(|ahead| ahead.ranges.as_slice().last().map(|block| block.1));
        quick.on_segment(rx.config, rx.now, self.next, last_ahead, arrival)
    }

    /// An acknowledgement is sent.
    #[inline]
    fn count_quick_ack(&mut self, config: &Config) {
        if config.quick_acks {
            if let Some(quick) = self.quick.as_deref_mut() {
                quick.on_ack_sent();
            }
        }
    }

    /// Has this segment arrived out of order?
    fn holds(&self, seq: u32) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.ranges.find(seq).is_some())
    }

    fn reassemble(&mut self, seq: u32) {
        let ranges = &mut self.ahead.get_or_insert_default().ranges;
        ranges.add(seq, seq + 1);
        if let Some((_, end)) = ranges.find(self.next) {
            self.next = end;
            ranges.trim_below(end);
            if ranges.is_empty() {
                self.ahead = None;
            }
        }
    }

    /// RFC 7323, 4.3: the timestamp to echo is that of the earliest segment not acknowledged yet, or of the one that
    /// fills a hole. Segments beyond a hole do not change it.
    fn note_timestamp(&mut self, seq: u32, timestamp: u32) {
        let newer = timestamp.wrapping_sub(self.recent) < 1 << 31 || self.next == 0;
        if newer && seq <= self.last_ack {
            self.recent = timestamp;
        }
    }

    /// Builds an acknowledgement. `twice`: report that the segment just received was a duplicate (D-SACK).
    #[inline]
    fn acknowledge(
        &mut self,
        rx: &mut ReceiveContext<'_>,
        ack: u32,
        ece: bool,
        seq: Option<u32>,
        twice: bool,
    ) -> OutgoingAck {
        let config = rx.config;
        let mut bytes = config.header;
        let has_blocks = config.recovery == Recovery::Sack && self.ahead.is_some() || twice;
        let mut has_options = config.timestamps || has_blocks;
        if has_options {
            *rx.options = Options::NONE;
        }
        if config.timestamps {
            self.last_ack = ack;
            rx.options.echo = Some(self.recent);
            rx.options.stamp = config.timestamp(rx.now);
        }
        if has_blocks {
            let n = self.choose_blocks(config.dialect, seq, twice, &mut rx.options.sack);
            // RFC 2018, section 3: 8 n + 2 bytes, padded to whole words; ns-2 counts 8 n.
            bytes += match config.dialect {
                Dialect::Rfc => 8 * n + 4,
                Dialect::Ns2 => 8 * n,
            };
        }
        let ect = match config.ect {
            DctcpEct::Data => false,
            DctcpEct::Handshake => config.ecn && seq == Some(0),
            DctcpEct::All => config.ecn,
        };
        let mut echo = if ece { Flags::ECE } else { Flags::NONE };
        if config.feedback == EchoMode::Counted && ack > 1 {
            echo = self.report_counters(rx, &mut has_options, &mut bytes);
        }
        OutgoingAck { ack, echo, ect, has_options, bytes }
    }

    /// The ACE field, and the AccECN option if it is wanted and there is room for it.
    #[inline(never)]
    fn report_counters(&mut self, rx: &mut ReceiveContext<'_>, has_options: &mut bool, bytes: &mut u32) -> Flags {
        let Some(counters) = self.counters.as_deref_mut() else { return Flags::NONE };
        let (flags, counters) = counters.report();
        if !rx.config.accecn_option {
            return flags;
        }
        if !*has_options {
            *rx.options = Options::NONE;
        }
        // 40 bytes of options; SACK blocks come first (RFC 9768, section 3.2.3.3).
        if *bytes + accecn::OPTION_BYTES <= rx.config.header_without_options() + 40 {
            *has_options = true;
            *bytes += accecn::OPTION_BYTES;
            rx.options.counters = Some(counters);
        }
        flags
    }

    /// RFC 2018, section 4: first the block that holds the segment just received, then those
    /// reported most recently, and as many as there is room for: blocks that have not been reported
    /// for long are forgotten, and come in from the lowest on (ns-2 leaves them out). RFC 2883,
    /// section 4: before them a segment received twice. Returns how many.
    fn choose_blocks(&mut self, dialect: Dialect, seq: Option<u32>, twice: bool, out: &mut SackBlocks) -> u32 {
        let first = usize::from(twice);
        if let Some(seq) = seq.filter(|_| twice) {
            out[0] = (seq, seq + 1);
        }
        let Some(OutOfOrder { ranges, reported }) = self.ahead.as_deref_mut() else { return first as u32 };
        if let Some((start, _)) = seq.and_then(|s| ranges.find(s)) {
            reported.insert(0, start);
        }
        let mut n = first;
        // A block that grew or merged is the one that now holds its old start.
        reported.retain(|&start| match ranges.find(start) {
            Some(block) if n < MAX_BLOCKS && !out[first..n].contains(&block) => {
                out[n] = block;
                n += 1;
                true
            }
            _ => false,
        });
        if dialect == Dialect::Rfc {
            for &block in ranges.as_slice().iter().take(MAX_BLOCKS) {
                if n < MAX_BLOCKS && !out[first..n].contains(&block) {
                    out[n] = block;
                    reported.push(block.0);
                    n += 1;
                }
            }
        }
        n as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::params::{ParamValues, Value};

    fn config(values: &[(&str, Value)]) -> Config {
        let values: ParamValues = values.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        Config::with_preset("ns2", &values).unwrap()
    }

    fn sack() -> Config {
        config(&[("recovery", Value::Choice("sack".into()))])
    }

    fn data(r: &mut Receiver, c: &Config, seq: u32) -> SegmentOutcome {
        with_blocks(r, c, seq).0
    }

    /// The same with the SACK blocks of the acknowledgement; none if it has no options.
    fn with_blocks(r: &mut Receiver, config: &Config, seq: u32) -> (SegmentOutcome, Option<SackBlocks>) {
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: Time::ZERO, config, options: &mut options };
        let got = r.on_segment(&mut rx, seq, Flags::NONE, Ecn::NotEct, 0);
        (got, got.ack.filter(|ack| ack.has_options).map(|_| options.sack))
    }

    #[test]
    fn blocks_are_reported_latest_first_rfc_2018_section_4() {
        let (c, mut r) = (sack(), Receiver::default());
        for seq in [0, 1, 3] {
            data(&mut r, &c, seq);
        }
        data(&mut r, &c, 5);
        let (got, blocks) = with_blocks(&mut r, &c, 7);
        let ack = got.ack.unwrap();
        assert_eq!((ack.ack, blocks), (2, Some([(7, 8), (5, 6), (3, 4)])));
        assert_eq!(ack.bytes, 40 + 24);
        let (_, blocks) = with_blocks(&mut r, &c, 4); // joins two blocks
        assert_eq!(blocks, Some([(3, 6), (7, 8), (0, 0)]));
        let filled = data(&mut r, &c, 2);
        assert_eq!((filled.delivered, filled.ack.unwrap().ack), (4, 6));
        let done = data(&mut r, &c, 6).ack.unwrap();
        assert_eq!((done.ack, done.has_options, done.bytes), (8, false, 40));
    }

    #[test]
    fn a_block_that_was_forgotten_is_reported_when_there_is_room_rfc_2018_section_4() {
        let recovery = ("recovery".to_string(), Value::Choice("sack".into()));
        let c = Config::with_preset("rfc", &[recovery].into()).unwrap();
        let mut r = Receiver::default();
        for seq in [0, 9, 7, 5, 3] {
            data(&mut r, &c, seq);
        }
        for seq in [1, 2, 4] {
            data(&mut r, &c, seq);
        }
        let (got, blocks) = with_blocks(&mut r, &c, 6);
        assert_eq!((got.ack.unwrap().ack, blocks), (8, Some([(9, 10), (0, 0), (0, 0)])));
    }

    #[test]
    fn echo_stays_until_cwr() {
        let c = config(&[("recovery", Value::Choice("sack".into())), ("ecn", Value::Flag(true))]);
        let mut r = Receiver::default();
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: Time::ZERO, config: &c, options: &mut options };
        let mut ece = |seq, flags, ecn| r.on_segment(&mut rx, seq, flags, ecn, 0).ack.unwrap().ece();
        assert!(ece(0, Flags::SYN | Flags::ECE, Ecn::NotEct), "negotiation");
        assert!(!ece(1, Flags::NONE, Ecn::Ect0));
        assert!(ece(2, Flags::NONE, Ecn::Ce));
        assert!(ece(3, Flags::NONE, Ecn::Ect0));
        assert!(!ece(4, Flags::CWR, Ecn::Ect0));
        assert!(ece(5, Flags::CWR, Ecn::Ce), "a new mark on the packet that carries CWR");
    }

    #[test]
    fn an_acknowledgement_of_a_marked_segment_echoes_though_the_next_carries_cwr() {
        let values = [("ecn".to_string(), Value::Flag(true))].into();
        let c = Config::with_preset("rfc", &values).unwrap();
        let mut r = Receiver::default();
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: Time::ZERO, config: &c, options: &mut options };
        let mut hear = |seq, flags, ecn| r.on_segment(&mut rx, seq, flags, ecn, 0).ack.map(|a| (a.ack, a.ece()));
        hear(0, Flags::SYN, Ecn::NotEct);
        assert_eq!(hear(1, Flags::NONE, Ecn::Ce), None);
        assert_eq!(hear(2, Flags::CWR, Ecn::Ect0), Some((3, true)), "RFC 3168, 6.1.3");
        assert_eq!(hear(3, Flags::NONE, Ecn::Ect0), None);
        assert_eq!(hear(4, Flags::NONE, Ecn::Ect0), Some((5, false)));
    }

    #[test]
    fn every_second_segment_is_acknowledged_and_gaps_at_once() {
        let c = config(&[("delayed_ack", Value::Number(0.1))]);
        let mut r = Receiver::default();
        assert!(data(&mut r, &c, 0).ack.is_some(), "the SYN at once");
        assert!(data(&mut r, &c, 1).ack.is_none());
        assert_eq!(r.deadline(), Time(100_000_000));
        assert_eq!(data(&mut r, &c, 2).ack.unwrap().ack, 3);
        assert_eq!(r.deadline(), Time::NEVER);
        assert_eq!(data(&mut r, &c, 4).ack.unwrap().ack, 3, "out of order: at once");
        assert_eq!(data(&mut r, &c, 3).ack.unwrap().ack, 5, "fills a gap: at once");
        assert!(data(&mut r, &c, 5).ack.is_none());
        let mut rx = ReceiveContext { now: r.deadline(), config: &c, options: &mut Options::default() };
        assert_eq!(r.on_timer(&mut rx).ack, 6);
    }

    #[test]
    fn duplicates_deliver_nothing() {
        let (c, mut r) = (sack(), Receiver::default());
        for seq in [0, 1, 2] {
            data(&mut r, &c, seq);
        }
        assert_eq!(data(&mut r, &c, 1).delivered, 0);
        data(&mut r, &c, 5);
        assert_eq!(data(&mut r, &c, 5).delivered, 0);
    }
}

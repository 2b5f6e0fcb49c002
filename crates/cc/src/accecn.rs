//! More accurate ECN feedback (AccECN): RFC 9768.
//!
//! The receiver counts the packets that arrive with CE (r.cep, from 5 on) and sends the lowest three bits of the count in
//! the header of each acknowledgement: the ACE field, of the flags AE, CWR and ECE (3.2.2). It may add the AccECN option,
//! with the bytes of payload that came with CE, ECT(0) and ECT(1), modulo 2^24 (3.2.3). The sender adds the difference from
//! its own count (s.cep), and where so many packets are acknowledged that the field may have gone round, eight more as
//! often as that is possible (3.2.2.5.2, A.2.1), unless the bytes of the option contradict (A.2.2), or acknowledgements
//! of many packets are the rule (A.2.1): their mean number, smoothed by 1/64, is above 4, as in Linux.
//! The handshake negotiates: the SYN has all three flags, the SYN-ACK tells the ECN field of the SYN (3.1.1, Table 2). A
//! receiver that knows only RFC 3168 answers with ECE alone.
//!
//! Departures:
//! - An acknowledgement has been superseded (A.1) if it raises neither SND.UNA nor the highest segment reported. Without
//!   SACK a duplicate acknowledgement counts as new. Timestamps are not compared.
//! - The packets that an acknowledgement newly reports are counted from the highest segment reported before, holes included;
//!   one that only fills holes counts as one packet. Acknowledgements carry no data, so there are no others to count.
//! - Data carries no feedback, because no data goes the other way. Nothing mangles or zeroes a field, so the tests for it
//!   (3.2.2.3, 3.2.2.4, 3.2.3.2) are left out, and the option is never blocked.
//! - CE on the SYN, of which the SYN-ACK tells, does not reduce the window (3.2.2.2 wants an answer). A SYN-ACK with 0b101 counts as AccECN (3.1.3).
//! - The option always has all three fields: 11 bytes, 12 with padding. With timestamps, two SACK blocks leave no room for it.

use crate::config::Config;
use crate::segment::{Ack, ByteCounters};
use marqueue_core::{Ecn, Flags};

/// Initial value of r.cep and s.cep (3.2.1).
const FIRST_CEP: u32 = 5;

/// Values of the ACE field: DIVACE of A.2.1.
const CYCLE: u32 = 8;

/// Values of a byte counter: 24 bits.
const BYTES_CYCLE: u32 = 1 << 24;

/// Bytes of the option with its padding.
pub const OPTION_BYTES: u32 = 12;

/// Where acknowledgements report more packets than this in the mean, the ACE field is taken to have gone round at most
/// once (Linux, TCP_ACCECN: ACK compression).
const MANY: f64 = 4.0;

/// Weight of the latest acknowledgement in that mean.
const WEIGHT: f64 = 1.0 / 64.0;

/// The flags that tell three bits: AE, CWR and ECE, from the highest.
pub fn ace_flags(bits: u32) -> Flags {
    [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)]
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .fold(Flags::NONE, |flags, (_, flag)| flags | flag)
}

/// The three bits that flags tell.
pub fn ace_bits(flags: Flags) -> u32 {
    [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)].into_iter().filter(|(_, f)| flags.has(*f)).map(|(b, _)| b).sum()
}

/// The flags of a SYN-ACK after a SYN with this ECN field (Table 2).
pub fn handshake_flags(syn: Ecn) -> Flags {
    ace_flags(match syn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// What a SYN-ACK negotiates (Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negotiated {
    /// AccECN. The field says whether the SYN arrived with CE.
    Accurate {
        /// It did.
        ce: bool,
    },
    /// The feedback of RFC 3168.
    Classic,
    /// No ECN.
    Not,
}

/// What the SYN-ACK with these three bits answers to a SYN with all three.
pub fn negotiated(bits: u32) -> Negotiated {
    match bits {
        // 0b101, the nonce, is reserved: forward compatibility (3.1.3) takes it for AccECN.
        0b010..=0b101 => Negotiated::Accurate { ce: false },
        0b110 => Negotiated::Accurate { ce: true },
        0b001 => Negotiated::Classic,
        _ => Negotiated::Not,
    }
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverCounters {
    /// r.cep.
    cep: u32,
    /// r.e0b, r.ceb and r.e1b.
    bytes: ByteCounters,
    /// CE marks since the latest acknowledgement.
    unreported: u32,
    /// The latest packet had CE.
    latest_ce: bool,
}

impl Default for ReceiverCounters {
    fn default() -> ReceiverCounters {
        let bytes = ByteCounters { ect0: 1, ce: 0, ect1: 1 };
        ReceiverCounters { cep: FIRST_CEP, bytes, unreported: 0, latest_ce: false }
    }
}

impl ReceiverCounters {
    /// A packet other than a SYN arrives, with `bytes` of payload. Returns true if it asks for an immediate acknowledgement:
    /// CE after a packet without, or two marks since the latest acknowledgement (3.2.2.5.1).
    pub fn count(&mut self, ecn: Ecn, bytes: u32) -> bool {
        let counter = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(&mut self.bytes.ect0),
            Ecn::Ect1 => Some(&mut self.bytes.ect1),
            Ecn::Ce => Some(&mut self.bytes.ce),
        };
        if let Some(counter) = counter {
            *counter = (*counter + bytes) % BYTES_CYCLE;
        }
        let ce = ecn == Ecn::Ce;
        self.cep = self.cep.wrapping_add(u32::from(ce));
        self.unreported += u32::from(ce);
        let changed = std::mem::replace(&mut self.latest_ce, ce) != ce;
        ce && (changed || self.unreported >= 2)
    }

    /// An acknowledgement leaves: the ACE field and the byte counters.
    pub fn report(&mut self) -> (Flags, ByteCounters) {
        self.unreported = 0;
        (ace_flags(self.cep % CYCLE), self.bytes)
    }
}

/// The counters of a sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderCounters {
    /// s.cep.
    cep: u32,
    /// s.ceb, once an option has come.
    ceb: Option<u32>,
    /// Bytes that the option has reported as marked, of all its rounds.
    marked_bytes: u64,
    /// One past the highest segment that was reported as arrived.
    highest: u32,
    /// Mean number of packets that an acknowledgement reports.
    mean: f64,
    /// Packets that the latest acknowledgement reports as marked.
    latest: u32,
    /// The latest timestamp of the receiver.
    stamp: u32,
}

/// What an acknowledgement newly reports, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// All that have arrived.
    pub arrived: u32,
    /// Those that came with CE.
    pub marked: u32,
}

impl Default for SenderCounters {
    fn default() -> SenderCounters {
        SenderCounters { cep: FIRST_CEP, ceb: None, marked_bytes: 0, highest: 1, mean: 0.0, latest: 0, stamp: 0 }
    }
}

impl SenderCounters {
    /// Those after the handshake, which this acknowledgement ended.
    pub fn after(ack: &Ack<'_>) -> SenderCounters {
        SenderCounters { stamp: ack.stamp, ..SenderCounters::default() }
    }

    /// Decodes an acknowledgement; `una` is SND.UNA before it. `duplicates`: one that reports nothing new by its numbers
    /// tells of a packet (there is no SACK).
    pub fn decode(&mut self, config: &Config, ack: &Ack<'_>, una: u32, duplicates: bool) -> Marks {
        let end = ack.sack.iter().map(|block| block.1).fold(ack.ack, u32::max);
        let beyond = end.saturating_sub(self.highest);
        self.highest = self.highest.max(end);
        self.latest = 0;
        let arrived = beyond.max(u32::from(ack.ack > una || duplicates));
        // Where an acknowledgement reports nothing new, a later timestamp of the receiver tells that its counters are not
        // older than those read before (Linux, FLAG_TS_PROGRESS).
        let later = ack.echo.is_some() && ack.stamp.wrapping_sub(self.stamp) as i32 > 0;
        if later {
            self.stamp = ack.stamp;
        }
        if arrived == 0 {
            return if later { self.count(ack, arrived, config.segment) } else { Marks::default() };
        }
        self.mean += if self.mean == 0.0 { f64::from(arrived) } else { WEIGHT * (f64::from(arrived) - self.mean) };
        self.count(ack, arrived, config.segment)
    }

    /// Counts what an acknowledgement of so many packets reports as marked.
    fn count(&mut self, ack: &Ack<'_>, arrived: u32, segment: u32) -> Marks {
        let least = (ace_bits(ack.flags) + CYCLE - self.cep % CYCLE) % CYCLE;
        let new_bytes = self.new_bytes(ack);
        let marked = if self.mean > MANY { least } else { safe(arrived, least, new_bytes, segment) };
        self.cep = self.cep.wrapping_add(marked);
        self.latest = marked;
        Marks { arrived, marked }
    }

    /// Packets that the latest acknowledgement reports as marked.
    pub fn latest(&self) -> u32 {
        self.latest
    }

    /// Packets that have been reported as marked, of the whole connection.
    pub fn marked(&self) -> u32 {
        self.cep.wrapping_sub(FIRST_CEP)
    }

    /// Bytes that have been reported as marked, of the whole connection; none without the option.
    pub fn marked_bytes(&self) -> u64 {
        self.marked_bytes
    }

    /// d.ceb: bytes newly marked, if this acknowledgement and an earlier one have the option.
    fn new_bytes(&mut self, ack: &Ack<'_>) -> Option<u32> {
        let ceb = ack.counters.as_ref()?.ce;
        let before = self.ceb.replace(ceb).unwrap_or(0);
        let new = (ceb + BYTES_CYCLE - before) % BYTES_CYCLE;
        self.marked_bytes += u64::from(new);
        Some(new)
    }
}

/// dSafer.cep of A.2.1 and A.2.2: of `arrived` packets, those marked, if `least` is the least that the ACE field says.
fn safe(arrived: u32, least: u32, new_bytes: Option<u32>, segment: u32) -> u32 {
    let safer = if least > arrived { least } else { arrived - (arrived - least) % CYCLE };
    match new_bytes {
        // The bytes fit `least`, and would be less than half of a segment each for `safer`.
        Some(bytes) if safer > least && bytes <= segment * least && 2 * bytes < segment * safer => least,
        _ => safer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_appendix_a() {
        assert_eq!(safe(9, 2, None, 1460), 2, "A.2.1");
        assert_eq!(safe(10, 2, None, 1460), 10, "A.2.1");
        assert_eq!(safe(8, 0, Some(1460), 1460), 8, "A.2.2: no segment is that large");
        assert_eq!(safe(10, 2, Some(1460), 1460), 2, "A.2.2");
        assert_eq!(safe(15, 7, Some(10_200), 1460), 7, "A.2.2");
        assert_eq!(safe(1, 3, None, 1460), 3, "3.2.2.5.2: the counter is right");
    }

    #[test]
    fn flags_and_bits() {
        for bits in 0..8 {
            assert_eq!(ace_bits(ace_flags(bits)), bits);
        }
        let answers = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|e| negotiated(ace_bits(handshake_flags(e))));
        let (not_ce, ce) = (Negotiated::Accurate { ce: false }, Negotiated::Accurate { ce: true });
        assert_eq!(answers, [not_ce, not_ce, not_ce, ce]);
        assert_eq!([0b000, 0b001, 0b111].map(negotiated), [Negotiated::Not, Negotiated::Classic, Negotiated::Not]);
    }

    #[test]
    fn the_count_starts_at_five_and_goes_round() {
        let mut r = ReceiverCounters::default();
        assert_eq!(r.report(), (ace_flags(5), ByteCounters { ect0: 1, ce: 0, ect1: 1 }));
        for n in 1..=4 {
            assert!(r.count(Ecn::Ce, 1000), "mark {n}: a change, then two and more");
        }
        assert!(!r.count(Ecn::Ect1, 500));
        assert_eq!(r.report(), (ace_flags(1), ByteCounters { ect0: 1, ce: 4000, ect1: 501 }));
        assert!(r.count(Ecn::Ce, 1000), "a change");
        r.report();
        assert!(!r.count(Ecn::Ce, 1000), "no change, and the first since the report");
        assert!(r.count(Ecn::Ce, 1000), "the second");
    }
}

//! A DCTCP receiver and sender beside a transcription of RFC 8257, over random sequences.

mod common;
#[path = "pseudocode/rfc_8257.rs"]
mod rfc_8257;

use common::{config_of, Lead};
use marqueue_cc::receiver::ReceiveContext;
use marqueue_cc::{Config, Options, Receiver};
use marqueue_core::{Dur, Ecn, Flags, Rng, Time};

const SEQUENCES: u64 = 10_000;
/// Both sides compute with 53 bits.
const ROUNDING: f64 = 1e-12;

fn dctcp(two_acks: bool, g: f64, initial_window: f64) -> Config {
    config_of(
        "rfc",
        &[("control", "dctcp"), ("recovery", "newreno")],
        &[("delayed_ack", 0.1), ("initial_window", initial_window), ("dctcp_g", g)],
        &[("ecn", true), ("dctcp_two_acks", two_acks)],
    )
}

/// A receiver of the crate that says what it sends.
struct Tested {
    config: Config,
    receiver: Receiver,
    now: Time,
}

impl Tested {
    fn segment(&mut self, seq: u32, flags: Flags, ecn: Ecn) -> Vec<rfc_8257::SentAck> {
        let mut options = Options::NONE;
        let mut rx = ReceiveContext { now: self.now, config: &self.config, options: &mut options };
        let first = self.receiver.on_segment(&mut rx, seq, flags, ecn, 0).ack;
        let mut sent: Vec<_> = first.iter().map(|ack| (ack.ack, ack.ece())).collect();
        if self.receiver.deadline() == self.now {
            sent.push(self.timer());
        }
        sent
    }

    fn timer(&mut self) -> rfc_8257::SentAck {
        let mut options = Options::NONE;
        let ack =
            self.receiver.on_timer(&mut ReceiveContext { now: self.now, config: &self.config, options: &mut options });
        (ack.ack, ack.ece())
    }
}

#[test]
fn a_receiver_acknowledges_as_section_3_2_says() {
    let (mut changes_while_held, mut held) = (0, 0);
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "receiver");
        let two_acks = rng.uniform() < 0.5;
        let mut tested =
            Tested { config: dctcp(two_acks, 0.0625, 10.0), receiver: Receiver::default(), now: Time::ZERO };
        let mut rfc = rfc_8257::Receiver::new(two_acks);
        // The SYN may be marked: that is ignored (3.6).
        let ecn = if rng.uniform() < 0.5 { Ecn::Ce } else { Ecn::Ect0 };
        assert_eq!(tested.segment(0, Flags::SYN | Flags::ECE, ecn), [(1, true)], "negotiation");
        rfc.on_syn();
        let stays = rng.uniform();
        let mut ce = false;
        for step in 0..60 {
            tested.now += Dur(1_000_000);
            if rng.uniform() < 0.05 && rfc.pending > 0 {
                tested.now = tested.receiver.deadline();
                assert_eq!(tested.timer(), rfc.on_timer(), "sequence {seed}, step {step}: the timer");
                continue;
            }
            ce ^= rng.uniform() > stays;
            let seq = match rng.below(20) {
                0 => rfc.rcv_nxt() + 1 + rng.below(4),
                1 => rfc.rcv_nxt().saturating_sub(rng.below(3)).max(1),
                _ => rfc.rcv_nxt(),
            };
            let flags = if rng.uniform() < 0.2 { Flags::CWR } else { Flags::NONE };
            let was_held = rfc.pending > 0;
            let expected = rfc.on_segment(seq, ce);
            let got = tested.segment(seq, flags, if ce { Ecn::Ce } else { Ecn::Ect0 });
            assert_eq!(got, expected, "sequence {seed}, step {step}: segment {seq}, CE {ce}");
            changes_while_held += u32::from(was_held && expected.last().is_some_and(|ack| ack.1 == ce));
            held += u32::from(tested.receiver.deadline() != Time::NEVER);
            assert_eq!(tested.receiver.deadline() != Time::NEVER, rfc.pending > 0);
        }
    }
    assert!(changes_while_held > 1000 && held > 1000, "{changes_while_held} {held}");
}

#[test]
fn a_sender_estimates_and_reduces_as_section_3_3_says() {
    const SEGMENT: u64 = 1460;
    let mut cuts = 0;
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "sender");
        let g = [0.0625, 0.5, 1.0][rng.below(3) as usize];
        let mut lead = Lead::open(dctcp(false, g, 2.0 + f64::from(rng.below(40))), None);
        let mut rfc = rfc_8257::Sender::new(g, SEGMENT);
        let marked = rng.uniform();
        for step in 0..60 {
            lead.now += Dur(1_000_000);
            let core = lead.sender.core();
            let (una, max, before, recover) = (core.una, core.max, core.window, core.recover);
            if una == max || core.ecn_wait {
                break; // a window of one segment, which waits for the timer (RFC 3168, section 6.1.2)
            }
            let next = una + (1 + rng.below(3)).min(max - una);
            let ece = rng.uniform() < marked;
            let [snd_una, snd_nxt, seg_ack] = [una, max, next].map(|n| u64::from(n) * SEGMENT);
            rfc.on_ack(seg_ack, snd_una, snd_nxt, ece);
            if !ece {
                lead.ack(next);
                continue;
            }
            lead.echo(next);
            // RFC 3168: once a window of data.
            let expected = if next > recover { rfc.reduced(before.cwnd).max(1.0) } else { before.cwnd };
            cuts += u32::from(next > recover);
            assert!(
                (lead.cwnd() - expected).abs() <= ROUNDING * expected,
                "sequence {seed}, step {step}: {}, by the RFC {expected}",
                lead.cwnd()
            );
        }
    }
    assert!(cuts > 10_000, "{cuts}");
}

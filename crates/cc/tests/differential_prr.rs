//! Proportional rate reduction beside a literal transcription of RFC 6937, section 3.

mod common;
mod pseudocode;

use common::config_of;
use marqueue_cc::config::Reduction;
use marqueue_cc::core::Core;
use marqueue_cc::recovery::prr::{Progress, WindowReduction};
use marqueue_core::Rng;
use pseudocode::rfc_6937::{Bound, Rfc6937};
use pseudocode::SEQUENCES;

/// The segments that may be sent at an acknowledgement: what the window has beyond the pipe, whole segments only.
fn room(core: &Core, pipe: u32) -> f64 {
    (core.window.cwnd - f64::from(pipe)).floor().max(0.0)
}

/// The sender chooses the bound at each acknowledgement: slow start if it is safe, else the conservative one. It departs
/// from RFC 6937 as RFC 9937 does: of the conservative bound at least what has just been delivered may be sent, the first
/// acknowledgement sends the fast retransmit in any case, and one that delivers nothing is no occasion to send.
#[test]
fn what_may_be_sent_is_what_the_text_says() {
    let config = config_of("rfc", &[("reduction", "prr")], &[], &[]);
    let mut compared = 0;
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "prr");
        let flight = 4 + rng.below(60);
        let ssthresh = (f64::from(flight) * (0.3 + 0.6 * rng.uniform())).max(2.0);
        let mut core = Core::new(&config, None, 0.0);
        core.window.ssthresh = ssthresh;
        let mut ours = WindowReduction::begin(Reduction::Prr, flight);
        let mut text = Rfc6937::new(ssthresh, f64::from(flight));
        let mut pipe = flight - rng.below(flight / 2);
        for ack in 0..30 {
            let delivered = (1 + rng.below(3)).min(pipe);
            if delivered == 0 {
                break;
            }
            pipe -= delivered;
            let safe = rng.below(3) == 0;
            let banked = text.prr_delivered - text.prr_out;
            let bound = if safe { Bound::SlowStart } else { Bound::Conservative };
            let mut said = text.sndcnt(f64::from(delivered), f64::from(pipe), bound);
            if !safe && f64::from(pipe) <= ssthresh && banked < 0.0 {
                said = f64::from(delivered).min(ssthresh - f64::from(pipe));
            }
            let fast_retransmit = f64::from(u8::from(text.prr_out == 0.0));
            ours.on_ack(&mut core, Progress { delivered, in_flight: pipe, safe });
            let may = room(&core, pipe);
            assert_eq!(may, said.floor().max(fast_retransmit), "acknowledgement {ack}");
            compared += 1;
            // The application may have less, and a loss takes segments off the pipe.
            let sent = (may as u32).min(if rng.below(4) == 0 { rng.below(3) } else { u32::MAX });
            ours.sent(sent);
            text.prr_out += f64::from(sent);
            pipe = (pipe + sent).saturating_sub(u32::from(rng.below(10) == 0));
        }
    }
    assert!(compared > 100_000);
}

/// RFC 6937, section 4: if nothing more is lost, ssthresh segments go out in the recovery and are in flight at its end.
#[test]
fn a_recovery_without_further_losses_ends_at_ssthresh() {
    let config = config_of("rfc", &[("reduction", "prr")], &[], &[]);
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "prr to the end");
        let flight = 4 + rng.below(60);
        let ssthresh = f64::from(2 + rng.below(flight - 2));
        let mut core = Core::new(&config, None, 0.0);
        core.window.ssthresh = ssthresh;
        let mut ours = WindowReduction::begin(Reduction::Prr, flight);
        // One segment is lost; the others and the retransmission arrive.
        let (mut pipe, mut sent) = (flight - 1, 0);
        for _ in 0..flight - 1 {
            pipe -= 1;
            ours.on_ack(&mut core, Progress { delivered: 1, in_flight: pipe, safe: false });
            let may = room(&core, pipe) as u32;
            ours.sent(may);
            (pipe, sent) = (pipe + may, sent + may);
        }
        assert_eq!(f64::from(pipe), ssthresh, "flight {flight}");
        assert_eq!(f64::from(sent), ssthresh, "flight {flight}");
    }
}

//! Windows under preset `linux`, worked out by hand from Linux 7.3: net/ipv4/tcp_input.c (tcp_init_transfer), tcp_cong.c
//! (tcp_cong_avoid_ai), tcp_dctcp.c (dctcp_ssthresh, dctcp_update_alpha).

mod common;

use common::{config_of, Lead};
use marqueue_cc::Config;

fn linux(control: &str, ecn: bool) -> Config {
    config_of("linux", &[("control", control)], &[], &[("ecn", ecn)])
}

#[test]
fn a_syn_that_was_lost_once_leaves_the_initial_window() {
    for (preset, windows) in [("linux", [10.0, 10.0, 1.0]), ("rfc", [10.0, 1.0, 1.0])] {
        for (losses, expected) in windows.into_iter().enumerate() {
            let mut lead = Lead::new(config_of(preset, &[], &[], &[]), None);
            for _ in 0..losses {
                assert_eq!(lead.time_out(), [0]);
            }
            lead.ack(1);
            assert_eq!(lead.cwnd(), expected, "{preset}, {losses}");
        }
    }
}

#[test]
fn reno_grows_by_one_for_as_many_segments_as_its_window_has() {
    let mut lead = Lead::open(linux("reno", false), None);
    // A loss in the first window of ten leaves five.
    lead.sack(1, &[(2, 11)]);
    let mut next = 11;
    let mut ack = |lead: &mut Lead| {
        lead.ack(next);
        next += 1;
    };
    ack(&mut lead);
    while lead.cwnd().fract() > 0.0 {
        ack(&mut lead);
    }
    let before = lead.cwnd();
    for _ in 0..before as u32 {
        assert_eq!(lead.cwnd().floor(), before);
        ack(&mut lead);
    }
    assert_eq!(lead.cwnd(), before + 1.0);
}

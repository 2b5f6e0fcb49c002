//! Windows under preset `linux`, worked out by hand from Linux 7.3: net/ipv4/tcp_input.c (tcp_init_transfer), tcp_cong.c
//! (tcp_cong_avoid_ai), tcp_dctcp.c (dctcp_ssthresh, dctcp_update_alpha).

mod common;

use common::{at, config_of, Lead};
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

#[test]
fn rack_takes_the_round_trip_of_the_last_segment_in_sequence() {
    // One acknowledgement reports segment 1, sent again 120 ms before, and segment 4, sent 220 ms before. By the first
    // segment 10, which is out as long as segment 4, is overdue, by the second it is not.
    for (which, lost) in [("last_sent", 6), ("last_in_sequence", 5)] {
        let mut lead = Lead::open(config_of("linux", &[("rack_rtt", which)], &[], &[]), Some(10));
        lead.now = at(0.2);
        lead.sack(1, &[(2, 4)]);
        assert_eq!(lead.sack(1, &[(2, 4), (9, 10)])[0], 1);
        lead.now = at(0.32);
        lead.sack(5, &[(9, 10)]);
        assert_eq!(lead.sender.repair().map(|r| r.lost), Some(lost - 1), "{which}");
    }
}

#[test]
fn a_loss_in_a_reduction_by_dctcp_lowers_its_target_and_does_not_begin_it_anew() {
    // Twenty segments are out when the first mark is echoed: alpha is 1, ssthresh 10. With the tenth acknowledgement five
    // segments have been sent. Then segment 11 is found lost.
    let config = config_of("linux", &[("control", "dctcp")], &[("initial_window", 20.0)], &[("ecn", true)]);
    let mut lead = Lead::open(config, None);
    lead.echo(2);
    assert_eq!(lead.ssthresh(), 10.0);
    for next in 3..=11 {
        lead.echo(next);
    }
    let before = lead.cwnd();
    let sent = (13..=20).map(|end| lead.sack(11, &[(12, end)])).collect::<Vec<_>>();
    assert_eq!(lead.ssthresh(), (before / 2.0).floor());
    assert_eq!(lead.ssthresh(), 7.0);
    // sndcnt = ceil(7 d / 20) - out, with d = 11 to 18 delivered of 20, and 5 sent before: the retransmission waits for
    // d = 15, new data for d = 18.
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 0, 0, 1]);
    assert_eq!(sent[4], [11]);
}

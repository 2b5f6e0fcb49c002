//! The sender of a media flow: pacing, window, losses, silence.

use marqueue_cc::media::feedback::PacketReport;
use marqueue_cc::media::{Feedback, Sender, Setting};
use marqueue_core::params::{ParamValues, PolicySpec};
use marqueue_core::{Dur, Ecn, Time};

const MS: u64 = 1_000_000;

fn sender() -> Sender {
    let control = PolicySpec { name: "scream".into(), params: ParamValues::new() };
    let setting =
        Setting { control, packet: 1200, ecn: Ecn::Ect1, frame_period: Dur(40 * MS), rates: (200_000.0, 8e6) };
    Sender::new(&setting, Time::ZERO).expect("the defaults are allowed")
}

/// Sends all that may go by `until`. Returns when each packet left.
fn send(sender: &mut Sender, until: Time) -> Vec<Time> {
    let mut times = Vec::new();
    while sender.deadline() <= until {
        let now = sender.deadline();
        sender.on_timer(now).expect("it is due");
        times.push(now);
    }
    times
}

/// A report at `at` of the packets from `begin` on, of which those that are true arrived 10 ms before.
fn report(at: u64, begin: u32, arrived: &[bool]) -> Feedback {
    let packet = PacketReport { ecn: Ecn::Ect1, offset: 10 };
    Feedback { begin, at: Time(at * MS), packets: arrived.iter().map(|&it| it.then_some(packet)).collect() }
}

#[test]
fn a_frame_is_cut_into_packets_that_are_paced() {
    let mut s = sender();
    // 1172 bytes of RTP fit into 1200: 3000 are two full packets and one of 656.
    assert_eq!(s.on_frame(Time::ZERO, 0, 3000), (3, 3000));
    // At 200 kbit/s, paced at 300: 1172 bytes take 31.253 ms.
    let times = send(&mut s, Time(100 * MS));
    assert_eq!(times.iter().map(|t| t.0 / 1000).collect::<Vec<_>>(), [0, 31_253, 62_506]);
    assert_eq!(s.info().in_flight, 3000);
    assert_eq!(s.deadline(), Time::NEVER);
}

#[test]
fn the_window_holds_packets_back_and_after_silence_one_goes() {
    let mut s = sender();
    s.on_frame(Time::ZERO, 0, 20_000);
    // Three times the window of 3000 bytes: seven packets of 1172 are in flight.
    assert_eq!(send(&mut s, Time(400 * MS)).len(), 7);
    let last = 6 * 31_253_333;
    assert_eq!(s.deadline().0 / MS, (last + 500 * MS) / MS);
    assert_eq!(s.counts.timeouts, 0);
    let late = s.deadline();
    assert!(s.on_timer(late).is_some());
    assert_eq!((s.counts.timeouts, s.info().in_flight), (1, 1172));
}

#[test]
fn a_packet_that_a_report_passes_over_is_lost_until_reordering_is_known() {
    let mut s = sender();
    for frame in 0..6 {
        s.on_frame(Time(0), frame, 1172);
    }
    send(&mut s, Time(200 * MS));
    assert_eq!(s.on_feedback(Time(210 * MS), &report(205, 0, &[true, false, true])), Some(1));
    // It arrives after all, 20 ms after it was missed: from now on a gap is no loss for that time.
    assert_eq!(s.on_feedback(Time(230 * MS), &report(225, 0, &[true, true, true])), None);
    assert_eq!(s.on_feedback(Time(240 * MS), &report(235, 0, &[true, true, true, false, true])), None);
    assert_eq!(s.on_feedback(Time(259 * MS), &report(254, 2, &[true, false, true])), None);
    assert_eq!(s.on_feedback(Time(260 * MS), &report(255, 2, &[true, false, true])), Some(3));
    assert_eq!(s.counts.lost, 2);
}

#[test]
fn the_round_trip_time_leaves_out_what_the_receiver_waited() {
    let mut s = sender();
    s.on_frame(Time(0), 0, 1000);
    send(&mut s, Time(0));
    // 10/1024 s at the receiver.
    s.on_feedback(Time(50 * MS), &report(30, 0, &[true]));
    assert!((s.info().srtt - (0.05 - 10.0 / 1024.0)).abs() < 1e-8);
    assert_eq!(s.info().in_flight, 0);
}

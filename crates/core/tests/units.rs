//! Times, durations and rates.

use marqueue_core::units::Transmitter;
use marqueue_core::{Bytes, Dur, Rate, Time};

#[test]
fn nanoseconds_are_seconds_times_a_billion() {
    assert_eq!(Time(2_500_000_000).secs(), 2.5);
    assert_eq!(Dur(1_250_000).secs(), 0.001_25);
    assert_eq!(Dur::from_secs(2.5).secs(), 2.5);
}

#[test]
fn times_and_durations_add_up_and_stop_at_the_end_of_time() {
    let mut now = Time(5) + Dur(7);
    assert_eq!(now, Time(12));
    now += Dur(3);
    assert_eq!((now, now - Time(5)), (Time(15), Dur(10)));
    assert_eq!(Dur(4) + Dur(5), Dur(9));
    assert_eq!(Time::NEVER + Dur(1), Time::NEVER);
    assert_eq!(Dur(u64::MAX) + Dur(1), Dur(u64::MAX));
}

#[test]
fn nothing_has_passed_since_a_later_time() {
    assert_eq!(Time(15).since(Time(5)), Dur(10));
    assert_eq!(Time(5).since(Time(15)), Dur::ZERO);
}

#[test]
fn a_rate_is_the_same_in_bits_bytes_and_packets() {
    let rate = Rate(12_000_000);
    assert_eq!(rate.bytes_per_sec(), 1_500_000.0);
    assert_eq!(rate.packets_per_sec(Bytes(1500)), 1000.0);
}

#[test]
fn a_transmitter_starts_anew_at_a_new_rate_and_with_a_new_busy_period() {
    // 3 Mbit/s: 1000 bytes take 2 666 666 2/3 ns; every third transmission but one is a nanosecond longer.
    let mut link = Transmitter::new(Rate(3_000_000));
    assert_eq!([1000, 1000, 1000].map(|bytes| link.transmit(bytes).0), [2_666_666, 2_666_667, 2_666_667]);
    assert_eq!([1000, 1000].map(|bytes| link.transmit(bytes).0), [2_666_666, 2_666_667]);
    link.restart();
    assert_eq!(link.transmit(1000), Dur(2_666_666));
    link.set_rate(Rate(8_000));
    assert_eq!((link.rate(), link.transmit(1000)), (Rate(8_000), Dur(1_000_000_000)));
}

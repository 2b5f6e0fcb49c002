//! Google Congestion Control against the clauses of draft-ietf-rmcat-gcc-02, by what it decides on reports made up here.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

use marqueue_cc::media::control::{Arrival, Delivered, Stream};
use marqueue_cc::media::{gcc, Control, Gcc};
use marqueue_core::params::{ParamSet, ParamValues};
use marqueue_core::Time;

const MS: u64 = 1_000_000;
const STREAM: Stream = Stream { mss: 1172.0, frame_period: 0.04, min_rate: 1e6, max_rate: 1e9, l4s: false };

/// A flow whose frames are packets of `bytes`, one each 40 ms, reported as they arrive.
struct Flow {
    gcc: Gcc,
    /// The frame that is sent next.
    frame: u64,
    bytes: u32,
    /// One-way delay of the last frame, ms.
    delay: f64,
}

impl Flow {
    fn new(bytes: u32) -> Flow {
        let params = gcc::Params::from_values(&ParamValues::new()).expect("the defaults are allowed");
        Flow { gcc: Gcc::new(params, STREAM, Time::ZERO), frame: 0, bytes, delay: 20.0 }
    }

    /// Frames for `seconds`, each with `more` ms of delay than the one before, of whose packets `lost` in a hundred do not
    /// arrive. Returns the rate, Mbit/s, after each.
    fn go(&mut self, seconds: f64, more: f64, lost: u32) -> Vec<f64> {
        let frames = (seconds * 25.0).round() as u64;
        let mut rates = Vec::new();
        for _ in 0..frames {
            self.frame += 1;
            self.delay += more;
            let sent = Time(self.frame * 40 * MS);
            let arrived = Time(sent.0 + (self.delay * 1e6) as u64);
            self.gcc.on_arrival(Arrival { sent, arrived, bytes: self.bytes });
            let told = Delivered { units: 100 - lost, units_lost: lost, s_rtt: 0.1, ..Delivered::default() };
            self.gcc.on_feedback(Time(arrived.0 + 20 * MS), &told);
            rates.push(self.gcc.target_bitrate() / 1e6);
        }
        rates
    }
}

fn last(rates: &[f64]) -> f64 {
    *rates.last().expect("there are frames")
}

fn near(got: f64, expected: f64, share: f64) {
    assert!((got / expected - 1.0).abs() < share, "{got}, expected {expected}");
}

#[test]
fn without_delay_or_loss_it_grows_by_eight_percent_a_second() {
    // 5.5: eta = 1.08^t. The received rate, 20 Mbit/s, leaves room.
    let mut flow = Flow::new(100_000);
    let at_start = last(&flow.go(2.0, 0.0, 0));
    near(last(&flow.go(10.0, 0.0, 0)) / at_start, 1.08f64.powi(10), 0.01);
}

#[test]
fn it_never_exceeds_half_as_much_again_as_is_received() {
    // 5.5: 1.2 Mbit/s are received.
    let mut flow = Flow::new(6000);
    near(last(&flow.go(60.0, 0.0, 0)), 1.8, 0.05);
}

#[test]
fn a_growing_delay_leaves_85_percent_of_the_received_rate() {
    // 5.4 and 5.5: 8 ms more with each frame is more than the threshold, once the filter knows.
    let mut flow = Flow::new(10_000);
    let before = last(&flow.go(20.0, 0.0, 0));
    assert!(before > 2.0, "{before}");
    let rates = flow.go(3.0, 20.0, 0);
    // A frame each 60 ms arrives: 1.333 Mbit/s.
    near(last(&rates), 0.85 * 80_000.0 / 60_000.0, 0.1);
}

#[test]
fn a_falling_delay_holds_the_rate() {
    // 5.4 and 5.5: below the negative threshold the path is underused, and the queue shall drain.
    let mut flow = Flow::new(100_000);
    flow.delay = 800.0;
    flow.go(2.0, 0.0, 0);
    let rates = flow.go(2.0, -15.0, 0);
    let held = rates.windows(25).any(|part| part.iter().all(|rate| *rate == part[0]));
    assert!(held, "{rates:?}");
}

#[test]
fn constant_delay_of_any_size_is_no_overuse() {
    let mut flow = Flow::new(100_000);
    flow.go(2.0, 0.0, 0);
    flow.delay = 500.0;
    let rates = flow.go(20.0, 0.0, 0);
    assert!(last(&rates) > rates[0] * 1.5, "{rates:?}");
}

#[test]
fn jitter_around_a_constant_delay_is_filtered() {
    let mut flow = Flow::new(100_000);
    flow.go(2.0, 0.0, 0);
    let mut rates = flow.go(2.0, 0.0, 0);
    for _ in 0..100 {
        rates.extend(flow.go(0.08, 8.0, 0));
        rates.extend(flow.go(0.08, -8.0, 0));
    }
    assert!(rates.windows(2).all(|pair| pair[1] >= pair[0]), "{rates:?}");
}

#[test]
fn the_share_of_lost_packets_decides_between_growth_and_holding() {
    // 6: below 2 % it grows, from there to 10 % it stays.
    for (lost, grows) in [(1, true), (2, false), (10, false)] {
        let mut flow = Flow::new(100_000);
        let before = last(&flow.go(5.0, 0.0, 0));
        let after = last(&flow.go(5.0, 0.0, lost));
        assert_eq!(after > before * 1.1, grows, "{lost} %: {before}, {after}");
        assert!(after >= before, "{lost} %: {before}, {after}");
    }
}

#[test]
fn a_loss_above_a_tenth_takes_half_its_share_and_no_more_than_tcp_would() {
    let mut flow = Flow::new(500_000);
    let before = last(&flow.go(30.0, 0.0, 0));
    assert!(before > 8.0, "{before}");
    // Half is lost in whole intervals of 0.5 s: a quarter less after each.
    let rates = flow.go(2.0, 0.0, 50);
    let falls: Vec<f64> = rates.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[1] / pair[0]).collect();
    assert!(falls.len() >= 3, "{rates:?}");
    near(last(&falls), 0.75, 1e-9);
    // TCP's rate at this loss is below the least rate of the encoder.
    near(last(&flow.go(20.0, 0.0, 50)), 1.0, 1e-9);
}

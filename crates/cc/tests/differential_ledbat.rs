//! LEDBAT beside a transcription of RFC 6817, over random delays, pauses and losses.

#![allow(clippy::disallowed_methods, reason = "tests may use the platform's functions")]

mod common;
#[path = "pseudocode/rfc_6817.rs"]
mod rfc_6817;

use common::at;
use common::bare_window::{law, near, Bare};
use marqueue_cc::window_law::Signal;
use marqueue_core::Rng;

#[test]
fn the_window_is_that_of_section_2_4_2() {
    let (mut fell, mut capped) = (0, 0);
    for seed in 0..300 {
        let mut rng = Rng::named(seed, "ledbat");
        let mut tested = Bare::new(law("ledbat", &[]), 10.0, 0.05);
        let mut rfc = rfc_6817::Sender::new(10.0);
        // Milliseconds, so that both sides see the same delays and minutes.
        let (mut now, mut base) = (1000_u32, 50.0);
        for _ in 0..400 {
            // Now and then a pause of up to fifteen minutes, and another path.
            let pause = rng.uniform() < 0.02;
            now += 1 + (rng.uniform() * if pause { 900e3 } else { 100.0 }) as u32;
            if pause {
                base = (20.0 + 100.0 * rng.uniform()).floor();
            }
            let delay = (base + (250.0 * rng.uniform()).floor()) / 1e3;
            let t = f64::from(now) / 1e3;
            let segments = 1.0 + (3.0 * rng.uniform()).floor();
            let before = rfc.cwnd;
            tested.rto.sample(&tested.config, at(t - delay), at(t));
            let got = tested.ack(t, segments);
            rfc.on_acknowledgement(t, delay, segments, before);
            // Times are whole nanoseconds on one side, a hundred millionth of the target.
            near(got, rfc.cwnd, 1e-6);
            fell += u32::from(rfc.cwnd < before);
            capped += u32::from(rfc.cwnd == before + 1.0);
            if rng.uniform() < 0.01 {
                tested.cut(Signal::Loss);
                tested.window.cwnd = tested.window.cwnd.max(2.0);
                rfc.on_data_loss();
            }
            near(tested.window.cwnd, rfc.cwnd, 1e-6);
            rfc.cwnd = tested.window.cwnd;
        }
    }
    assert!(fell > 1000 && capped > 10, "fell {fell}, capped {capped}");
}

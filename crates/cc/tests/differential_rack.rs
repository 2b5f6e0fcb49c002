//! RACK-TLP: the sender beside a literal transcription of RFC 8985, sections 6 to 8.

mod common;
mod pseudocode;

use common::config_of;
use marqueue_core::Rng;
use pseudocode::rfc_8985::Rfc8985;
use pseudocode::{path, SEQUENCES};

/// Which segments go out with every acknowledgement and at every timer, and for when the timers are armed.
#[test]
fn the_sender_detects_what_the_text_detects() {
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "rack");
        let numbers = [
            ("delayed_ack", if rng.below(3) == 0 { 0.04 } else { 0.0 }),
            ("initial_window", f64::from(2 + rng.below(15))),
            ("max_window", f64::from(10 + rng.below(20))),
            ("min_rto", [0.2, 1.0][rng.below(2) as usize]),
        ];
        let flags = [("timestamps", rng.below(2) == 0), ("dsack", rng.below(2) == 0)];
        let choices = [("loss_detection", "rack"), ("reduction", ["cut", "prr"][rng.below(2) as usize])];
        let config = config_of("rfc", &choices, &numbers, &flags);
        let size = (rng.below(2) == 0).then(|| 1 + rng.below(40));
        let weather = path::Weather::draw(&mut rng);
        let mut text = Rfc8985::new(size.unwrap_or(u32::MAX - 1));
        path::compare(&config, size, weather, &mut rng, 50, &mut text);
    }
}

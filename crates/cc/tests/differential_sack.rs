//! RFC 6675: the scoreboard and the sender beside literal transcriptions of sections 4 and 5.

mod common;
mod pseudocode;

use common::config_of;
use marqueue_cc::recovery::sack::scoreboard::{Outstanding, Scoreboard, Sendable};
use marqueue_core::Rng;
use pseudocode::rfc_6675::Rfc6675;
use pseudocode::{path, SEQUENCES};

/// IsLost(), SetPipe() and NextSeg() on scoreboards in any state, of segments 1 to 25 at most.
#[test]
fn the_functions_of_section_4_give_what_the_text_gives() {
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "functions");
        let dupthresh = 1 + rng.below(4);
        let mut text = Rfc6675::new(i64::from(dupthresh), 0, 0);
        (text.high_ack, text.high_data) = (0, i64::from(1 + rng.below(25)));
        let mut ours = Scoreboard::default();
        if rng.below(2) == 0 {
            ours.begin(1);
            (text.high_rxt, text.rescue_rxt) = (1, Some(1));
        } else {
            ours.forget_retransmissions(1);
            text.high_rxt = 0;
        }
        text.recovery_point = text.high_data;
        for _ in 0..12 {
            step(&mut rng, &mut ours, &mut text);
            agree(&ours, &mut text);
        }
    }
}

fn step(rng: &mut Rng, ours: &mut Scoreboard, text: &mut Rfc6675) {
    let at = outstanding(text);
    let flight = at.max - at.una;
    match rng.below(4) {
        0 if flight > 1 => {
            let ack = at.una + rng.below(flight.min(4));
            text.high_ack = i64::from(ack) - 1;
            text.sacked.retain(|octet| *octet > text.high_ack);
            ours.acknowledge(ack);
        }
        1 | 2 => {
            let start = at.una + rng.below(flight + 2);
            let block = [(start, start + 1 + rng.below(3))];
            assert_eq!(ours.update(at.una, &block, at.max), text.update(&block), "a duplicate by section 2");
        }
        _ => {
            let (new, rescue) = (rng.below(4) == 0, rng.below(4) > 0);
            // Without RescueRxt the text's is undefined; the sender sets it before it asks.
            text.rescue_rxt = text.rescue_rxt.or(Some(-1));
            let may = Sendable { new, rescue, recovery_point: text.recovery_point as u32 + 1 };
            let said = text.next_seg(new, rescue);
            assert_eq!(ours.next_segment(at, may), said.map(|(seq, _)| seq as u32));
            if let Some((seq, 1 | 3)) = said {
                text.high_rxt = seq;
            }
            text.high_data += i64::from(said.is_some_and(|(_, rule)| rule == 2));
        }
    }
}

fn outstanding(text: &Rfc6675) -> Outstanding {
    let dupthresh = text.dup_thresh as u32;
    Outstanding { una: text.high_ack as u32 + 1, max: text.high_data as u32 + 1, dupthresh }
}

fn agree(ours: &Scoreboard, text: &mut Rfc6675) {
    let at = outstanding(text);
    let lost_below = ours.lost_below(at.dupthresh);
    for seq in (at.una..at.max).filter(|&seq| !text.sacked.contains(&i64::from(seq))) {
        assert_eq!(seq < lost_below, text.is_lost(i64::from(seq)), "IsLost({seq})");
    }
    text.set_pipe();
    assert_eq!(i64::from(ours.pipe(at)), text.pipe, "SetPipe()");
    assert_eq!(ours.count_sacked() as usize, text.sacked.len());
}

/// Which segments go out with every acknowledgement and at every timeout, and what (4.2) makes of the window.
#[test]
fn the_sender_sends_what_section_5_sends() {
    for seed in 0..SEQUENCES {
        let mut rng = Rng::named(seed, "procedure");
        let numbers = [
            ("delayed_ack", 0.0),
            ("initial_window", f64::from(2 + rng.below(15))),
            ("max_window", f64::from(10 + rng.below(20))),
            ("dupthresh", f64::from(2 + rng.below(3))),
        ];
        let flags = [("limited_transmit", rng.below(4) > 0), ("rescue", rng.below(4) > 0)];
        let flight_size = [("flight_size", ["outstanding", "window"][rng.below(2) as usize])];
        let config = config_of("rfc", &flight_size, &numbers, &flags);
        let size = (rng.below(2) == 0).then(|| 1 + rng.below(40));
        let last = size.map_or(i64::MAX, i64::from);
        let mut text = Rfc6675::new(i64::from(config.dupthresh), last, i64::from(config.max_window));
        let weather = path::Weather::draw(&mut rng);
        path::compare(&config, size, weather, &mut rng, 60, &mut text);
    }
}

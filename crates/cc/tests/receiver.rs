//! Segments in any order, repeated, marked: the receiver says what a set of numbers says.

#[path = "common/receiver_model.rs"]
mod receiver_model;

use marqueue_cc::preset::PRESETS;
use marqueue_cc::Config;
use marqueue_core::params::{ParamValues, Value};
use marqueue_core::{Dur, Ecn, Flags, Time};
use proptest::prelude::*;
use receiver_model::Watch;

fn config(preset: &str, recovery: &str, control: &str, delayed_ack: f64) -> Config {
    let choice = |name: &str| Value::Choice(name.into());
    let mut values: ParamValues = [
        ("recovery", choice(recovery)),
        ("control", choice(control)),
        ("ecn", Value::Flag(true)),
        ("delayed_ack", Value::Number(delayed_ack)),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into();
    if recovery != "sack" {
        // All three need SACK blocks.
        values.insert("dsack".into(), Value::Flag(false));
        values.insert("loss_detection".into(), choice("dupack"));
        values.insert("ecn_reduction".into(), choice("cut"));
    }
    Config::with_preset(preset, &values).expect("the settings are valid")
}

/// A segment so far from the next one expected, or time that passes.
#[derive(Clone, Debug)]
enum Step {
    Segment { ahead: i64, flags: Flags, ecn: Ecn },
    Wait { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let ahead = prop_oneof![4 => Just(0i64), 4 => -3i64..12, 1 => -50i64..300];
    let flags = prop_oneof![4 => Just(Flags::NONE), 1 => Just(Flags::CWR), 1 => Just(Flags::RETRANSMIT)];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ce)];
    prop_oneof![
        6 => (ahead, flags, ecn).prop_map(|(ahead, flags, ecn)| Step::Segment { ahead, flags, ecn }),
        1 => (0u64..200).prop_map(|ms| Step::Wait { ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn it_says_what_has_arrived(
        steps in prop::collection::vec(step(), 1..120),
        preset in prop::sample::select(&PRESETS[..]),
        recovery in prop::sample::select(&["reno", "sack"][..]),
        control in prop::sample::select(&["reno", "cubic", "dctcp"][..]),
        delayed_ack in prop::sample::select(&[0.0, 0.1][..]),
    ) {
        let mut watch = Watch::new(config(preset, recovery, control, delayed_ack));
        watch.segment(0, Flags::SYN | Flags::ECE, Ecn::NotEct);
        for step in steps {
            match step {
                Step::Segment { ahead, flags, ecn } => {
                    let seq = (i64::from(watch.next()) + ahead).max(0) as u32;
                    watch.segment(seq, flags, ecn);
                }
                Step::Wait { ms } => watch.wait(Dur(ms * 1_000_000)),
            }
        }
        prop_assert!(watch.now >= Time::ZERO);
    }
}

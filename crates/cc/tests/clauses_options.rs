//! Clauses of RFC 7323 that no other test shows. docs/standards/rfc7323.md has the table.

mod common;

use common::{at, config_of};
use marqueue_core::{Dur, Time};

#[test]
fn the_timestamp_clock_ticks_each_microsecond() {
    // Section 5.4: at least once a window, and its 32 bits last longer than a segment may live (255 s).
    let c = config_of("rfc", &[], &[], &[("timestamps", true)]);
    assert_eq!(c.timestamp(at(1.0)) - c.timestamp(Time::ZERO), 1_000_000);
    assert!(c.timestamp(at(255.0)) < u32::MAX / 2, "half of the circle is what may be compared");
    assert_eq!(c.timestamp(Time::ZERO + Dur((1 << 32) * 1000)), c.timestamp(Time::ZERO));
}

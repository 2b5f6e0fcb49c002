//! Presets: named sets of values for TCP's parameters. Parameters that a preset does not set have their defaults.
//!
//! `linux` is what Linux 6 does by default, in the terms of this TCP; docs/live/kernel.md has both side by side.
//! What Linux does and this does not by default: pacing, which `pacing = "window"` adds, and bursts of TSO, which
//! `pacing_burst` adds to it. What is absent: compressed acknowledgements under SACK; limits by autotuned buffers (here a buffer never limits, window scale or not; its growth decides which segments
//! are acknowledged at once); undoing a window reduction found spurious by F-RTO (timestamps and D-SACKs do it); the metrics of
//! earlier connections; a smoothed round-trip time of which every sample has the weight 1/8. In Linux slow start may
//! take cwnd to twice the receiver's window; here growth stops at the receiver's window. ECN is off, as
//! for a host that only answers when asked for it (tcp_ecn = 2).

use marqueue_core::params::{ParamError, ParamValues, Value};

/// The names of the presets.
pub const PRESETS: [&str; 3] = ["rfc", "ns2", "linux"];

/// The values that a preset sets.
///
/// # Errors
/// If there is no such preset.
pub fn preset(name: &str) -> Result<ParamValues, ParamError> {
    let number = |k: &str, x: f64| (k.to_string(), Value::Number(x));
    let flag = |k: &str, x: bool| (k.to_string(), Value::Flag(x));
    let choice = |k: &str, x: &str| (k.to_string(), Value::Choice(x.into()));
    match name {
        "rfc" => Ok(ParamValues::new()),
        // ns-2.35's defaults but for window_ (20 there), which caps nothing here, and useHeaders_.
        "ns2" => Ok(ParamValues::from([
            choice("dialect", "ns2"),
            choice("recovery", "reno"),
            choice("after_idle", "keep"),
            choice("window_validation", "none"),
            choice("dctcp_ect", "data"),
            flag("ecn_echo_held", false),
            number("segment", 1000.0),
            flag("count_header", false),
            number("initial_window", 2.0),
            number("max_window", 10_000.0),
            number("min_rto", 0.2),
            number("initial_rto", 3.0),
            number("granularity", 0.01),
            number("delayed_ack", 0.0),
        ])),
        // net/ipv4/tcp.c and Documentation/networking/ip-sysctl.rst. A segment of 1448 bytes is what an
        // Ethernet frame of 1500 leaves beside headers and timestamps. Its RTO is SRTT + max(4 RTTVAR,
        // 200 ms), which is RFC 6298's with a G of 200 ms. In slow start the window grows by all that an
        // acknowledgement delivers (tcp_slow_start).
        "linux" => Ok(ParamValues::from([
            choice("control", "cubic"),
            choice("recovery", "sack"),
            choice("loss_detection", "rack"),
            choice("reduction", "prr"),
            choice("ecn_reduction", "prr"),
            choice("ecn_reduction_base", "cwnd"),
            flag("ecn_echo_held", false),
            choice("slow_start", "hystart"),
            choice("after_idle", "decay"),
            choice("lost_syn_rto", "unmeasured"),
            choice("lost_syn_window", "repeated"),
            flag("timeout_cuts_again", false),
            flag("whole_segments", true),
            flag("cubic_reno_rate", false),
            flag("cubic_count_segments", true),
            choice("dctcp_ect", "all"),
            flag("dctcp_two_acks", true),
            flag("timestamps", true),
            flag("dsack", true),
            flag("undo_spurious", true),
            number("segment", 1448.0),
            number("initial_window", 10.0),
            choice("flight_size", "cwnd"),
            choice("window_validation", "linux"),
            choice("growth_counts", "delivered"),
            choice("rtt_samples", "segments"),
            choice("rack_rtt", "last_in_sequence"),
            number("abc_limit", 1e9),
            number("probe_ack_delay", 0.2),
            number("cubic_first_growth", 0.05),
            number("min_rto", 0.2),
            number("max_rto", 120.0),
            number("granularity", 0.2),
            number("delayed_ack", 0.04),
            flag("quick_acks", true),
        ])),
        _ => Err(ParamError::new("preset", format!("got \"{name}\", expected one of {}", PRESETS.join(", ")))),
    }
}

//! Settings of a TCP sender and receiver. A preset is a set of values; the parameters and the
//! defaults of preset `rfc` are declared here, once.

use crate::algo::Law;
use crate::control::Echo;
use marqueue_core::params::{ParamError, ParamSet, ParamValues, Value};
use marqueue_core::Dur;

marqueue_core::choice! {
    /// How losses are repaired.
    pub enum Recovery {
        /// Fast retransmit and fast recovery, left at the first new acknowledgement (RFC 5681).
        Reno = "reno",
        /// Stays in fast recovery until all that was outstanding is acknowledged (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgements (RFC 2018, RFC 6675).
        Sack = "sack",
    }
}

marqueue_core::choice! {
    /// Whose rules are followed where the RFCs and ns-2 differ.
    pub enum Dialect {
        /// The RFCs.
        Rfc = "rfc",
        /// ns-2.35's Agent/TCP/Reno, Newreno and Sack1 with their default settings.
        Ns2 = "ns2",
    }
}

marqueue_core::params! {
    /// Settings of TCP, as declared.
    pub struct Params {
        /// How losses are repaired.
        recovery: Recovery { default: Recovery::Sack, source: "RFC 5681, RFC 6582, RFC 6675" },
        /// Whose rules are followed where the RFCs and ns-2 differ.
        dialect: Dialect { default: Dialect::Rfc, source: "marqueue" },
        /// How the window grows and what a congestion signal leaves of it.
        control: Law { default: Law::Reno, source: "RFC 5681, RFC 8257, RFC 9438, Kelly 2003" },
        /// Under cubic, how fast the window grows away from its plateau: C, segments/s^3.
        cubic_c: f64 { unit: One, range: 1e-6 => 1e6, default: 0.4, source: "RFC 9438, 5" },
        /// Under cubic, the share of the window that a congestion signal leaves.
        cubic_beta: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.7, source: "RFC 9438, 4.6" },
        /// Under dctcp, the weight of the latest window in the average share of marked segments.
        dctcp_g: f64 { unit: Fraction, range: 1e-6 => 1.0, default: 0.0625, source: "RFC 8257, 4; Alizadeh et al. 2010" },
        /// Under scalable, growth for each segment acknowledged.
        scalable_a: f64 { unit: Packets, range: 1e-6 => 1.0, default: 0.01, source: "Kelly 2003" },
        /// Under scalable, the share of the window that a congestion signal takes.
        scalable_b: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.125, source: "Kelly 2003" },
        /// Under aimd, growth in a round trip.
        aimd_a: f64 { unit: Packets, range: 1e-6 => 1000, default: 1.0, source: "RFC 5681" },
        /// Under aimd, the share of the window that a congestion signal takes.
        aimd_b: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.5, source: "RFC 5681" },
        /// Negotiate and use ECN.
        ecn: bool { default: false, source: "RFC 3168" },
        /// Payload of a full data packet.
        segment: f64 { unit: Bytes, range: 1 => 65495, default: 1460.0, source: "RFC 5681 SMSS, Ethernet" },
        /// Size of the IP and TCP headers: what an acknowledgement or a SYN weighs on the wire.
        header: f64 { unit: Bytes, range: 1 => 120, default: 40.0, source: "RFC 791, RFC 9293" },
        /// Do data packets weigh their headers too?
        count_header: bool { default: true, source: "ns-2 useHeaders_" },
        /// Window after the handshake.
        initial_window: f64 { unit: Packets, range: 1 => 1000, default: 10.0, source: "RFC 6928" },
        /// Largest window: the receiver's.
        max_window: f64 { unit: Packets, range: 1 => 1e9, default: 1e6, source: "RFC 7323" },
        /// Duplicate acknowledgements that signal a loss.
        dupthresh: f64 { unit: Packets, range: 1 => 1000, default: 3.0, source: "RFC 5681" },
        /// Send new data on the first two duplicate acknowledgements.
        limited_transmit: bool { default: true, source: "RFC 3042" },
        /// Smallest retransmission timeout.
        min_rto: f64 { unit: Seconds, range: 0.0 => 60.0, default: 1.0, source: "RFC 6298, 2.4" },
        /// Largest retransmission timeout.
        max_rto: f64 { unit: Seconds, range: 1.0 => 3600.0, default: 60.0, source: "RFC 6298, 2.5" },
        /// Retransmission timeout before the first measurement.
        initial_rto: f64 { unit: Seconds, range: 0.001 => 60.0, default: 1.0, source: "RFC 6298, 2.1" },
        /// Granularity of the clock that measures round-trip times.
        granularity: f64 { unit: Seconds, range: 1e-9 => 1.0, default: 0.001, source: "RFC 6298, G" },
        /// Longest time for which an acknowledgement is held back, zero for never; every second packet is acknowledged at once.
        delayed_ack: f64 { unit: Seconds, range: 0.0 => 0.5, default: 0.1, source: "RFC 5681, 4.2" },
    }
}

/// The names of the presets.
pub const PRESETS: [&str; 2] = ["rfc", "ns2"];

/// What a preset sets; everything else has its default.
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
            number("segment", 1000.0),
            flag("count_header", false),
            number("initial_window", 2.0),
            number("max_window", 10_000.0),
            number("min_rto", 0.2),
            number("initial_rto", 3.0),
            number("granularity", 0.01),
            number("delayed_ack", 0.0),
        ])),
        _ => Err(ParamError::new("preset", format!("got \"{name}\", expected one of {}", PRESETS.join(", ")))),
    }
}

/// Settings of TCP as the sender and the receiver use them: counted in segments, nanoseconds and
/// bytes once, not at every packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whose rules are followed where the RFCs and ns-2 differ.
    pub dialect: Dialect,
    /// How the window grows and what a congestion signal leaves of it.
    pub control: Law,
    /// What an ECN echo means under that law.
    pub echo: Echo,
    /// CUBIC's C, segments/s^3.
    pub cubic_c: f64,
    /// The share of the window that a congestion signal leaves under CUBIC.
    pub cubic_beta: f64,
    /// DCTCP's g.
    pub dctcp_g: f64,
    /// Growth for each segment acknowledged under Scalable TCP, segments.
    pub scalable_a: f64,
    /// The share of the window that a congestion signal takes under Scalable TCP.
    pub scalable_b: f64,
    /// Growth in a round trip under AIMD, segments.
    pub aimd_a: f64,
    /// The share of the window that a congestion signal takes under AIMD.
    pub aimd_b: f64,
    /// Negotiate and use ECN.
    pub ecn: bool,
    /// Payload of a data packet, bytes.
    pub segment: u32,
    /// Size of an acknowledgement or a SYN on the wire, bytes.
    pub header: u32,
    /// Size of a data packet on the wire, bytes.
    pub wire: u32,
    /// Window after the handshake, segments.
    pub initial_window: f64,
    /// Largest window, segments.
    pub max_window: u32,
    /// Duplicate acknowledgements that signal a loss.
    pub dupthresh: u32,
    /// Send new data on the first duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Smallest retransmission timeout.
    pub min_rto: Dur,
    /// Largest retransmission timeout.
    pub max_rto: Dur,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Dur,
    /// Granularity of the clock that measures round-trip times.
    pub granularity: Dur,
    /// Longest time for which an acknowledgement is held back; zero for never.
    pub delayed_ack: Dur,
}

impl From<&Params> for Config {
    fn from(p: &Params) -> Config {
        let header = p.header as u32;
        let segment = p.segment as u32;
        Config {
            recovery: p.recovery,
            dialect: p.dialect,
            control: p.control,
            echo: p.control.echo(),
            cubic_c: p.cubic_c,
            cubic_beta: p.cubic_beta,
            dctcp_g: p.dctcp_g,
            scalable_a: p.scalable_a,
            scalable_b: p.scalable_b,
            aimd_a: p.aimd_a,
            aimd_b: p.aimd_b,
            ecn: p.ecn,
            segment,
            header,
            wire: segment + if p.count_header { header } else { 0 },
            initial_window: p.initial_window,
            max_window: p.max_window as u32,
            dupthresh: p.dupthresh as u32,
            limited_transmit: p.limited_transmit,
            min_rto: Dur::from_secs(p.min_rto),
            max_rto: Dur::from_secs(p.max_rto),
            initial_rto: Dur::from_secs(p.initial_rto),
            granularity: Dur::from_secs(p.granularity),
            delayed_ack: Dur::from_secs(p.delayed_ack),
        }
    }
}

impl Config {
    /// A preset with some values of its own.
    ///
    /// # Errors
    /// If the preset is unknown or a value is refused.
    pub fn with_preset(name: &str, values: &ParamValues) -> Result<Config, ParamError> {
        let mut all = preset(name)?;
        all.extend(values.clone());
        let config = Config::from(&Params::from_values(&all)?);
        if config.echo == Echo::PerSegment && !config.ecn {
            return Err(ParamError::new("ecn", "got false, expected true: the chosen control lives on ECN marks"));
        }
        Ok(config)
    }
}

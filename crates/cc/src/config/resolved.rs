//! Settings as the sender and the receiver use them: one conversion of the declared ones, and the combinations that are
//! refused.

use super::choices::*;
use super::Params;
use crate::law_list::{EchoMode, Law};
use crate::preset::preset;
use crate::program::{program_of, Control};
use marqueue_core::params::{ParamError, ParamSet, ParamValues};
use marqueue_core::{Dur, Ecn, Time, Value};

/// Settings of TCP as the sender and the receiver use them: converted to segments, nanoseconds and bytes once, not at
/// every packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whose rules are followed where the RFCs and ns-2 differ.
    pub dialect: Dialect,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// How the window comes down while a loss is repaired.
    pub reduction: Reduction,
    /// How the window comes down in answer to an ECN echo.
    pub ecn_reduction: Reduction,
    /// What an ECN echo reduces; never `Law`.
    pub ecn_reduction_base: EcnReductionBase,
    /// How the window grows and what a congestion signal leaves of it.
    pub control: Law,
    /// A program that decides in place of that law.
    pub program: Option<Control>,
    /// A model of the path sets window and pacing rate.
    pub by_model: bool,
    /// The window law opens the window in slow start too.
    pub law_has_slow_start: bool,
    /// What an ECN echo means under that law.
    pub echo: EchoMode,
    /// How the receiver reports marks.
    pub feedback: EchoMode,
    /// What the SYN asks for.
    pub ecn_request: EcnRequest,
    /// Acknowledgements carry the AccECN option.
    pub accecn_option: bool,
    /// What FlightSize is where a loss or a timeout sets ssthresh.
    pub flight_size: FlightSize,
    /// A timeout during loss recovery or a reduction for ECN reduces ssthresh again.
    pub timeout_cuts_again: bool,
    /// Only whole segments count in window reductions.
    pub whole_segments: bool,
    /// CUBIC's C, segments/s^3.
    pub cubic_c: f64,
    /// The share of the window that a congestion signal leaves under CUBIC.
    pub cubic_beta: f64,
    /// Least growth in a round trip before the first signal under CUBIC, a share of the window.
    pub cubic_first_growth: f64,
    /// CUBIC's W_est grows as Reno's window once it is where the last cut was made.
    pub cubic_reno_rate: bool,
    /// Under CUBIC, an acknowledgement of n segments moves the window n times as far.
    pub cubic_count_segments: bool,
    /// CUBIC's fast convergence.
    pub cubic_fast_convergence: bool,
    /// DCTCP's g.
    pub dctcp_g: f64,
    /// The packets that are ECN-capable, if the connection is.
    pub ect: DctcpEct,
    /// A DCTCP receiver sends two acknowledgements when CE changes.
    pub dctcp_two_acks: bool,
    /// Prague's g.
    pub prague_g: f64,
    /// The round-trip time as which shorter ones behave under Prague; zero for none.
    pub prague_rtt: Dur,
    /// Round trips of congestion avoidance before they do.
    pub prague_rtt_rounds: u32,
    /// Growth for each segment acknowledged under Scalable TCP, segments.
    pub scalable_a: f64,
    /// The share of the window that a congestion signal takes under Scalable TCP.
    pub scalable_b: f64,
    /// The queueing delay that LEDBAT aims at.
    pub ledbat_target: Dur,
    /// LEDBAT's GAIN, segments in a round trip.
    pub ledbat_gain: f64,
    /// LEDBAT's ALLOWED_INCREASE, segments.
    pub ledbat_allowed_increase: f64,
    /// The queueing delay that LEDBAT++ aims at.
    pub ledbatpp_target: Dur,
    /// BASE_HISTORY of LEDBAT and LEDBAT++, minutes.
    pub ledbat_base_history: u32,
    /// CURRENT_FILTER of LEDBAT and LEDBAT++, samples.
    pub ledbat_filter: u32,
    /// Growth in a round trip under AIMD, segments.
    pub aimd_a: f64,
    /// The share of the window that a congestion signal takes under AIMD.
    pub aimd_b: f64,
    /// Negotiate and use ECN.
    pub ecn: bool,
    /// An acknowledgement that was held back echoes the CE of its first segment, though the second carries CWR.
    pub ecn_echo_held: bool,
    /// The share of FlightSize that an ECN echo in congestion avoidance leaves by ABE, if that is used.
    pub abe_beta: Option<f64>,
    /// ECN field of data that is ECN-capable.
    pub ecn_field: Ecn,
    /// Carry timestamps.
    pub timestamps: bool,
    /// Report segments that arrive twice.
    pub dsack: bool,
    /// Take reductions back that were spurious.
    pub undo_spurious: bool,
    /// Payload of a data packet, bytes.
    pub segment: u32,
    /// Size of an acknowledgement without SACK blocks, or of a SYN, on the wire, bytes.
    pub header: u32,
    /// Size of a data packet on the wire, bytes.
    pub wire: u32,
    /// Window after the handshake, segments.
    pub initial_window: f64,
    /// Most segments that an acknowledgement opens the window by in slow start.
    pub abc_limit: f64,
    /// What ends the first slow start beside losses and echoes.
    pub slow_start: SlowStart,
    /// HyStart++'s L, segments.
    pub hystart_limit: f64,
    /// When an acknowledgement does not open the window.
    pub window_validation: WindowValidation,
    /// RFC 7661's NVP.
    pub nonvalidated_period: Dur,
    /// What becomes of the window of an idle sender.
    pub after_idle: AfterIdle,
    /// ssthresh before the first loss, segments.
    pub initial_ssthresh: f64,
    /// Largest window, segments: of the receiver's buffer and what its window field can say.
    pub max_window: u32,
    /// Duplicate acknowledgements that signal a loss.
    pub dupthresh: u32,
    /// Send new data on the first duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Send rescue retransmissions.
    pub rescue: bool,
    /// The rates of a sender that paces, as multiples of the window over the round-trip time.
    pub pacing: Option<PacingRatios>,
    /// Segments of a new flow that are not paced.
    pub pacing_quantum: u32,
    /// Most segments of a paced sender that leave back to back.
    pub pacing_burst: u32,
    /// Smallest retransmission timeout.
    pub min_rto: Dur,
    /// Largest retransmission timeout.
    pub max_rto: Dur,
    /// Retransmission timeout before the first measurement.
    pub initial_rto: Dur,
    /// Does a connection start with a SYN?
    pub handshake: bool,
    /// Which connections whose SYN timed out start with a retransmission timeout of 3 s.
    pub lost_syn_rto: LostSynRto,
    /// Which of them start with a window of one segment.
    pub lost_syn_window: LostSynWindow,
    /// Granularity of the clock that measures round-trip times.
    pub granularity: Dur,
    /// Longest time for which an acknowledgement is held back; zero for never.
    pub delayed_ack: Dur,
    /// TLP.max_ack_delay.
    pub probe_ack_delay: Dur,
    /// For which segments of an acknowledgement the window grows.
    pub growth_counts: GrowthCounts,
    /// Which round-trip times are measured.
    pub rtt_samples: RttSamples,
    /// The segment whose round-trip time RACK takes.
    pub rack_rtt: RackRtt,
    /// Most segments in order that one acknowledgement is sent for.
    pub ack_every: u8,
    /// The receiver acknowledges some segments at once, as Linux; never, where it does so with all.
    pub quick_acks: bool,
}

/// INIT_CWND and MIN_CWND of LEDBAT and LEDBAT++, segments (RFC 6817, 2.5).
pub const LEDBAT_LEAST_WINDOW: f64 = 2.0;

/// The timestamps option, padded to whole words (RFC 7323, appendix A).
pub const TIMESTAMPS_BYTES: u32 = 12;

/// A tick of the timestamp clock: 32 bits last for 71 minutes.
const TICK: Dur = Dur(1000);

/// The longest IPv4 packet, bytes: its length field has 16 bits (RFC 791, 3.1).
const LONGEST_PACKET: u32 = 65_535;

/// The largest window that a window field of 16 bits can say (RFC 7323, 2.3).
fn largest_window_bytes(scale: f64) -> u32 {
    65535 << scale as u32
}

/// Pacing rates as multiples of the window over the smoothed round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingRatios {
    /// In slow start.
    pub slow_start: f64,
    /// In congestion avoidance.
    pub avoidance: f64,
}

impl PacingRatios {
    /// The ratios of a sender, if it paces.
    fn of(p: &Params, control: Law) -> Option<PacingRatios> {
        match p.pacing {
            Pacing::Law if control == Law::Prague || control.has_model() => {
                Some(PacingRatios { slow_start: 2.0, avoidance: 1.0 })
            }
            Pacing::Law | Pacing::None => None,
            Pacing::Window => Some(PacingRatios { slow_start: p.pacing_slow_start, avoidance: p.pacing_avoidance }),
        }
    }
}

impl From<&Params> for Config {
    fn from(p: &Params) -> Config {
        let header = p.header as u32 + if p.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let segment = p.segment as u32;
        let max_window = (p.max_window as u32).min(largest_window_bytes(p.window_scale) / segment);
        let rfc = p.dialect == Dialect::Rfc;
        let rack = p.loss_detection == LossDetection::Rack;
        let accecn = p.ecn_feedback == EcnFeedback::AccEcn || p.control.echo() == EchoMode::Counted;
        // RFC 9331, 4.2: without feedback by counters a sender falls back to a response like Reno's.
        let falls_back = p.control == Law::Prague && p.ecn_peer != EcnPeer::Same;
        let control = if falls_back { Law::Reno } else { p.control };
        let prague = control == Law::Prague;
        // RFC 6817, 2.4.2 and 2.5: no slow start.
        let ledbat = control == Law::Ledbat;
        let first_window = if ledbat || control == Law::LedbatPlusPlus {
            p.initial_window.min(LEDBAT_LEAST_WINDOW)
        } else {
            p.initial_window
        };
        let own_window = prague || control.has_model();
        let abe = p.abe && matches!(p.control, Law::Reno | Law::Cubic);
        Config {
            recovery: p.recovery,
            dialect: p.dialect,
            loss_detection: p.loss_detection,
            reduction: if own_window { Reduction::Cut } else { p.reduction },
            ecn_reduction: if own_window { Reduction::Cut } else { p.ecn_reduction },
            ecn_reduction_base: match p.ecn_reduction_base {
                EcnReductionBase::Law if abe || p.control == Law::Cubic => EcnReductionBase::FlightSize,
                EcnReductionBase::Law => EcnReductionBase::Cwnd,
                chosen => chosen,
            },
            control,
            program: None,
            by_model: control.has_model(),
            law_has_slow_start: control.has_slow_start(),
            echo: control.echo(),
            feedback: if accecn && p.ecn_peer == EcnPeer::Same { EchoMode::Counted } else { control.echo() },
            ecn_request: match (p.ecn, accecn) {
                (false, _) => EcnRequest::None,
                (true, false) => EcnRequest::Classic,
                (true, true) => EcnRequest::AccEcn,
            },
            accecn_option: p.accecn_option,
            flight_size: p.flight_size,
            timeout_cuts_again: p.timeout_cuts_again,
            whole_segments: p.whole_segments && !own_window,
            cubic_c: p.cubic_c,
            cubic_beta: p.cubic_beta,
            cubic_first_growth: p.cubic_first_growth,
            cubic_reno_rate: p.cubic_reno_rate,
            cubic_count_segments: p.cubic_count_segments,
            cubic_fast_convergence: p.cubic_fast_convergence,
            dctcp_g: p.dctcp_g,
            ect: if prague || control == Law::Dctcp { p.dctcp_ect } else { DctcpEct::Data },
            dctcp_two_acks: p.dctcp_two_acks,
            prague_g: p.prague_g,
            prague_rtt: Dur::from_secs(p.prague_rtt),
            prague_rtt_rounds: p.prague_rtt_rounds as u32,
            scalable_a: p.scalable_a,
            scalable_b: p.scalable_b,
            ledbat_target: Dur::from_secs(p.ledbat_target),
            ledbat_gain: p.ledbat_gain,
            ledbat_allowed_increase: p.ledbat_allowed_increase,
            ledbatpp_target: Dur::from_secs(p.ledbatpp_target),
            ledbat_base_history: p.ledbat_base_history as u32,
            ledbat_filter: p.ledbat_filter as u32,
            aimd_a: p.aimd_a,
            aimd_b: p.aimd_b,
            ecn: p.ecn && p.ecn_peer != EcnPeer::None,
            ecn_echo_held: rfc && p.ecn_echo_held,
            abe_beta: abe.then_some(p.abe_beta),
            ecn_field: match p.ecn_field {
                EcnField::Ect if prague => Ecn::Ect1,
                EcnField::Ect1 if falls_back => Ecn::Ect0,
                chosen => chosen.into(),
            },
            timestamps: p.timestamps,
            dsack: p.dsack,
            undo_spurious: p.undo_spurious,
            segment,
            header,
            wire: segment + if p.count_header { header } else { 0 },
            // A window beyond the receiver's would not be used, and a reduction of it would have no effect.
            initial_window: if rfc { first_window.min(f64::from(max_window)) } else { first_window },
            abc_limit: p.abc_limit,
            slow_start: match p.slow_start {
                SlowStart::HyStart if p.control != Law::Cubic => SlowStart::Standard,
                any => any,
            },
            hystart_limit: p.hystart_limit,
            window_validation: if rfc { p.window_validation } else { WindowValidation::None },
            nonvalidated_period: Dur::from_secs(p.nonvalidated_period),
            after_idle: p.after_idle,
            initial_ssthresh: match p.initial_ssthresh {
                _ if ledbat => LEDBAT_LEAST_WINDOW,
                given => given.unwrap_or(p.max_window).min(p.max_window).floor(),
            },
            max_window,
            dupthresh: p.dupthresh as u32,
            limited_transmit: p.limited_transmit,
            rescue: p.rescue,
            pacing: PacingRatios::of(p, control),
            pacing_quantum: p.pacing_quantum as u32,
            pacing_burst: p.pacing_burst as u32,
            min_rto: Dur::from_secs(p.min_rto),
            max_rto: Dur::from_secs(p.max_rto),
            initial_rto: Dur::from_secs(p.initial_rto),
            handshake: p.handshake,
            lost_syn_rto: p.lost_syn_rto,
            lost_syn_window: p.lost_syn_window,
            granularity: Dur::from_secs(p.granularity),
            delayed_ack: Dur::from_secs(p.delayed_ack),
            probe_ack_delay: Dur::from_secs(p.probe_ack_delay.unwrap_or(p.delayed_ack)),
            growth_counts: p.growth_counts,
            rtt_samples: if rack { p.rtt_samples } else { RttSamples::Acknowledgements },
            rack_rtt: p.rack_rtt,
            ack_every: p.ack_every as u8,
            quick_acks: p.quick_acks && p.delayed_ack > 0.0,
        }
    }
}

impl Config {
    /// A preset with some values of its own. A program that they name as the congestion control is the caller's to put in
    /// (`program`).
    ///
    /// # Errors
    /// If the preset is unknown or a value is refused.
    pub fn with_preset(name: &str, values: &ParamValues) -> Result<Config, ParamError> {
        let mut all = preset(name)?;
        all.extend(values.clone());
        if program_of(values).is_some() {
            // What a law decides besides the window is Reno's.
            all.insert("control".into(), Value::Choice("reno".into()));
        }
        let params = Params::from_values(&all)?;
        if params.window_scale.fract() != 0.0 {
            return Err(ParamError::new(
                "window_scale",
                format!("got {}, expected a whole number, 0 to 14", params.window_scale),
            ));
        }
        let config = Config::from(&params);
        config.check()?;
        Ok(config)
    }

    /// Checks combinations of settings.
    fn check(&self) -> Result<(), ParamError> {
        let bad = |path: &str, message: &str| Err(ParamError::new(path, message));
        if self.wire > LONGEST_PACKET {
            let (got, headers) = (self.segment, self.wire - self.segment);
            let most = LONGEST_PACKET - headers;
            return bad(
                "segment",
                &format!("got {got} B, expected at most {most} B: with {headers} B of headers an IPv4 packet of {LONGEST_PACKET} B"),
            );
        }
        let rfc = self.dialect == Dialect::Rfc;
        if self.loss_detection == LossDetection::Rack && !(rfc && self.recovery == Recovery::Sack) {
            return bad("loss_detection", "got rack, expected dupack: RACK needs recovery by SACK and dialect rfc");
        }
        if self.reduction == Reduction::Prr && !rfc {
            return bad("reduction", "got prr, expected cut: ns-2 has no proportional rate reduction");
        }
        if self.ecn && self.ecn_reduction == Reduction::Prr && self.loss_detection != LossDetection::Rack {
            return bad(
                "ecn_reduction",
                "got prr, expected cut: only loss_detection rack brings the window down in step",
            );
        }
        if self.pacing.is_some() && !rfc {
            return bad("pacing", "got window, expected none: ns-2 does not pace TCP");
        }
        if self.pacing_burst > 1 && self.pacing.is_none() {
            let got = self.pacing_burst;
            return bad("pacing_burst", &format!("got {got} packets, expected 1: a sender without pacing sends what its window lets out, back to back"));
        }
        if self.slow_start != SlowStart::Standard && !rfc {
            return bad("slow_start", "got one that ends by delay, expected standard: ns-2 has no other");
        }
        if self.slow_start == SlowStart::HyStartPlusPlus && !self.timestamps {
            return bad(
                "slow_start",
                "got hystart++, expected standard: without timestamps few acknowledgements measure",
            );
        }
        if self.slow_start == SlowStart::HyStartPlusPlus && self.law_has_slow_start {
            return bad("slow_start", "got hystart++, expected standard: ledbat++ has a slow start of its own");
        }
        if self.feedback == EchoMode::Counted && !rfc {
            return bad("ecn_feedback", "got accecn, expected law: ns-2 has no AccECN");
        }
        if self.ecn && self.ecn_field == Ecn::Ect1 && self.echo == EchoMode::UntilCwr {
            return bad("ecn_field", "got ect1, expected ect: ECT(1) asks for the L4S service, which needs a law that answers to the share of marks, dctcp or prague (RFC 9331, 4.1 and 4.3)");
        }
        if self.by_model && self.loss_detection != LossDetection::Rack {
            return bad(
                "loss_detection",
                "got dupack, expected rack: a model of the path needs the time of each transmission",
            );
        }
        if self.by_model && self.pacing.is_none() {
            return bad("pacing", "got none, expected law: a model of the path is a pacing rate");
        }
        if self.control == Law::Bbr3 && self.ecn {
            return bad("ecn", "got true, expected false: BBRv3 has no answer to marks (draft-ietf-ccwg-bbr, \"ECN\")");
        }
        if self.dsack && self.recovery != Recovery::Sack {
            return bad("dsack", "got true, expected false: it reports in SACK blocks, which need recovery by SACK");
        }
        if self.echo != EchoMode::UntilCwr && !self.ecn {
            return bad("ecn", "got false, expected true: the chosen control lives on ECN marks");
        }
        Ok(())
    }

    /// Size of the headers without any option, bytes.
    pub fn header_without_options(&self) -> u32 {
        self.header - if self.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// `segments` as they count in a window reduction: rounded down if only whole segments count.
    pub fn counted(&self, segments: f64) -> f64 {
        if self.whole_segments {
            segments.floor()
        } else {
            segments
        }
    }

    /// The timestamp of a segment sent now (RFC 7323, 5.4).
    pub fn timestamp(&self, now: Time) -> u32 {
        (now.0 / TICK.0) as u32
    }

    /// The time at which the segment with this echoed timestamp was sent, rounded down to a tick and at least one tick
    /// before now.
    pub fn sent_at(&self, echo: u32, now: Time) -> Time {
        let ticks = self.timestamp(now).wrapping_sub(echo).max(1);
        Time(now.0.saturating_sub(u64::from(ticks) * TICK.0))
    }
}

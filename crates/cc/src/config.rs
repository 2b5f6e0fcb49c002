//! Settings of a TCP sender and receiver. The declarations are the only place for names, defaults, ranges and sources;
//! the defaults are those of preset `rfc`. The other presets are in [`crate::preset`].

mod choices;

pub use choices::*;

use crate::law_list::{EchoMode, Law};
use crate::preset::preset;
use marqueue_core::params::{ParamError, ParamSet, ParamValues};
use marqueue_core::{Dur, Ecn, Time};

marqueue_core::params! {
    /// Settings of TCP, as declared.
    pub struct Params {
        /// How losses are repaired.
        recovery: Recovery { default: Recovery::Sack, source: "RFC 5681, RFC 6582, RFC 6675" },
        /// Whose rules are followed where the RFCs and ns-2 differ.
        dialect: Dialect { default: Dialect::Rfc, source: "marqueue" },
        /// What tells that a segment is lost; rack needs recovery by SACK.
        loss_detection: LossDetection { default: LossDetection::Dupack, source: "RFC 5681, RFC 6675, RFC 8985" },
        /// How the window comes down while a loss is repaired.
        reduction: Reduction { default: Reduction::Cut, source: "RFC 5681, RFC 6675, RFC 9937" },
        /// How the window comes down in answer to an ECN echo; prr needs loss_detection rack.
        ecn_reduction: Reduction { default: Reduction::Cut, source: "RFC 3168, 6.1.2; RFC 9937; Linux, tcp_enter_cwr" },
        /// What an ECN echo reduces: law, what the window law's specification says, FlightSize under cubic and with abe,
        /// cwnd otherwise; or flight_size or cwnd under any law.
        ecn_reduction_base: EcnReductionBase { default: EcnReductionBase::Law, source: "RFC 3168, 6.1.2; RFC 8257, 3.3; RFC 8511, 3.1; RFC 9438, 4.6" },
        /// How the window grows and what a congestion signal leaves of it.
        control: Law { default: Law::Reno, source: "RFC 5681, RFC 8257, RFC 9438, Kelly 2003" },
        /// What FlightSize is where a loss or a timeout sets ssthresh.
        flight_size: FlightSize { default: FlightSize::Window, source: "RFC 5681, sections 2, 3.1 and 4.3" },
        /// Reduce ssthresh again at a timeout during loss recovery or during a window reduction for ECN.
        timeout_cuts_again: bool { default: true, source: "RFC 5681, section 4.3; Linux, tcp_enter_loss" },
        /// Count whole segments where the window is cut: of the window, and of what is left.
        whole_segments: bool { default: false, source: "Linux, tcp_sock: snd_cwnd and snd_ssthresh are integers" },
        /// Under cubic, how fast the window grows away from its plateau: C, segments/s^3.
        cubic_c: f64 { unit: One, range: 1e-6 => 1e6, default: 0.4, source: "RFC 9438, 5.1" },
        /// Under cubic, the share of the window that a congestion signal leaves.
        cubic_beta: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.7, source: "RFC 9438, 4.6" },
        /// Under cubic, least growth in a round trip before the first signal, as a share of the window.
        cubic_first_growth: f64 { unit: Fraction, range: 0.0 => 1.0, default: 0.0, source: "Linux, tcp_cubic.c: cnt is 20 at most while last_max_cwnd is 0" },
        /// Under cubic, let W_est grow as Reno's window once it is where the last cut was made.
        cubic_reno_rate: bool { default: true, source: "RFC 9438, 4.3" },
        /// Under cubic, let an acknowledgement of n segments move the window n times as far towards its target, as in
        /// Linux; RFC 9438 moves it once an acknowledgement.
        cubic_count_segments: bool { default: false, source: "RFC 9438, 4.4 and 4.5; Linux, tcp_cong_avoid_ai" },
        /// Under cubic, lower the plateau further at a cut below the previous one, so that new flows find room.
        cubic_fast_convergence: bool { default: true, source: "RFC 9438, 4.7" },
        /// Under dctcp, the weight of the latest window in the average share of marked segments.
        dctcp_g: f64 { unit: Fraction, range: 1e-6 => 1.0, default: 0.0625, source: "RFC 8257, 4; Alizadeh et al. 2010" },
        /// Under dctcp, which packets are ECN-capable: data, SYN and SYN-ACK too (handshake), or acknowledgements and
        /// retransmissions too (all).
        dctcp_ect: DctcpEct { default: DctcpEct::Handshake, source: "RFC 8257, 3.6 and 4.1; Linux, tcp_ecn_send" },
        /// Under dctcp, when CE changes while an acknowledgement is held back, send two: one for the older packets with
        /// their echo and one for the newest. Otherwise one acknowledges all of them with the new echo.
        dctcp_two_acks: bool { default: false, source: "RFC 8257, 3.2; Linux, dctcp_ece_ack_update" },
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
        /// Under reno and cubic, let an ECN echo in congestion avoidance leave abe_beta of FlightSize (alternative backoff
        /// with ECN).
        abe: bool { default: false, source: "RFC 8511, 3" },
        /// Under abe, the share of FlightSize that an ECN echo leaves; 0.85 was recommended by tests under cubic.
        abe_beta: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.8, source: "RFC 8511, 3.1" },
        /// Let an acknowledgement of two segments carry ECE if the first had CE, though the second carries CWR. Linux does
        /// not: it acknowledges the first at once.
        ecn_echo_held: bool { default: true, source: "RFC 3168, 6.1.3; Linux, tcp_ecn_accept_cwr" },
        /// Under ecn, the ECN field of data that is ECN-capable.
        ecn_field: EcnField { default: EcnField::Ect, source: "RFC 3168, section 5; Shin, Chong and Rhee, section III-B" },
        /// Carry timestamps, 12 bytes more a packet, and time every acknowledgement of new data by them.
        timestamps: bool { default: false, source: "RFC 7323" },
        /// Let the receiver report segments that arrive twice, in its first SACK block.
        dsack: bool { default: false, source: "RFC 2883" },
        /// Payload of a full data packet.
        segment: f64 { unit: Bytes, range: 1 => 65495, default: 1460.0, source: "RFC 5681 SMSS, Ethernet" },
        /// Size of the IP and TCP headers: what an acknowledgement or a SYN weighs on the wire.
        header: f64 { unit: Bytes, range: 1 => 120, default: 40.0, source: "RFC 791, RFC 9293" },
        /// Do data packets weigh their headers too?
        count_header: bool { default: true, source: "ns-2 useHeaders_" },
        /// Start with the exchange of SYN and SYN-ACK, which takes a round trip; without it a connection starts
        /// established, with ECN if both ends may use it.
        handshake: bool { default: true, source: "RFC 9293, 3.5; ns-2 syn_" },
        /// Window after the handshake.
        initial_window: f64 { unit: Packets, range: 1 => 1000, default: 10.0, source: "RFC 6928" },
        /// Most segments that an acknowledgement opens the window by in slow start: L of appropriate byte counting.
        abc_limit: f64 { unit: Packets, range: 1 => 1e9, default: 1.0, source: "RFC 5681, 3.1; RFC 3465" },
        /// What ends the first slow start beside losses and echoes: under any law hystart++, which needs timestamps;
        /// under cubic alone hystart.
        slow_start: SlowStart { default: SlowStart::Standard, source: "RFC 5681; RFC 9406; Ha and Rhee 2011" },
        /// Under hystart++, most segments that an acknowledgement opens the window by in the first slow start: L, 8 for a
        /// sender that is not paced.
        hystart_limit: f64 { unit: Packets, range: 1 => 1e9, default: 8.0, source: "RFC 9406, 4.3" },
        /// When an acknowledgement does not open the window: none, never; cwnd_limited, when the window was not used;
        /// rfc7661, when less than half of it was used, with the rules of new CWV in place of after_idle.
        window_validation: WindowValidation { default: WindowValidation::CwndLimited, source: "RFC 9438, 4.2 and 5.8; RFC 7661" },
        /// Under rfc7661, how long a window is kept of which less than half is used, before it is halved.
        nonvalidated_period: f64 { unit: Seconds, range: 1.0 => 3600.0, default: 300.0, source: "RFC 7661, 4.4: NVP" },
        /// What becomes of the window of a sender whose application was idle for a retransmission timeout.
        after_idle: AfterIdle { default: AfterIdle::Restart, source: "RFC 5681, 4.1; RFC 2861" },
        /// Largest window: the receiver's buffer.
        max_window: f64 { unit: Packets, range: 1 => 1e9, default: 1e6, source: "RFC 9293" },
        /// Shift of the window field, whole: 0 for none, where a window is at most 65535 bytes; 14 for 2^30 bytes.
        window_scale: f64 { unit: One, range: 0 => 14, default: 14.0, source: "RFC 7323, 2.2 and 2.3" },
        /// Duplicate acknowledgements that signal a loss.
        dupthresh: f64 { unit: Packets, range: 1 => 1000, default: 3.0, source: "RFC 5681" },
        /// Send new data on the first two duplicate acknowledgements.
        limited_transmit: bool { default: true, source: "RFC 3042" },
        /// Under sack with loss_detection dupack, when nothing else may be sent, retransmit the last outstanding segment, once
        /// a recovery (rescue retransmission).
        rescue: bool { default: true, source: "RFC 6675, section 4, NextSeg (4)" },
        /// Smallest retransmission timeout.
        min_rto: f64 { unit: Seconds, range: 0.0 => 60.0, default: 1.0, source: "RFC 6298, 2.4" },
        /// Largest retransmission timeout.
        max_rto: f64 { unit: Seconds, range: 1.0 => 3600.0, default: 60.0, source: "RFC 6298, 2.5" },
        /// Retransmission timeout before the first measurement.
        initial_rto: f64 { unit: Seconds, range: 0.001 => 60.0, default: 1.0, source: "RFC 6298, 2.1" },
        /// Which connections whose SYN timed out start with a retransmission timeout of 3 s.
        lost_syn_rto: LostSynRto { default: LostSynRto::Always, source: "RFC 6298, section 5, (5.7); Linux, tcp_init_metrics" },
        /// Granularity of the clock that measures round-trip times.
        granularity: f64 { unit: Seconds, range: 1e-9 => 1.0, default: 0.001, source: "RFC 6298, G" },
        /// Longest time for which an acknowledgement is held back, zero for never; every second packet is acknowledged
        /// at once.
        delayed_ack: f64 { unit: Seconds, range: 0.0 => 0.5, default: 0.1, source: "RFC 5681, 4.2" },
    }
}

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
    /// What an ECN echo means under that law.
    pub echo: EchoMode,
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
    /// Granularity of the clock that measures round-trip times.
    pub granularity: Dur,
    /// Longest time for which an acknowledgement is held back; zero for never.
    pub delayed_ack: Dur,
}

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

impl From<&Params> for Config {
    fn from(p: &Params) -> Config {
        let header = p.header as u32 + if p.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let segment = p.segment as u32;
        let max_window = (p.max_window as u32).min(largest_window_bytes(p.window_scale) / segment);
        let rfc = p.dialect == Dialect::Rfc;
        let abe = p.abe && matches!(p.control, Law::Reno | Law::Cubic);
        Config {
            recovery: p.recovery,
            dialect: p.dialect,
            loss_detection: p.loss_detection,
            reduction: p.reduction,
            ecn_reduction: p.ecn_reduction,
            ecn_reduction_base: match p.ecn_reduction_base {
                EcnReductionBase::Law if abe || p.control == Law::Cubic => EcnReductionBase::FlightSize,
                EcnReductionBase::Law => EcnReductionBase::Cwnd,
                chosen => chosen,
            },
            control: p.control,
            echo: p.control.echo(),
            flight_size: p.flight_size,
            timeout_cuts_again: p.timeout_cuts_again,
            whole_segments: p.whole_segments,
            cubic_c: p.cubic_c,
            cubic_beta: p.cubic_beta,
            cubic_first_growth: p.cubic_first_growth,
            cubic_reno_rate: p.cubic_reno_rate,
            cubic_count_segments: p.cubic_count_segments,
            cubic_fast_convergence: p.cubic_fast_convergence,
            dctcp_g: p.dctcp_g,
            ect: if p.control == Law::Dctcp { p.dctcp_ect } else { DctcpEct::Data },
            dctcp_two_acks: p.dctcp_two_acks,
            scalable_a: p.scalable_a,
            scalable_b: p.scalable_b,
            aimd_a: p.aimd_a,
            aimd_b: p.aimd_b,
            ecn: p.ecn,
            ecn_echo_held: rfc && p.ecn_echo_held,
            abe_beta: abe.then_some(p.abe_beta),
            ecn_field: p.ecn_field.into(),
            timestamps: p.timestamps,
            dsack: p.dsack,
            segment,
            header,
            wire: segment + if p.count_header { header } else { 0 },
            // A window beyond the receiver's would not be used, and a reduction of it would have no effect.
            initial_window: if rfc { p.initial_window.min(f64::from(max_window)) } else { p.initial_window },
            abc_limit: p.abc_limit,
            slow_start: match p.slow_start {
                SlowStart::HyStart if p.control != Law::Cubic => SlowStart::Standard,
                any => any,
            },
            hystart_limit: p.hystart_limit,
            window_validation: if rfc { p.window_validation } else { WindowValidation::None },
            nonvalidated_period: Dur::from_secs(p.nonvalidated_period),
            after_idle: p.after_idle,
            initial_ssthresh: p.max_window.floor(),
            max_window,
            dupthresh: p.dupthresh as u32,
            limited_transmit: p.limited_transmit,
            rescue: p.rescue,
            min_rto: Dur::from_secs(p.min_rto),
            max_rto: Dur::from_secs(p.max_rto),
            initial_rto: Dur::from_secs(p.initial_rto),
            handshake: p.handshake,
            lost_syn_rto: p.lost_syn_rto,
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
        if self.slow_start != SlowStart::Standard && !rfc {
            return bad("slow_start", "got one that ends by delay, expected standard: ns-2 has no other");
        }
        if self.slow_start == SlowStart::HyStartPlusPlus && !self.timestamps {
            return bad(
                "slow_start",
                "got hystart++, expected standard: without timestamps few acknowledgements measure",
            );
        }
        if self.dsack && self.recovery != Recovery::Sack {
            return bad("dsack", "got true, expected false: it reports in SACK blocks, which need recovery by SACK");
        }
        if self.echo == EchoMode::PerSegment && !self.ecn {
            return bad("ecn", "got false, expected true: the chosen control lives on ECN marks");
        }
        Ok(())
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

marqueue_core::choice! {
    /// The data that a loss or a timeout takes as FlightSize when it sets ssthresh.
    pub enum FlightSize {
        /// All that is sent and not cumulatively acknowledged (RFC 5681, section 2). In loss recovery that includes what
        /// was received above a hole, which may be several windows.
        Outstanding = "outstanding",
        /// The same, but at most the congestion window: what is outstanding beyond that was received above a hole, sent by
        /// limited transmit, or given up by a timeout. Equation (4) of RFC 5681 is an upper bound ("no more than").
        Window = "window",
    }
}

marqueue_core::choice! {
    /// The connections, of those whose SYN timed out, that start with a retransmission timeout of 3 s.
    pub enum LostSynRto {
        /// All of them (RFC 6298, section 5, (5.7)).
        Always = "always",
        /// Those whose handshake gave no round-trip time; with timestamps every handshake gives one (Linux).
        Unmeasured = "unmeasured",
    }
}

//! Settings of a TCP sender and receiver. The declarations are the only place for names, defaults, ranges and sources;
//! the defaults are those of preset `rfc`. The other presets are in [`crate::preset`]. [`Config`] is what becomes of
//! them.

mod choices;
mod resolved;

pub use choices::*;
pub use resolved::{Config, PacingRatios, LEDBAT_LEAST_WINDOW, TIMESTAMPS_BYTES};

use crate::law_list::Law;

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
        /// Count whole segments where the window is cut: of the window, and of what is left; under dctcp of what is taken, and
        /// alpha in units of 1/1024. Under reno and dctcp the window grows by one for as many as it has whole ones.
        whole_segments: bool { default: false, source: "Linux, tcp_sock: snd_cwnd and snd_ssthresh are integers; dctcp_ssthresh, dctcp_update_alpha" },
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
        /// Under dctcp and prague, which packets are ECN-capable: data, SYN and SYN-ACK too (handshake), or acknowledgements and
        /// retransmissions too (all).
        dctcp_ect: DctcpEct { default: DctcpEct::Handshake, source: "RFC 8257, 3.6 and 4.1; Linux, tcp_ecn_send" },
        /// Under dctcp, when CE changes while an acknowledgement is held back, send two: one for the older packets with
        /// their echo and one for the newest. Otherwise one acknowledges all of them with the new echo.
        dctcp_two_acks: bool { default: false, source: "RFC 8257, 3.2; Linux, dctcp_ece_ack_update" },
        /// Under prague, the weight of the latest round trip in the average share of marked packets.
        prague_g: f64 { unit: Fraction, range: 1e-6 => 1.0, default: 0.0625, source: "draft-briscoe-iccrg-prague-congestion-control; Linux, PRAGUE_SHIFT_G" },
        /// Under prague, the round-trip time as which shorter ones behave; zero for none.
        prague_rtt: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.025, source: "draft-briscoe-iccrg-prague-congestion-control; Linux, prague_rtt_target" },
        /// Under prague, round trips of congestion avoidance before they do.
        prague_rtt_rounds: f64 { unit: One, range: 0 => 1e6, default: 500.0, source: "Linux, DEFAULT_RTT_TRANSITION" },
        /// Under scalable, growth for each segment acknowledged.
        scalable_a: f64 { unit: Packets, range: 1e-6 => 1.0, default: 0.01, source: "Kelly 2003" },
        /// Under scalable, the share of the window that a congestion signal takes.
        scalable_b: f64 { unit: Fraction, range: 0.01 => 0.99, default: 0.125, source: "Kelly 2003" },
        /// Under ledbat, the queueing delay that the flow aims at.
        ledbat_target: f64 { unit: Seconds, range: 0.001 => 0.1, default: 0.1, source: "RFC 6817, 2.5" },
        /// Under ledbat, growth in a round trip without queueing delay.
        ledbat_gain: f64 { unit: Packets, range: 1e-6 => 1.0, default: 1.0, source: "RFC 6817, 2.5" },
        /// Under ledbat, how far the window may be above what was outstanding.
        ledbat_allowed_increase: f64 { unit: Packets, range: 1e-6 => 1000, default: 1.0, source: "RFC 6817, 2.5" },
        /// Under ledbat++, the queueing delay that the flow aims at.
        ledbatpp_target: f64 { unit: Seconds, range: 0.001 => 0.1, default: 0.06, source: "draft-irtf-iccrg-ledbat-plus-plus, \"Multiplicative Decrease\"" },
        /// Under ledbat and ledbat++, the number of minutes of which the least delay is the base delay.
        ledbat_base_history: f64 { unit: One, range: 1 => 1000, default: 10.0, source: "RFC 6817, 2.5" },
        /// Under ledbat and ledbat++, the number of latest delays of which the least counts.
        ledbat_filter: f64 { unit: One, range: 1 => 1000, default: 4.0, source: "RFC 6817, 2.5" },
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
        /// Under ecn, how the receiver reports marks: law, as the window law specifies it; or accecn, by counters.
        ecn_feedback: EcnFeedback { default: EcnFeedback::Law, source: "RFC 3168, 6.1.3; RFC 8257, 3.2; RFC 9768" },
        /// Under ecn, what the receiver knows of ECN: same, what the sender asks for; classic, RFC 3168 alone; or none. A
        /// sender under prague then is a reno with ECT(0), or without ECN.
        ecn_peer: EcnPeer { default: EcnPeer::Same, source: "RFC 9768, 3.1.2; RFC 9331, 4.2" },
        /// Under AccECN, let acknowledgements carry the option with the counters of bytes, 12 bytes.
        accecn_option: bool { default: false, source: "RFC 9768, 3.2.3" },
        /// Let an acknowledgement of two segments carry ECE if the first had CE, though the second carries CWR. Linux does
        /// not: it acknowledges the first at once.
        ecn_echo_held: bool { default: true, source: "RFC 3168, 6.1.3; Linux, tcp_ecn_accept_cwr" },
        /// Under ecn, the ECN field of data that is ECN-capable; under prague ECT(1) in place of ECT(0).
        ecn_field: EcnField { default: EcnField::Ect, source: "RFC 3168, section 5; RFC 9331, section 4.1; Shin, Chong and Rhee, section III-B" },
        /// Carry timestamps, 12 bytes more a packet, and time every acknowledgement of new data by them.
        timestamps: bool { default: false, source: "RFC 7323" },
        /// Let the receiver report segments that arrive twice, in its first SACK block.
        dsack: bool { default: false, source: "RFC 2883" },
        /// Under loss_detection rack, take a window reduction back once timestamps or D-SACKs show that nothing was lost.
        undo_spurious: bool { default: false, source: "RFC 4015; RFC 3522; RFC 3708; Linux, tcp_undo_cwnd_reduction" },
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
        /// Slow start threshold of a new connection. With that of the initial window it begins in congestion avoidance. Under
        /// ledbat, which has no slow start, it has no effect.
        initial_ssthresh: Option<f64> { unit: Packets, range: 1 => 1e9, default: None, auto: "max_window", source: "RFC 5681, 3.1: arbitrarily high" },
        /// Most segments that an acknowledgement opens the window by in slow start: L of appropriate byte counting.
        abc_limit: f64 { unit: Packets, range: 1 => 1e9, default: 1.0, source: "RFC 5681, 3.1; RFC 3465" },
        /// The segments of an acknowledgement for which the window grows.
        growth_counts: GrowthCounts { default: GrowthCounts::Acknowledged, source: "RFC 5681, 3.1; Linux, tcp_cong_control" },
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
        /// Who paces segments: law, a sender whose window law specifies it; none; or window, every sender, at a multiple of
        /// max(cwnd, FlightSize) over the smoothed round-trip time.
        pacing: Pacing { default: Pacing::Law, source: "Linux, tcp_update_pacing_rate" },
        /// Under pacing window, that multiple in slow start, while cwnd is below half of ssthresh.
        pacing_slow_start: f64 { unit: One, range: 0.1 => 100.0, default: 2.0, source: "Linux, tcp_pacing_ss_ratio" },
        /// Under pacing window, that multiple in congestion avoidance.
        pacing_avoidance: f64 { unit: One, range: 0.1 => 100.0, default: 1.2, source: "Linux, tcp_pacing_ca_ratio" },
        /// Under pacing, segments of a new flow that are not paced.
        pacing_quantum: f64 { unit: Packets, range: 0 => 1e6, default: 10.0, source: "Linux, tcp_update_skb_after_send; initial_quantum of fq" },
        /// Under pacing, most segments that leave back to back, whole: as many as the rate sends in 1/1024 s, two at least, as a
        /// network card with TSO sends them; 1 for single ones.
        pacing_burst: f64 { unit: Packets, range: 1 => 64, default: 1.0, source: "Linux, tcp_tso_autosize; 44 segments of 1448 bytes fill gso_max_size" },
        /// Under loss_detection rack, how long the receiver of a single segment may hold its acknowledgement back, for which a
        /// tail loss probe waits: TLP.max_ack_delay.
        probe_ack_delay: Option<f64> { unit: Seconds, range: 0.0 => 1.0, default: None, auto: "delayed_ack", source: "RFC 8985, 7.2; Linux, tcp_schedule_loss_probe" },
        /// Smallest retransmission timeout.
        min_rto: f64 { unit: Seconds, range: 0.0 => 60.0, default: 1.0, source: "RFC 6298, 2.4" },
        /// Largest retransmission timeout.
        max_rto: f64 { unit: Seconds, range: 1.0 => 3600.0, default: 60.0, source: "RFC 6298, 2.5" },
        /// Retransmission timeout before the first measurement.
        initial_rto: f64 { unit: Seconds, range: 0.001 => 60.0, default: 1.0, source: "RFC 6298, 2.1" },
        /// Which connections whose SYN timed out start with a retransmission timeout of 3 s.
        lost_syn_rto: LostSynRto { default: LostSynRto::Always, source: "RFC 6298, section 5, (5.7); Linux, tcp_init_metrics" },
        /// Which connections whose SYN timed out start with a window of one segment.
        lost_syn_window: LostSynWindow { default: LostSynWindow::Always, source: "RFC 5681, section 3.1; Linux, tcp_init_transfer" },
        /// Which round-trip times are measured; segments has its effect under loss_detection rack.
        rtt_samples: RttSamples { default: RttSamples::Acknowledgements, source: "RFC 6298, section 4; RFC 7323, appendix G; Linux, tcp_ack_update_rtt" },
        /// Under loss_detection rack, the segment whose round-trip time counts, of those that one acknowledgement reports.
        rack_rtt: RackRtt { default: RackRtt::LastSent, source: "RFC 8985, 6.2, step 2; Linux, tcp_rack_advance" },
        /// Granularity of the clock that measures round-trip times.
        granularity: f64 { unit: Seconds, range: 1e-9 => 1.0, default: 0.001, source: "RFC 6298, G" },
        /// Most segments in order that one acknowledgement is sent for, whole: 2, or more where acknowledgements are thinned
        /// out.
        ack_every: f64 { unit: Packets, range: 1 => 100, default: 2.0, source: "RFC 5681, 4.2; RFC 9768, 3.3.3" },
        /// Longest time for which an acknowledgement is held back, zero for never; of `ack_every` packets the last is
        /// acknowledged at once.
        delayed_ack: f64 { unit: Seconds, range: 0.0 => 0.5, default: 0.1, source: "RFC 5681, 4.2" },
        /// Acknowledge at once, as Linux, the first segments, those that let the receive window grow, those after a pause, a
        /// mark or a segment that came twice, and the end of a burst or of what the application has written.
        quick_acks: bool { default: false, source: "Linux, tcp_event_data_recv, tcp_grow_window, tcp_rcv_space_adjust" },
    }
}

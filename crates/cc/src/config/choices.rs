//! The values of parameters that are one of a list of names.

use marqueue_core::Ecn;

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
    /// The ECN field of data whose sender reacts to CE.
    pub enum EcnField {
        /// ECT(0): a queue may mark it (RFC 3168).
        Ect = "ect",
        /// ECT(1): a queue may mark it, and a dual queue gives it the L4S service (RFC 9331).
        Ect1 = "ect1",
        /// 00, the initial state of DRQ, which to a queue under RFC 3168 is not ECN-capable.
        Initial = "initial",
    }
}

impl From<EcnField> for Ecn {
    fn from(field: EcnField) -> Ecn {
        match field {
            EcnField::Ect => Ecn::Ect0,
            EcnField::Ect1 => Ecn::Ect1,
            EcnField::Initial => Ecn::NotEct,
        }
    }
}

marqueue_core::choice! {
    /// The rules to follow where the RFCs and ns-2 differ.
    pub enum Dialect {
        /// The RFCs.
        Rfc = "rfc",
        /// ns-2.35's Agent/TCP/Reno, Newreno and Sack1 with their default settings.
        Ns2 = "ns2",
    }
}

marqueue_core::choice! {
    /// How the window is reduced to ssthresh during recovery.
    pub enum Reduction {
        /// At once; data outstanding above it must drain first (RFC 5681, RFC 6675).
        Cut = "cut",
        /// In proportion to delivered data: proportional rate reduction (RFC 9937).
        Prr = "prr",
    }
}

marqueue_core::choice! {
    /// How losses are detected.
    pub enum LossDetection {
        /// By duplicate acknowledgements, or segments sacked above (RFC 5681, RFC 6675).
        Dupack = "dupack",
        /// A segment sent later has arrived and the time for reordering is over, and a probe at the tail
        /// of a flight (RACK-TLP, RFC 8985). Needs recovery by SACK.
        Rack = "rack",
    }
}

marqueue_core::choice! {
    /// The segments of an acknowledgement for which the window grows.
    pub enum GrowthCounts {
        /// Those that it acknowledges (RFC 5681, section 3.1: N, the bytes newly acknowledged).
        Acknowledged = "acknowledged",
        /// Those that it reports as arrived for the first time: not those that an earlier one has selectively acknowledged
        /// (Linux, tcp_cong_control).
        Delivered = "delivered",
    }
}

marqueue_core::choice! {
    /// The round-trip times that are measured.
    pub enum RttSamples {
        /// By timestamps that of each acknowledgement of new data (RFC 7323), otherwise that of one segment at a time
        /// (RFC 6298, section 4).
        Acknowledgements = "acknowledgements",
        /// By each acknowledgement that of the first segment which it reports as arrived, unless one of them was sent twice,
        /// with the weight of a whole round trip (Linux, tcp_clean_rtx_queue, tcp_ack_update_rtt).
        Segments = "segments",
    }
}

marqueue_core::choice! {
    /// The segment whose round-trip time RACK takes (RACK.rtt), of those that one acknowledgement reports.
    pub enum RackRtt {
        /// The one sent last (RFC 8985, section 6.2, step 2: in ascending order of xmit_ts).
        LastSent = "last_sent",
        /// The last in sequence of those acknowledged, without them of those sacked (Linux, tcp_rack_advance).
        LastInSequence = "last_in_sequence",
    }
}

marqueue_core::choice! {
    /// What ends the first slow start beside losses and echoes.
    pub enum SlowStart {
        /// Nothing (RFC 5681).
        Standard = "standard",
        /// A rise of the round-trip time, after some rounds of slower growth (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// A rise of the round-trip time or a long train of acknowledgements, at once (Ha and Rhee 2011); a part of
        /// CUBIC in Linux, and of no other law.
        HyStart = "hystart",
    }
}

marqueue_core::choice! {
    /// The window of a sender after an idle period longer than the retransmission timeout.
    pub enum AfterIdle {
        /// It is kept.
        Keep = "keep",
        /// It is reduced to the initial window (RFC 5681, 4.1).
        Restart = "restart",
        /// It is halved for each timeout of idle time, down to the initial window (RFC 2861, Linux).
        Decay = "decay",
    }
}

marqueue_core::choice! {
    /// What an ECN echo reduces. [`Config`] holds the resolved value.
    pub enum EcnReductionBase {
        /// What the specification of the window law says: FlightSize under cubic (RFC 9438, 4.6) and with ABE (RFC
        /// 8511, 3.1), cwnd otherwise (RFC 3168, 6.1.2; RFC 8257, 3.3).
        Law = "law",
        /// FlightSize, at most cwnd.
        FlightSize = "flight_size",
        /// cwnd.
        Cwnd = "cwnd",
    }
}

marqueue_core::choice! {
    /// Which packets of a DCTCP connection are ECN-capable.
    pub enum DctcpEct {
        /// Data sent for the first time (RFC 3168, 6.1).
        Data = "data",
        /// SYN and SYN-ACK, too (RFC 8257, 3.6).
        Handshake = "handshake",
        /// All: acknowledgements and retransmissions, too (RFC 8257, 4.1; Linux).
        All = "all",
    }
}

marqueue_core::choice! {
    /// When an acknowledgement may not open the window, because the window was not used.
    pub enum WindowValidation {
        /// Never: ns-2.
        None = "none",
        /// When the sender had less outstanding than cwnd allows, or cwnd is the receiver's window (RFC 9438, 5.8).
        CwndLimited = "cwnd_limited",
        /// As cwnd_limited, but in slow start it suffices for every sender that half of cwnd was outstanding, and a cwnd beyond
        /// the receiver's window may grow (Linux, tcp_is_cwnd_limited).
        Linux = "linux",
        /// As by new CWV: growth stops, and cwnd is kept for some time, while less than half of it is acknowledged in a
        /// round trip (RFC 7661).
        Rfc7661 = "rfc7661",
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
        /// The congestion window, used or not (Linux: the ssthresh of each congestion control reads tp->snd_cwnd).
        Cwnd = "cwnd",
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

marqueue_core::choice! {
    /// The connections, of those whose SYN timed out, that start with a window of one segment.
    pub enum LostSynWindow {
        /// All of them (RFC 5681, section 3.1).
        Always = "always",
        /// Those whose SYN was sent more than twice (Linux, tcp_init_transfer).
        Repeated = "repeated",
    }
}

marqueue_core::choice! {
    /// Which senders pace their segments.
    pub enum Pacing {
        /// Those whose window law specifies it.
        Law = "law",
        /// None: segments leave when acknowledgements allow it.
        None = "none",
        /// All: the rate is a multiple of the window over the round-trip time, as in Linux.
        Window = "window",
    }
}

marqueue_core::choice! {
    /// How a receiver reports marks.
    pub enum EcnFeedback {
        /// As the window law specifies it: by counters under prague, segment by segment under dctcp (RFC 8257, 3.2), otherwise
        /// by an echo until CWR (RFC 3168, 6.1.3).
        Law = "law",
        /// By counters: AccECN (RFC 9768).
        AccEcn = "accecn",
    }
}

marqueue_core::choice! {
    /// The ECN that the receiver knows.
    pub enum EcnPeer {
        /// What the sender asks for.
        Same = "same",
        /// That of RFC 3168 alone.
        Classic = "classic",
        /// None.
        None = "none",
    }
}

/// What the SYN asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnRequest {
    /// No ECN.
    None,
    /// ECN with the feedback of RFC 3168, or of the window law.
    Classic,
    /// AccECN (RFC 9768, section 3.1.1).
    AccEcn,
}

//! struct tcp_info, by which a kernel tells the state of a connection (include/uapi/linux/tcp.h).
//!
//! The struct grows at its end from version to version, and a kernel copies out as much as it has. Fields that are
//! younger than Linux 4.18 are `None` where a kernel does not have them.

/// TCP_INFINITE_SSTHRESH: snd_ssthresh before the first loss.
const INFINITE: u32 = 0x7fff_ffff;

/// The part that is always there: up to the delivery counts of Linux 4.18.
const LEAST: usize = 200;

/// The state of the connection (include/net/tcp_states.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Data flows.
    Established = 1,
    /// A SYN was sent.
    SynSent,
    /// A SYN was received.
    SynReceived,
    /// A FIN was sent.
    FinWait1,
    /// And acknowledged.
    FinWait2,
    /// Both FINs are acknowledged.
    TimeWait,
    /// No connection.
    Close,
    /// A FIN was received.
    CloseWait,
    /// Both sides sent a FIN; ours is not acknowledged.
    LastAck,
    /// A listening socket.
    Listen,
    /// Both sides sent a FIN at once.
    Closing,
    /// A request without a socket yet.
    NewSynReceived,
}

/// The state of loss recovery (enum tcp_ca_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Recovery {
    /// Nothing is wrong.
    Open,
    /// Duplicate acknowledgements or SACKs.
    Disorder,
    /// The window was reduced, by ECN.
    Cwr,
    /// Fast retransmission.
    Recovery,
    /// A timeout.
    Loss,
}

/// A kernel's struct tcp_info. Counts are of segments and times in us, where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// State of the connection.
    pub state: State,
    /// State of loss recovery.
    pub recovery: Recovery,
    /// Timeouts in a row.
    pub retransmits: u8,
    /// Doublings of the retransmission timeout.
    pub backoff: u8,
    /// TCPI_OPT_*: bit 0 timestamps, 1 SACK, 2 window scale, 3 ECN, 4 ECN seen.
    pub options: u8,
    /// Whether the delivery rate is limited by the application.
    pub is_app_limited: bool,
    /// Retransmission timeout.
    pub rto: u32,
    /// Payload of a segment that is sent, bytes.
    pub snd_mss: u32,
    /// Segments in flight: sent and not acknowledged, also those marked lost.
    pub unacked: u32,
    /// Of these the selectively acknowledged.
    pub sacked: u32,
    /// Those taken for lost.
    pub lost: u32,
    /// Those retransmitted and not acknowledged.
    pub retrans: u32,
    /// Smoothed round-trip time.
    pub rtt: u32,
    /// Its mean deviation.
    pub rttvar: u32,
    /// Slow-start threshold; `None` before the first loss.
    pub snd_ssthresh: Option<u32>,
    /// Congestion window.
    pub snd_cwnd: u32,
    /// Reordering that is tolerated.
    pub reordering: u32,
    /// Retransmissions since the start.
    pub total_retrans: u32,
    /// bytes/s; `None` without pacing.
    pub pacing_rate: Option<u64>,
    /// Bytes acknowledged, with the SYN and the FIN.
    pub bytes_acked: u64,
    /// Segments sent, also without data.
    pub segs_out: u32,
    /// Bytes that wait to be sent.
    pub notsent_bytes: u32,
    /// Smallest round-trip time of the last minutes; `None` without a measurement.
    pub min_rtt: Option<u32>,
    /// Segments sent with data.
    pub data_segs_out: u32,
    /// The last estimate, bytes/s.
    pub delivery_rate: u64,
    /// For how long data was in flight or waited.
    pub busy_time: u64,
    /// For how long of this the receiver's window was the limit.
    pub rwnd_limited: u64,
    /// For how long of this the send buffer was.
    pub sndbuf_limited: u64,
    /// Segments delivered, with selectively acknowledged ones.
    pub delivered: u32,
    /// Of these those with ECN echoes.
    pub delivered_ce: u32,
    /// Bytes sent, with retransmissions (4.19).
    pub bytes_sent: Option<u64>,
    /// Bytes retransmitted (4.19).
    pub bytes_retrans: Option<u64>,
    /// Duplicates that D-SACK reported (4.19).
    pub dsack_dups: Option<u32>,
    /// Events of reordering (4.19).
    pub reord_seen: Option<u32>,
    /// The receiver's window, bytes (5.4).
    pub snd_wnd: Option<u32>,
    /// Timeouts since the start (6.7).
    pub total_rto: Option<u16>,
}

/// Little-endian numbers at offsets.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }

    fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    fn half(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn word(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn long(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}

impl ConnectionInfo {
    /// From what a kernel copied out. `None` if it is shorter than the struct of Linux 4.18, or has a state that there
    /// is not.
    pub fn read(bytes: &[u8]) -> Option<ConnectionInfo> {
        if bytes.len() < LEAST {
            return None;
        }
        let fields = Fields(bytes);
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        Some(ConnectionInfo {
            state: State::of(fields.byte(0)?)?,
            recovery: Recovery::of(fields.byte(1)?)?,
            retransmits: fields.byte(2)?,
            backoff: fields.byte(4)?,
            options: fields.byte(5)?,
            is_app_limited: fields.byte(7)? & 1 == 1,
            rto: word(8)?,
            snd_mss: word(16)?,
            unacked: word(24)?,
            sacked: word(28)?,
            lost: word(32)?,
            retrans: word(36)?,
            rtt: word(68)?,
            rttvar: word(72)?,
            snd_ssthresh: word(76).filter(|&ssthresh| ssthresh < INFINITE),
            snd_cwnd: word(80)?,
            reordering: word(88)?,
            total_retrans: word(100)?,
            pacing_rate: long(104).filter(|&rate| rate != u64::MAX),
            bytes_acked: long(120)?,
            segs_out: word(136)?,
            notsent_bytes: word(144)?,
            min_rtt: word(148).filter(|&rtt| rtt != u32::MAX),
            data_segs_out: word(156)?,
            delivery_rate: long(160)?,
            busy_time: long(168)?,
            rwnd_limited: long(176)?,
            sndbuf_limited: long(184)?,
            delivered: word(192)?,
            delivered_ce: word(196)?,
            bytes_sent: long(200),
            bytes_retrans: long(208),
            dsack_dups: word(216),
            reord_seen: word(220),
            snd_wnd: word(228),
            total_rto: fields.half(240),
        })
    }
}

impl State {
    fn of(number: u8) -> Option<State> {
        use State::{
            Close, CloseWait, Closing, Established, FinWait1, FinWait2, LastAck, Listen, NewSynReceived, SynReceived,
            SynSent, TimeWait,
        };
        let states = [
            Established,
            SynSent,
            SynReceived,
            FinWait1,
            FinWait2,
            TimeWait,
            Close,
            CloseWait,
            LastAck,
            Listen,
            Closing,
            NewSynReceived,
        ];
        states.get(usize::from(number).checked_sub(1)?).copied()
    }
}

impl Recovery {
    fn of(number: u8) -> Option<Recovery> {
        use self::Recovery::{Cwr, Disorder, Loss, Open, Recovery};
        [Open, Disorder, Cwr, Recovery, Loss].get(usize::from(number)).copied()
    }
}

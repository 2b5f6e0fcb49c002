//! What the program in a guest reports: records in frames of a device of its own. All numbers are little-endian.

use crate::error::Fault;
use marqueue_cc::SenderInfo;
use marqueue_core::{Dur, Time};

/// The first bytes of a record, and the version of the format.
const MAGIC: u32 = 0x4954_514d;
const VERSION: u16 = 1;
/// Length of the header of a record: magic, version, kind, time, flow, length.
const HEADER: usize = 24;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A sender at a sampling instant.
    Sample,
    /// A sender is connected.
    Connected,
    /// The last byte of a sender is acknowledged.
    Completed,
    /// A flow, or the guest, has failed.
    Failed,
    /// The guest is set up.
    Ready,
    /// Text that belongs to no flow, or a part of it.
    Text,
    /// Its last part.
    TextEnd,
    /// Why a flow will fail.
    Reason,
}

impl Kind {
    fn from_number(number: u16) -> Option<Kind> {
        use Kind::{Completed, Connected, Failed, Ready, Reason, Sample, Text, TextEnd};
        let kinds = [Sample, Connected, Completed, Failed, Ready, Text, TextEnd, Reason];
        kinds.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its kind.
    pub kind: Kind,
    /// When, ns of the scenario; negative before it.
    pub time: i64,
    /// The flow by its number in the plan of the guest.
    pub flow: u32,
    /// struct tcp_info of the kernel, or text.
    pub payload: &'a [u8],
}

/// Calls `take` with each record in the payload of a frame. Zeros behind them fill a short frame.
pub fn read<'a>(mut bytes: &'a [u8], mut take: impl FnMut(Record<'a>) -> Result<(), Fault>) -> Result<(), Fault> {
    while bytes.len() >= HEADER && bytes[..4] != [0; 4] {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let kind = Kind::from_number(half(6)).filter(|_| word(0) == MAGIC && half(4) == VERSION);
        let payload = bytes.get(HEADER..HEADER.saturating_add(word(20) as usize));
        let (Some(kind), Some(payload)) = (kind, payload) else {
            return Err(Fault("its telemetry has another format".into()));
        };
        let time = (u64::from(word(12)) << 32 | u64::from(word(8))) as i64;
        take(Record { kind, time, flow: word(16), payload })?;
        bytes = &bytes[HEADER + payload.len()..];
    }
    Ok(())
}

/// What is read of struct tcp_info (include/uapi/linux/tcp.h).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfo {
    /// The sender, in the terms of the simulator.
    pub sender: SenderInfo,
    /// Retransmissions.
    pub retransmits: u32,
    /// Retransmission timeouts, if the kernel counts them.
    pub timeouts: Option<u16>,
}

/// snd_ssthresh before the first loss: TCP_INFINITE_SSTHRESH.
const INFINITE: u32 = 0x7fff_ffff;

impl TcpInfo {
    /// From the kernel's struct, which may be longer or shorter than that of Linux 7.3. `None` if it is too short.
    pub fn parse(bytes: &[u8]) -> Option<TcpInfo> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let (rto, rtt, ssthresh, cwnd) = (word(8)?, word(68)?, word(76)?, word(80)?);
        let sender = SenderInfo {
            cwnd: f64::from(cwnd),
            ssthresh: if ssthresh >= INFINITE { f64::INFINITY } else { f64::from(ssthresh) },
            // The kernel tells the smoothed round-trip time alone.
            rtt: (rtt > 0).then(|| Dur(u64::from(rtt) * 1000)),
            srtt: f64::from(rtt) / 1e6,
            rto: Dur(u64::from(rto) * 1000),
        };
        let timeouts = bytes.get(240..242).map(|b| u16::from_le_bytes([b[0], b[1]]));
        Some(TcpInfo { sender, retransmits: word(100)?, timeouts })
    }
}

/// The telemetry of one flow.
#[derive(Clone, Debug, Default)]
pub struct FlowReport {
    /// Its sender at the sampling instants, and when it connected and completed.
    pub samples: Vec<(Time, TcpInfo)>,
    /// When its last byte was acknowledged.
    pub completed: Option<Time>,
    /// Why it failed.
    pub failed: Option<String>,
}

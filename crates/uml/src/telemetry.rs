//! What the program in a guest reports: records in frames of a device of its own. All numbers are little-endian.

use crate::error::Fault;
use crate::tcp_info::ConnectionInfo;
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
    /// The kernel has dropped a packet.
    Dropped,
}

impl Kind {
    fn from_number(number: u16) -> Option<Kind> {
        use Kind::{Completed, Connected, Dropped, Failed, Ready, Reason, Sample, Text, TextEnd};
        let kinds = [Sample, Connected, Completed, Failed, Ready, Text, TextEnd, Reason, Dropped];
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

/// What results need of struct tcp_info.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpInfo {
    /// The sender, in the terms of the simulator.
    pub sender: SenderInfo,
    /// Retransmissions.
    pub retransmits: u32,
    /// Retransmission timeouts, if the kernel counts them.
    pub timeouts: Option<u16>,
}

impl TcpInfo {
    /// From the kernel's struct. `None` if it is none ([`ConnectionInfo::read`]).
    pub fn parse(bytes: &[u8]) -> Option<TcpInfo> {
        let info = ConnectionInfo::read(bytes)?;
        let sender = SenderInfo {
            cwnd: f64::from(info.snd_cwnd),
            ssthresh: info.snd_ssthresh.map_or(f64::INFINITY, f64::from),
            // The kernel tells the smoothed round-trip time alone.
            rtt: (info.rtt > 0).then(|| Dur(u64::from(info.rtt) * 1000)),
            srtt: f64::from(info.rtt) / 1e6,
            rto: Dur(u64::from(info.rto) * 1000),
        };
        Some(TcpInfo { sender, retransmits: info.total_retrans, timeouts: info.total_rto })
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

//! The state of a loss recovery, as TCP_INFO shows it on Linux.

/// The phase of a loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairState {
    /// Nothing is known to be missing (TCP_CA_Open).
    Open,
    /// Segments arrived above a hole, and none is taken to be lost yet (TCP_CA_Disorder).
    Disorder,
    /// The window is being reduced for an ECN echo (TCP_CA_CWR).
    Cwr,
    /// Fast recovery (TCP_CA_Recovery).
    Recovery,
    /// Recovery after a retransmission timeout (TCP_CA_Loss).
    Loss,
}

/// A loss recovery's phase and counts of outstanding segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairInfo {
    /// The phase.
    pub state: RepairState,
    /// Segments that arrived above a hole (tcpi_sacked).
    pub sacked: u32,
    /// Segments taken to be lost, sent again since or not (tcpi_lost).
    pub lost: u32,
    /// Segments that were sent again and of which nothing is known since (tcpi_retrans).
    pub retransmitted: u32,
}

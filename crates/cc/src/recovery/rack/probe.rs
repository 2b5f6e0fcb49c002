//! Tail loss probes: RFC 8985, section 7. When the last segments of a flight are lost, no acknowledgement arrives. A
//! probe after two round trips causes one, earlier than the retransmission timer expires.
//! No second probe is sent while one is outstanding, nor before a round-trip time has been measured since (section 7.3):
//! probes would otherwise prevent the measurement of a path that has become longer.
//!
//! TLP.max_ack_delay, which the text leaves to the implementation (section 7.2), is the receiver's `delayed_ack`, or `probe_ack_delay`.

use crate::core::{Core, SendContext};
use crate::segment::Ack;
use marqueue_core::{Dur, Time};

/// PTO without a round-trip time.
const UNMEASURED: Dur = Dur(1_000_000_000);

/// The outstanding probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probe {
    /// TLP.end_seq, and TLP.is_retrans: it repeats the last segment.
    out: Option<(u32, bool)>,
}

impl Probe {
    /// Is a probe outstanding?
    pub fn is_out(&self) -> bool {
        self.out.is_some()
    }

    /// A probe has just been sent.
    pub fn sent(&mut self, core: &mut Core, again: bool) {
        self.out = Some((core.max, again));
        core.measured = false;
    }

    /// Recovery begins, which resolves the probe.
    pub fn clear(&mut self) {
        self.out = None;
    }

    /// TLP_calc_PTO(): when the next probe is due, at the latest when the retransmission timer expires.
    pub fn due(core: &Core, tx: &SendContext<'_>) -> Time {
        let srtt = Dur::from_secs(core.rto.srtt(tx.config));
        let alone = if core.flight() == 1 { tx.config.probe_ack_delay } else { Dur::ZERO };
        let pto = if srtt == Dur::ZERO { UNMEASURED } else { srtt + srtt + alone };
        (tx.now + pto).min(core.deadline)
    }

    /// TLP_process_ack(), section 7.4.2, before the acknowledgement is processed otherwise. Returns true if the probe has
    /// repaired a loss, which reduces the window as any loss does.
    pub fn on_ack(&mut self, core: &Core, ack: &Ack<'_>, dsack: Option<u32>) -> bool {
        let Some((end, again)) = self.out.filter(|&(end, _)| ack.ack >= end) else { return false };
        let repaired = again && dsack != Some(end - 1) && ack.ack > end;
        let duplicate = ack.ack == core.una && ack.sack.iter().all(|b| b.1 == 0);
        if !again || dsack == Some(end - 1) || repaired || duplicate {
            self.out = None;
        }
        repaired
    }
}

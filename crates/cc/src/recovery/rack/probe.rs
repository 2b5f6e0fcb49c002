//! Tail loss probes: RFC 8985, section 7. A flight whose last segments are lost draws no
//! acknowledgement; a probe after two round trips draws one, earlier than the retransmission timer.
//! There is no second probe before the fate of the first is known, and none before a round trip has been
//! measured since (7.3): else probes that are acknowledged late would keep a path that has become longer
//! from being noticed.
//!
//! Departure: the time for which a receiver may hold back its acknowledgement of a single segment
//! (TLP.max_ack_delay) is the one that the connection is set to, not 200 ms.

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
    /// Is a probe outstanding? No second one is sent before it is resolved (7.3).
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

    /// Section 7.2: when the next one is due; never later than the retransmission timer.
    pub fn due(core: &Core, tx: &SendContext<'_>) -> Time {
        let srtt = Dur::from_secs(core.rto.srtt(tx.config));
        let alone = if core.flight() == 1 { tx.config.delayed_ack } else { Dur::ZERO };
        let pto = if srtt == Dur::ZERO { UNMEASURED } else { srtt + srtt + alone };
        (tx.now + pto).min(core.deadline)
    }

    /// Section 7.4.2: an acknowledgement that has not been taken in yet may settle what became of the
    /// probe. Tells whether the probe has repaired a loss, which asks for the answer to a loss.
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

//! The round-trip time that an acknowledgement measures, as in Linux (tcp_clean_rtx_queue, tcp_ack_update_rtt): that of the
//! first segment which it acknowledges, if none of them was sent twice (Karn), otherwise of the first which it newly sacks. If there is neither, the echoed
//! timestamp tells.

use super::scoreboard::Transmission;
use marqueue_core::Time;

/// When the segment was sent that is measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttSample {
    acknowledged: Option<Time>,
    sacked: Option<Time>,
    /// One of the segments acknowledged was sent twice.
    ambiguous: bool,
}

impl RttSample {
    /// A segment is acknowledged; `news` if it was not sacked before.
    pub fn acknowledged(&mut self, segment: &Transmission, news: bool) {
        self.ambiguous |= segment.again;
        if news && !segment.again {
            self.acknowledged.get_or_insert(segment.at);
        }
    }

    /// A segment is newly sacked.
    pub fn sacked(&mut self, segment: &Transmission) {
        if !segment.again {
            self.sacked.get_or_insert(segment.at);
        }
    }

    /// When the measured segment was sent.
    pub fn sent(&self) -> Option<Time> {
        self.acknowledged.filter(|_| !self.ambiguous).or(self.sacked)
    }
}

//! Was a loss recovery spurious? It was if all that it has sent again had arrived already, as D-SACKs tell (RFC 2883; Linux,
//! tcp_try_undo_dsack). They may come after its end.

use crate::segment::Ack;
use std::ops::Range;

/// What is not known yet of the retransmissions of the last recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpuriousCheck {
    /// Retransmissions that no D-SACK has reported.
    unanswered: u32,
}

impl SpuriousCheck {
    /// A recovery begins.
    pub fn begin(&mut self) {
        self.unanswered = 0;
    }

    /// A segment is sent again in it.
    pub fn sent_again(&mut self) {
        self.unanswered += 1;
    }

    /// A D-SACK reports `count` segments. Returns true if that was the last that was not known.
    pub fn is_spurious(&mut self, count: u32) -> bool {
        let before = self.unanswered;
        self.unanswered = before.saturating_sub(count);
        before > 0 && self.unanswered == 0
    }
}

/// RFC 2883, section 4: the first block is of a segment that came twice if it lies below what is
/// acknowledged, or within the second block.
pub fn dsack(ack: &Ack<'_>) -> Option<Range<u32>> {
    let &(start, end) = ack.sack.first()?;
    let within = ack.sack.get(1).is_some_and(|&(s, e)| s <= start && end <= e);
    (start < end && (start < ack.ack || within)).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_duplicate_decides_and_only_once() {
        let mut check = SpuriousCheck::default();
        assert!(!check.is_spurious(1), "nothing was sent again");
        check.begin();
        (0..3).for_each(|_| check.sent_again());
        assert_eq!([1, 1, 1, 1].map(|n| check.is_spurious(n)), [false, false, true, false]);
        check.sent_again();
        check.begin();
        assert!(!check.is_spurious(1), "of the recovery before");
    }
}

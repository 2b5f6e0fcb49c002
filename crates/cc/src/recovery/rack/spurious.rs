//! Was a loss recovery spurious? It was if a segment thought lost has arrived, not its retransmission: an acknowledgement
//! echoes a timestamp from before the first retransmission (RFC 3522; Linux, tcp_packet_delayed). Or if all that was sent
//! again had arrived already, as D-SACKs tell (RFC 2883, RFC 3708; Linux, tcp_try_undo_dsack). They may come after its end.
//! Then the window of before the recovery comes back (Linux, tcp_undo_cwnd_reduction; RFC 4015 wants a slower return).

use crate::segment::Ack;
use crate::window::Window;
use marqueue_core::Time;
use std::ops::Range;

/// What is not known yet of the retransmissions of the last recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpuriousCheck {
    /// SND.UNA when it began: reports of what lies below are of an earlier one.
    from: u32,
    /// Retransmissions that no D-SACK has reported.
    unanswered: u32,
    /// When the first of them was sent.
    first_at: Option<Time>,
    /// The window of before; none if ECN had reduced it, or if it has come back.
    before: Option<Window>,
}

impl SpuriousCheck {
    /// A recovery begins at SND.UNA `una`, which reduces the window `before`, if it does. Retransmissions may be in flight that
    /// were sent at `earlier` times: a probe, or those of a recovery that has ended.
    pub fn begin(&mut self, una: u32, earlier: impl Iterator<Item = Time>, before: Option<Window>) {
        *self = SpuriousCheck { from: una, before, ..SpuriousCheck::default() };
        earlier.for_each(|at| self.sent_again(at));
    }

    /// A segment is sent again.
    pub fn sent_again(&mut self, at: Time) {
        self.unanswered += 1;
        self.first_at = Some(self.first_at.map_or(at, |first| first.min(at)));
    }

    /// A D-SACK reports these segments. Returns true if there was no other that was not known.
    pub fn is_spurious(&mut self, twice: &Range<u32>) -> bool {
        if twice.end <= self.from {
            return false;
        }
        let before = self.unanswered;
        self.unanswered = before.saturating_sub(twice.end - twice.start);
        before > 0 && self.unanswered == 0
    }

    /// When the first retransmission was sent, if the window can still come back.
    pub fn first_retransmission(&self) -> Option<Time> {
        self.before.and(self.first_at)
    }

    /// The recovery was spurious. Returns what the window is at least, once.
    pub fn take_window(&mut self) -> Option<Window> {
        self.before.take()
    }
}

/// What comes back of a window if its reduction was spurious (Linux, tcp_current_ssthresh).
pub fn kept(window: Window) -> Window {
    Window { ssthresh: window.ssthresh.max(0.75 * window.cwnd), ..window }
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
        assert!(!check.is_spurious(&(1..2)), "nothing was sent again");
        check.begin(4, [].into_iter(), None);
        (0..3).for_each(|_| check.sent_again(Time::ZERO));
        assert_eq!([3, 4, 5, 6, 7].map(|n| check.is_spurious(&(n..n + 1))), [false, false, false, true, false]);
        check.sent_again(Time::ZERO);
        check.begin(9, [].into_iter(), None);
        assert!(!check.is_spurious(&(9..10)), "of the recovery before");
        check.begin(9, [Time::ZERO].into_iter(), None);
        check.sent_again(Time::ZERO);
        assert!(!check.is_spurious(&(12..13)), "the probe");
    }

    #[test]
    fn the_window_comes_back_once() {
        let mut check = SpuriousCheck::default();
        check.begin(1, [].into_iter(), Some(kept(Window { cwnd: 20.0, ssthresh: 10.0 })));
        assert_eq!(check.first_retransmission(), None);
        check.sent_again(Time(7));
        check.sent_again(Time(9));
        assert_eq!(check.first_retransmission(), Some(Time(7)));
        let window = check.take_window().expect("it was reduced");
        assert_eq!((window.cwnd, window.ssthresh), (20.0, 15.0));
        assert_eq!((check.first_retransmission(), check.take_window().is_none()), (None, true));
        // What an earlier recovery has sent again arrives in this one: that shows nothing.
        check.begin(1, [Time(5), Time(3)].into_iter(), Some(window));
        check.sent_again(Time(9));
        assert_eq!(check.first_retransmission(), Some(Time(3)));
    }
}

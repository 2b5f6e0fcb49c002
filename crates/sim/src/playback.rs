//! The receiving end of a media flow's frames: which are complete, and which can be shown.
//!
//! A frame refers to the one before it, a key frame to none. So a frame is shown once it is complete and the one before it
//! is shown; a complete key frame is shown at once, and what came before it is given up. Showing takes no time and there
//! is no buffer against jitter: frames appear as they come.

use std::collections::VecDeque;

/// A frame that is not shown yet.
#[derive(Debug)]
struct Open {
    is_key: bool,
    /// One past its last packet.
    end: u32,
    /// Packets that have not arrived.
    missing: u32,
}

/// Frames from the first that may still be shown.
#[derive(Debug, Default)]
pub struct Playback {
    frames: VecDeque<Open>,
    /// Number of the first.
    first: u32,
    /// Its first packet.
    begin: u32,
    /// One past the last packet of all frames.
    end: u32,
}

impl Playback {
    /// The next frame has been made, of so many packets.
    pub fn add(&mut self, is_key: bool, packets: u32) {
        self.end += packets;
        self.frames.push_back(Open { is_key, end: self.end, missing: packets });
    }

    /// Is this packet the last of its frame, as RTP's marker tells?
    pub fn ends_frame(&self, seq: u32) -> bool {
        self.frames.binary_search_by_key(&(seq + 1), |frame| frame.end).is_ok()
    }

    /// A packet arrives. Returns the numbers of the frames that are shown now.
    pub fn on_packet(&mut self, seq: u32) -> std::ops::Range<u32> {
        let place = self.frames.partition_point(|frame| frame.end <= seq);
        // Not one of a frame that was given up.
        let Some(frame) = self.frames.get_mut(place).filter(|_| seq >= self.begin) else { return 0..0 };
        frame.missing = frame.missing.saturating_sub(1);
        if frame.missing > 0 || (place > 0 && !frame.is_key) {
            return 0..0;
        }
        let shown = self.frames.iter().skip(place).take_while(|frame| frame.missing == 0).count();
        let from = self.first + place as u32;
        self.first = from + shown as u32;
        self.begin = self.frames[place + shown - 1].end;
        self.frames.drain(..place + shown);
        from..self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Playback {
        let mut playback = Playback::default();
        // Packets 0 to 2, 3, 4 and 5, 6, 7.
        for (is_key, packets) in [(true, 3), (false, 1), (false, 2), (false, 1), (true, 1)] {
            playback.add(is_key, packets);
        }
        playback
    }

    #[test]
    fn frames_are_shown_in_order_once_they_are_complete() {
        let mut p = frames();
        assert_eq!([0, 1, 3, 5].map(|seq| p.on_packet(seq).count()), [0; 4]);
        assert_eq!(p.on_packet(2), 0..2);
        assert_eq!(p.on_packet(4), 2..3);
        assert_eq!((p.on_packet(6), p.on_packet(7)), (3..4, 4..5));
    }

    #[test]
    fn a_key_frame_passes_over_what_is_incomplete() {
        let mut p = frames();
        for seq in 0..4 {
            p.on_packet(seq);
        }
        // Packet 4 is lost: frames 2 and 3 are never shown.
        assert!(p.on_packet(5).is_empty() && p.on_packet(6).is_empty());
        assert!(p.ends_frame(7) && !p.ends_frame(4));
        assert_eq!(p.on_packet(7), 4..5);
        assert!(p.on_packet(4).is_empty());
    }
}

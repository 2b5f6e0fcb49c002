//! The ACK filter: an acknowledgement that arrives makes an older one of its flow, which is still queued, superfluous.
//!
//! Linux's sch_cake. Queues here do not see TCP options, so SACK blocks are not compared: of two acknowledgements with the
//! same number (duplicates, which may carry new blocks) both stay.

use crate::buffer::{Buffer, Drawn};
use marqueue_core::{Flags, Packet};

marqueue_core::choice! {
    /// Which acknowledgements are dropped.
    pub enum AckFilter {
        /// None.
        Off = "off",
        /// The oldest of a flow that has two older ones queued.
        On = "on",
        /// Also a single one, directly before the arriving one.
        Aggressive = "aggressive",
    }
}



fn is_pure_ack(packet: &Packet) -> bool {
    packet.has(Flags::ACK) && !packet.has(Flags::SYN)
}

fn echo(packet: &Packet) -> Flags {
    packet.head().flags() & (Flags::ECE | Flags::CWR)
}

/// The acknowledgement in `queue` that `newest`, its last packet, makes superfluous.
pub fn superfluous(filter: AckFilter, queue: &Buffer, newest: &Packet) -> Option<Drawn> {
    if filter == AckFilter::Off || !is_pure_ack(newest) || queue.len() < 2 {
        return None;
    }
    let mut oldest: Option<Drawn> = None;
    let mut found = 0;
    let mut is_last = false;
    let older = queue.iter().take(queue.len() as usize - 1);
    for candidate in older {
        let packet = &candidate.packet;
        is_last = false;
        if packet.flow() != newest.flow() {
            continue;
        }
        // Where the echo changes, the packet before tells the sender something.
        if oldest.is_some_and(|oldest| echo(&oldest.packet) != echo(packet)) {
            oldest = None;
            found -= 1;
        }
        if !is_pure_ack(packet) || packet.seq() >= newest.seq() {
            continue;
        }
        if oldest.is_none() {
            oldest = Some(candidate);
            is_last = true;
        }
        found += 1;
        if found > 1 {
            return oldest;
        }
    }
    oldest.filter(|oldest| filter == AckFilter::Aggressive && is_last && echo(&oldest.packet) == echo(newest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use marqueue_core::{Head, Time};

    fn ack(flow: u32, seq: u32, flags: Flags) -> Packet {
        let head = Head::default().with(Flags::ACK | flags);
        Packet::data(flow, seq, 40).with_head(head)
    }

    /// The number of the acknowledgement that the last packet makes superfluous.
    fn dropped(filter: AckFilter, packets: &[Packet]) -> Option<u32> {
        let mut queue = Buffer::default();
        packets.iter().for_each(|&packet| queue.push(Time::ZERO, packet));
        superfluous(filter, &queue, packets.last().unwrap()).map(|drawn| drawn.packet.seq())
    }

    #[test]
    fn the_oldest_of_two_is_dropped_or_the_last_one_by_the_aggressive_filter() {
        let plain = |seq| ack(0, seq, Flags::NONE);
        assert_eq!(dropped(AckFilter::On, &[plain(1), plain(2), plain(3)]), Some(1));
        assert_eq!(dropped(AckFilter::On, &[plain(1), plain(2)]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &[plain(1), plain(2)]), Some(1));
        assert_eq!(dropped(AckFilter::Aggressive, &[plain(1), Packet::data(0, 9, 1000), plain(2)]), None);
        assert_eq!(dropped(AckFilter::Off, &[plain(1), plain(2), plain(3)]), None);
    }

    #[test]
    fn duplicates_echoes_data_and_other_flows_stay() {
        let (plain, echo) = (|seq| ack(0, seq, Flags::NONE), |seq| ack(0, seq, Flags::ECE));
        assert_eq!(dropped(AckFilter::On, &[plain(3), plain(3), plain(3)]), None);
        assert_eq!(dropped(AckFilter::On, &[ack(1, 1, Flags::NONE), ack(1, 2, Flags::NONE), plain(3)]), None);
        assert_eq!(dropped(AckFilter::On, &[Packet::data(0, 1, 40), Packet::data(0, 2, 40), plain(3)]), None);
        assert_eq!(dropped(AckFilter::Aggressive, &[plain(1), echo(2)]), None);
        // The packet before a change of the echo stays; the two after it count.
        assert_eq!(dropped(AckFilter::On, &[plain(1), echo(2), echo(3), echo(4)]), Some(2));
    }
}

//! A Wi-Fi link (IEEE 802.11n and later): A-MPDU aggregation, block acknowledgement and retransmission of single MPDUs.
//!
//! One access takes n MPDUs from the queue, as many as the limits of number, bytes and time allow:
//!
//! ```text
//! access | preamble | n MPDUs at the rate of the link | SIFS | block ACK | AIFS | backoff | the others' turn | next access
//! ```
//!
//! The rate of the link is that of the PHY while it sends data. An MPDU has `mpdu_overhead` bytes beside the packet and
//! is padded to 4 bytes; the PPDU is padded to symbols of 4 us. Backoff is uniform from 0 to `cw_min` slots. With
//! n MPDUs an access, packets of L bytes cross the medium at
//!
//! ```text
//! 8 n L / (preamble + symbols(8 n (L + overhead) / rate) + sifs + block_ack + aifs + slot cw_min / 2 + contention)
//! ```
//!
//! times 1 - `mpdu_error`. With n = 1, `contention` 0 and an infinite rate this is the throughput limit of Xiao and
//! Rosdahl: 75.24 Mbit/s for 1500 bytes in 802.11a.
//!
//! Each MPDU is lost with probability `mpdu_error`, independently. The block ACK says which: they come first in the next
//! aggregate. The receiver hands packets on in order, at the end of the PPDU that completes them. First and last MPDU
//! that are under way are at most `max_mpdus` apart, the size of the window of the block ACK.
//!
//! Other stations are `contention`: the time that they hold the medium before each access, exponential with this mean.
//! So the model does not know them as queues, and collisions are part of `contention` and `mpdu_error`.
//!
//! Sources: Y. Xiao, J. Rosdahl, "Throughput and delay limits of IEEE 802.11", IEEE Commun. Lett. 6(8), 2002;
//! B. Ginzburg, A. Kesselman, "Performance analysis of A-MPDU and A-MSDU aggregation in IEEE 802.11n", Sarnoff Symposium
//! 2007; values of IEEE 802.11-2020 at each parameter.
//!
//! Left out: rate control, growth of the contention window after a failure, a limit of retransmissions (with
//! `mpdu_error` 0.1, seven repetitions fail once in 10^8), loss of the block ACK, RTS/CTS, A-MSDU, and the aggregation
//! buffer of hardware queues, which take the next aggregate before the medium is free.

use super::{Backlog, MediumModel};
use marqueue_core::params::{whole, ParamError};
use marqueue_core::{Bytes, Dur, Packet, Rate, Rng, Time};
use std::collections::VecDeque;

marqueue_core::params! {
    /// Parameters of a Wi-Fi link.
    pub struct Params {
        /// Most MPDUs in an aggregate, and window of the block ACK; 1 is a link without aggregation.
        max_mpdus: f64 { unit: Packets, range: 1.0 => 1024.0, default: 64.0, source: "IEEE 802.11-2020: block ACK of 802.11n" },
        /// Most bytes in an aggregate; one MPDU always fits.
        max_bytes: f64 { unit: Bytes, range: 1.0 => 16_777_216.0, default: 65_535.0, source: "IEEE 802.11-2020: largest A-MPDU of HT; VHT has 1048575" },
        /// Longest transmission with its preamble; one MPDU always fits.
        max_time: f64 { unit: Seconds, range: 1e-5 => 1.0, default: 0.005484, source: "IEEE 802.11-2020: aPPDUMaxTime of VHT" },
        /// Preamble and headers of the PHY.
        preamble: f64 { unit: Seconds, range: 0.0 => 0.001, default: 40e-6, source: "IEEE 802.11-2020: VHT with one stream" },
        /// Bytes of an MPDU beside the packet: delimiter 4, QoS header 26, LLC/SNAP 8, FCS 4.
        mpdu_overhead: f64 { unit: Bytes, range: 0.0 => 1000.0, default: 42.0, source: "IEEE 802.11-2020: formats of MPDU and A-MPDU" },
        /// Time between a transmission and its answer.
        sifs: f64 { unit: Seconds, range: 0.0 => 0.001, default: 16e-6, source: "IEEE 802.11-2020: OFDM PHY" },
        /// The block ACK with its preamble.
        block_ack: f64 { unit: Seconds, range: 0.0 => 0.001, default: 32e-6, source: "IEEE 802.11-2020: 32 bytes at 24 Mbit/s after a preamble of 20 us" },
        /// Time for which the medium must be free before a backoff.
        aifs: f64 { unit: Seconds, range: 0.0 => 0.001, default: 43e-6, source: "IEEE 802.11-2020: best effort, 16 us + 3 slots" },
        /// A slot of the backoff.
        slot: f64 { unit: Seconds, range: 0.0 => 0.001, default: 9e-6, source: "IEEE 802.11-2020: OFDM PHY" },
        /// Largest backoff in slots.
        cw_min: f64 { unit: One, range: 0.0 => 1023.0, default: 15.0, source: "IEEE 802.11-2020: best effort" },
        /// Mean time for which other stations hold the medium before an access.
        contention: f64 { unit: Seconds, range: 0.0 => 1.0, default: 0.0, source: "marqueue; no other station" },
        /// Probability that an MPDU is lost.
        mpdu_error: f64 { unit: Fraction, range: 0.0 => 0.9, default: 0.0, source: "marqueue; a clear channel" },
    }
}

/// The PPDU is as long as a whole number of symbols.
const SYMBOL: f64 = 4e-6;

/// An MPDU that has been taken from the queue and not handed on.
#[derive(Debug)]
struct Mpdu {
    packet: Packet,
    received: bool,
}

/// A Wi-Fi link.
#[derive(Debug)]
pub struct Wifi {
    params: Params,
    rate: Rate,
    rng: Rng,
    max_mpdus: usize,
    cw: u32,
    /// The MPDUs of the window, in order. The first has not been received.
    window: VecDeque<Mpdu>,
    /// A packet that did not fit into the last aggregate.
    staged: Option<Packet>,
}

impl Wifi {
    fn mpdu_bytes(&self, packet: u64) -> u64 {
        (packet + self.params.mpdu_overhead as u64).next_multiple_of(4)
    }

    /// Length of a PPDU with MPDUs of `bytes` in all, seconds.
    fn ppdu(&self, bytes: u64) -> f64 {
        // A whole number of symbols must not become one more by rounding.
        let symbols = (bytes as f64 * 8.0 / self.rate.0 as f64 / SYMBOL - 1e-9).ceil();
        self.params.preamble + symbols * SYMBOL
    }

    /// Does an aggregate of `bytes` keep the limits?
    fn fits(&self, bytes: u64) -> bool {
        bytes as f64 <= self.params.max_bytes && self.ppdu(bytes) <= self.params.max_time
    }

    /// Time for which other stations hold the medium.
    fn others(&mut self) -> f64 {
        match self.params.contention {
            0.0 => 0.0,
            mean => self.rng.exponential(mean),
        }
    }

    /// Takes MPDUs for an aggregate: those to repeat, then new ones. Returns how many bytes, and of the window the
    /// places.
    fn aggregate(&mut self, queue: &mut impl Backlog) -> (u64, Vec<usize>) {
        let (mut bytes, mut places) = (0, Vec::new());
        for (place, mpdu) in self.window.iter().enumerate().filter(|(_, mpdu)| !mpdu.received) {
            let more = bytes + self.mpdu_bytes(mpdu.packet.bytes().into());
            if !places.is_empty() && !self.fits(more) {
                return (bytes, places);
            }
            bytes = more;
            places.push(place);
        }
        while self.window.len() < self.max_mpdus {
            let Some(packet) = self.staged.take().or_else(|| queue.take()) else { break };
            let more = bytes + self.mpdu_bytes(packet.bytes().into());
            if !places.is_empty() && !self.fits(more) {
                self.staged = Some(packet);
                break;
            }
            bytes = more;
            places.push(self.window.len());
            self.window.push_back(Mpdu { packet, received: false });
        }
        (bytes, places)
    }
}

impl MediumModel for Wifi {
    const NAME: &'static str = "wifi";
    const SUMMARY: &'static str = "Wi-Fi: contention, aggregates of packets, block ACK and retransmissions";
    const SOURCE: &'static str = "IEEE 802.11-2020; Xiao and Rosdahl, IEEE Commun. Lett. 6(8), 2002";
    type Params = Params;

    fn new(params: &Params, rate: Rate, rng: Rng) -> Result<Self, ParamError> {
        let max_mpdus = whole("max_mpdus", params.max_mpdus)? as usize;
        let cw = whole("cw_min", params.cw_min)?;
        whole("mpdu_overhead", params.mpdu_overhead)?;
        Ok(Wifi { params: params.clone(), rate, rng, max_mpdus, cw, window: VecDeque::new(), staged: None })
    }

    fn first_from(&mut self, now: Time) -> Time {
        now + Dur::from_secs(self.others())
    }

    fn send(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) -> Time {
        let (bytes, places) = self.aggregate(queue);
        if places.is_empty() {
            return now;
        }
        for place in places {
            self.window[place].received = self.rng.uniform() >= self.params.mpdu_error;
        }
        let end = now + Dur::from_secs(self.ppdu(bytes));
        while let Some(mpdu) = self.window.pop_front_if(|mpdu| mpdu.received) {
            left.push_back((mpdu.packet, end));
        }
        let Params { sifs, block_ack, aifs, slot, .. } = self.params;
        let backoff = slot * f64::from(self.rng.below(self.cw + 1));
        end + Dur::from_secs(sifs + block_ack + aifs + backoff + self.others())
    }

    fn held(&self) -> usize {
        self.window.len() + usize::from(self.staged.is_some())
    }

    fn capacity(&self, packet: Bytes) -> f64 {
        let mpdu = self.mpdu_bytes(packet.0);
        let n = (1..=self.max_mpdus as u64).take_while(|n| self.fits(n * mpdu)).last().unwrap_or(1);
        let Params { sifs, block_ack, aifs, slot, contention, mpdu_error, .. } = self.params;
        let backoff = slot * f64::from(self.cw) / 2.0;
        let access = self.ppdu(n * mpdu) + sifs + block_ack + aifs + backoff + contention;
        8.0 * n as f64 * packet.0 as f64 * (1.0 - mpdu_error) / access
    }
}

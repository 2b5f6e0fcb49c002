//! Writes simulated packets as pcapng, with the headers that they would have on a wire.
//!
//! [`flow`] builds the headers of a packet; [`Capture`] is the file. Payload is not captured. It is all zeros, and
//! checksums are computed over zeros.

mod flow;

pub use flow::{Ecn, Flow, Packet, Protocol, TcpFlags, TcpSettings};

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// Length of the longest headers: IPv4 without options, TCP with the most options.
const SNAP_LENGTH: u32 = 20 + 60;

/// if_tsresol: timestamps count nanoseconds.
const NANOSECONDS: u8 = 9;

/// The direction of a packet at the interface (epb_flags).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Direction {
    /// Received.
    Inbound = 1,
    /// Sent.
    Outbound = 2,
}

/// A pcapng file of one interface (draft-ietf-opsawg-pcapng): raw IPv4, headers only.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
}

impl<W: Write> Capture<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// If `to` cannot be written.
    pub fn new(to: W, interface: &str) -> io::Result<Capture<W>> {
        // A fixed byte order makes files equal on all machines.
        let mut writer = PcapNgWriter::with_endianness(to, Endianness::Little).map_err(io_error)?;
        let name = InterfaceDescriptionOption::IfName(Cow::Borrowed(interface));
        let description = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: SNAP_LENGTH,
            options: vec![name, InterfaceDescriptionOption::IfTsResol(NANOSECONDS)],
        };
        writer.write_pcapng_block(description).map_err(io_error)?;
        Ok(Capture { writer })
    }

    /// Adds a packet recorded at `ns` nanoseconds. Packets must be in order of time.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, ns: u64, direction: Direction, flow: &Flow, packet: &Packet<'_>) -> io::Result<()> {
        let headers = flow.headers(packet);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(ns),
            original_len: packet.bytes.max(headers.len() as u32),
            data: Cow::Borrowed(&headers),
            options: vec![EnhancedPacketOption::Flags(direction as u32)],
        };
        self.writer.write_pcapng_block(block).map_err(io_error)?;
        Ok(())
    }
}

/// Converts errors of the writer. There are no other errors.
fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(e) => e,
        other => io::Error::other(other),
    }
}

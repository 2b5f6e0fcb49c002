//! The plan of a guest: what its program sets up and does, line by line (crates/uml/guest/README.md).

use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Time};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};

/// A plan that is being written.
#[derive(Clone, Debug)]
pub struct GuestPlan {
    text: String,
}

/// A socket that accepts connections and discards what it receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Where it listens.
    pub local: SocketAddrV4,
    /// Congestion control; that of the kernel if `None`.
    pub congestion: Option<String>,
    /// TCP's option, bytes: a segment with timestamps carries 12 less.
    pub mss: Option<u32>,
    /// Receive buffer, bytes.
    pub receive_buffer: Option<u32>,
}

/// A sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Its number in telemetry.
    pub number: u32,
    /// Its own end.
    pub local: SocketAddrV4,
    /// The receiver's end.
    pub remote: SocketAddrV4,
    /// When it connects.
    pub start: Time,
    /// When it writes no more.
    pub stop: Option<Time>,
    /// How much it sends, bytes; `None` is without end.
    pub bytes: Option<u64>,
    /// The application writes so many bytes at the start and after each interval.
    pub pieces: Option<(u64, Dur)>,
    /// Congestion control; that of the kernel if `None`.
    pub congestion: Option<String>,
    /// TCP's option, bytes: a segment with timestamps carries 12 less.
    pub mss: Option<u32>,
    /// Send buffer, bytes.
    pub send_buffer: Option<u32>,
}

impl GuestPlan {
    /// A plan whose scenario begins at this CLOCK_MONOTONIC of the guest, ns. Telemetry leaves by the device `control`.
    pub fn new(control: &str, clock_origin: u64) -> GuestPlan {
        GuestPlan { text: format!("control {control}\nclock-origin {clock_origin}\n") }
    }

    /// The plan, as the guest reads it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds a line; writing to a string does not fail.
    fn line(&mut self, line: std::fmt::Arguments<'_>) -> &mut GuestPlan {
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
        self
    }

    /// Sets a sysctl, such as `net.ipv4.tcp_ecn`.
    ///
    /// # Errors
    /// If the name is not one word, or the value is not words with one blank between them.
    pub fn sysctl(&mut self, name: &str, value: &str) -> Result<&mut GuestPlan, ParamError> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(ParamError::new("sysctl", format!("got {name:?}, expected a name such as net.ipv4.tcp_ecn")));
        }
        // The guest's program reads words: it would take more blanks for one.
        let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_graphic() && c != '#');
        if !value.split(' ').all(is_word) {
            let message = format!("got {value:?}, expected a number, or words with one blank between them");
            return Err(ParamError::new(format!("sysctl.{name}"), message));
        }
        Ok(self.line(format_args!("sysctl {name}={value}")))
    }

    /// Gives a device an address and brings it up.
    pub fn device(&mut self, name: &str, address: Ipv4Addr, prefix: u8) -> &mut GuestPlan {
        self.line(format_args!("device {name} address {address}/{prefix}"))
    }

    /// The link address of a neighbour, so that nobody asks for it.
    pub fn neighbour(&mut self, device: &str, address: Ipv4Addr, link: [u8; 6]) -> &mut GuestPlan {
        let [a, b, c, d, e, f] = link;
        self.line(format_args!("neighbour {device} {address} {a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))
    }

    /// A network behind a device.
    pub fn route(&mut self, network: Ipv4Addr, prefix: u8, device: &str) -> &mut GuestPlan {
        self.line(format_args!("route {network}/{prefix} {device}"))
    }

    /// Asks for samples of all flows at time 0 and after each interval.
    pub fn sample_every(&mut self, interval: Dur) -> &mut GuestPlan {
        self.line(format_args!("sample-every {}", interval.0))
    }

    /// A receiver.
    ///
    /// # Errors
    /// If the congestion control is not one word.
    pub fn listen(&mut self, listener: &Listener) -> Result<&mut GuestPlan, ParamError> {
        let congestion = congestion(listener.congestion.as_deref())?;
        let (mss, buffer) = (option("mss", listener.mss), option("rcvbuf", listener.receive_buffer));
        let (address, port) = (listener.local.ip(), listener.local.port());
        Ok(self.line(format_args!("listen {address} {port}{congestion}{mss}{buffer}")))
    }

    /// A sender.
    ///
    /// # Errors
    /// If the congestion control is not one word.
    pub fn flow(&mut self, flow: &Sender) -> Result<&mut GuestPlan, ParamError> {
        let Sender { number, local, remote, start, .. } = flow;
        let congestion = congestion(flow.congestion.as_deref())?;
        let bytes = flow.bytes.map_or(0, |bytes| bytes.max(1));
        let pieces = flow.pieces.map_or(String::new(), |(size, every)| format!(" write {size} every {}", every.0));
        let (mss, buffer) = (option("mss", flow.mss), option("sndbuf", flow.send_buffer));
        let stop = option("stop", flow.stop.map(|at| at.0));
        Ok(self.line(format_args!(
            "flow {number} from {local} to {remote} start {} bytes {bytes}{congestion}{mss}{buffer}{pieces}{stop}",
            start.0
        )))
    }

    /// Lets frames that arrive at one device leave by the other as they came.
    pub fn forward(&mut self, from: &str, to: &str) -> &mut GuestPlan {
        self.line(format_args!("forward {from} {to}"))
    }

    /// The most bytes beyond the first packet that a device takes from its qdisc.
    pub fn byte_queue_limit(&mut self, device: &str, bytes: u64) -> &mut GuestPlan {
        self.line(format_args!("byte-queue-limit {device} {bytes}"))
    }

    /// Asks for a report of each packet that the kernel drops.
    pub fn report_drops(&mut self) -> &mut GuestPlan {
        self.line(format_args!("report-drops"))
    }

    /// Runs tc with these arguments; a failure ends the guest.
    ///
    /// # Errors
    /// If the arguments are not one line.
    pub fn tc(&mut self, arguments: &str) -> Result<&mut GuestPlan, ParamError> {
        one_line("tc", arguments)?;
        Ok(self.line(format_args!("tc {arguments}")))
    }

    /// Asks for what tc prints at a time.
    ///
    /// # Errors
    /// If the arguments are not one line.
    pub fn report_tc(&mut self, at: Time, arguments: &str) -> Result<&mut GuestPlan, ParamError> {
        one_line("tc", arguments)?;
        Ok(self.line(format_args!("report-at {} tc {arguments}", at.0)))
    }

    /// Asks for the content of a file of the kernel at a time, such as /proc/net/netstat.
    ///
    /// # Errors
    /// If the path is not one line.
    pub fn report_file(&mut self, at: Time, path: &str) -> Result<&mut GuestPlan, ParamError> {
        one_line("path", path)?;
        Ok(self.line(format_args!("report-at {} file {path}", at.0)))
    }
}

/// A name and a value behind a directive, or nothing.
fn option(name: &str, value: Option<impl std::fmt::Display>) -> String {
    value.map_or(String::new(), |value| format!(" {name} {value}"))
}

fn congestion(name: Option<&str>) -> Result<String, ParamError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    match name {
        Some(name) if name.is_empty() || !name.chars().all(is_name) => {
            let message = format!("got {name:?}, expected the name of a congestion control");
            Err(ParamError::new("congestion_control", message))
        }
        _ => Ok(option("congestion", name)),
    }
}

/// A `#` would start a comment.
fn one_line(path: &str, text: &str) -> Result<(), ParamError> {
    if text.is_empty() || text.contains(|c: char| c.is_control() || c == '#') {
        return Err(ParamError::new(path, format!("got {text:?}, expected one line of words")));
    }
    Ok(())
}

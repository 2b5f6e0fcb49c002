//! A TCP sender alone, without a network: whoever holds it tells it what arrives and when.

use marqueue_cc::accecn::{ace_flags, SenderCounters};
use marqueue_cc::law_list::EchoMode;
use marqueue_cc::recovery::RepairState;
use marqueue_cc::segment::{Ack, ByteCounters};
use marqueue_cc::{Config, Segment, Sender};
use marqueue_core::params::ParamValues;
use marqueue_core::{Flags, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A segment that leaves: its number (0 is the SYN), whether it is ECN-capable, whether it carries CWR.
type Sent = (u32, bool, bool);

/// What an acknowledgement says of ECN: its flags as the number AE CWR ECE (RFC 9768, section 3.1), of which ECE alone is
/// RFC 3168's echo, and AccECN's counters of bytes with ECT(0), CE and ECT(1).
type Feedback = (u32, Option<(u32, u32, u32)>);

/// A TCP sender whose application writes in pieces. Segments have numbers; times are in nanoseconds.
#[pyclass(module = "marqueue._core")]
pub struct TcpSender {
    config: Config,
    sender: Sender,
    out: Vec<Segment>,
}

impl TcpSender {
    fn take(&mut self) -> Vec<Sent> {
        self.out.drain(..).map(|s| (s.seq, s.ect, s.flags.has(Flags::CWR))).collect()
    }
}

#[pymethods]
impl TcpSender {
    /// `parameters` is a JSON object of values that differ from the preset's.
    #[new]
    fn new(preset: &str, parameters: &str) -> PyResult<Self> {
        let malformed = |e: String| PyValueError::new_err(e);
        let values: ParamValues = serde_json::from_str(parameters).map_err(|e| malformed(e.to_string()))?;
        let config = Config::with_preset(preset, &values).map_err(|e| malformed(e.to_string()))?;
        let mut sender = Sender::new(&config, None, 0.0);
        sender.write_in_pieces();
        Ok(TcpSender { config, sender, out: Vec::new() })
    }

    /// Opens the connection.
    fn start(&mut self, now: u64) -> Vec<Sent> {
        self.sender.start(&self.config, Time(now), &mut self.out);
        self.take()
    }

    /// The application writes so many more segments.
    fn write(&mut self, now: u64, segments: u32) -> Vec<Sent> {
        self.sender.write(&self.config, Time(now), segments, &mut self.out);
        self.take()
    }

    /// An acknowledgement arrives: the next segment expected, the SACK blocks, the receiver's timestamp and the echoed one,
    /// what it says of ECN, and the receiver's window in segments.
    fn on_ack(
        &mut self,
        now: u64,
        ack: u32,
        sack: Vec<(u32, u32)>,
        timestamps: Option<(u32, u32)>,
        feedback: Feedback,
        window: u32,
    ) -> Vec<Sent> {
        self.config.max_window = window;
        let (bits, counters) = feedback;
        let flags = Flags::ACK | ace_flags(bits);
        let counters = counters.map(|(ect0, ce, ect1)| ByteCounters { ect0, ce, ect1 });
        let (ece, stamp, echo) =
            (flags.has(Flags::ECE), timestamps.map_or(0, |each| each.0), timestamps.map(|each| each.1));
        let ack = Ack { ack, ece, flags, counters: &counters, sack: &sack, echo, stamp };
        self.sender.on_ack(&self.config, Time(now), &ack, &mut self.out);
        self.take()
    }

    /// The timer of [`TcpSender::deadline`] expires.
    fn on_timer(&mut self, now: u64) -> Vec<Sent> {
        self.sender.on_timer(&self.config, Time(now), &mut self.out);
        self.take()
    }

    /// When the next timer expires; None if none is armed.
    fn deadline(&self) -> Option<u64> {
        Some(self.sender.deadline()).filter(|due| *due != Time::NEVER).map(|due| due.0)
    }

    /// The timestamp of a segment sent now.
    fn timestamp(&self, now: u64) -> u32 {
        self.config.timestamp(Time(now))
    }

    /// Windows in segments, times in seconds, counts of segments, and where the loss recovery tells, its phase; on a
    /// connection with AccECN packets and bytes that have been reported as marked.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (core, info) = (self.sender.core(), self.sender.core().info(&self.config));
        let told = PyDict::new(py);
        told.set_item("cwnd", info.cwnd)?;
        told.set_item("ssthresh", info.ssthresh)?;
        told.set_item("srtt", info.srtt)?;
        told.set_item("rto", info.rto.secs())?;
        told.set_item("una", core.una)?;
        told.set_item("max", core.max)?;
        if let Some(repair) = self.sender.repair() {
            let state = match repair.state {
                RepairState::Open => "open",
                RepairState::Disorder => "disorder",
                RepairState::Cwr => "cwr",
                RepairState::Recovery => "recovery",
                RepairState::Loss => "loss",
            };
            told.set_item("state", state)?;
            told.set_item("sacked", repair.sacked)?;
            told.set_item("lost", repair.lost)?;
            told.set_item("retransmitted", repair.retransmitted)?;
        }
        if self.config.feedback == EchoMode::Counted {
            let counters = core.marks_reported();
            told.set_item("marked", counters.map_or(0, SenderCounters::marked))?;
            told.set_item("marked_bytes", counters.map_or(0, SenderCounters::marked_bytes))?;
        }
        Ok(told)
    }
}

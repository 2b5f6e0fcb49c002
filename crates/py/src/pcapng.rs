//! Writes the packets of a traced link to a pcapng file.

use crate::run::PlanError;
use marqueue_cc::config::Recovery;
use marqueue_cc::Config;
use marqueue_pcap::{Capture, Direction, Ecn, Flow, Packet, Protocol, TcpFlags, TcpSettings};
use marqueue_sim::plan::TransportPlan;
use numpy::{Element, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Writes packets, given as columns in order of time, to a pcapng file with one interface.
#[pyfunction]
pub fn write_pcapng(
    path: PathBuf,
    interface: &str,
    transports_json: &str,
    flows: &Bound<'_, PyDict>,
    packets: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let flows = flows_of(transports_json, flows)?;
    let packets = Columns::of(packets)?;
    let mut file = BufWriter::new(File::create(path)?);
    let mut capture = Capture::new(&mut file, interface)?;
    packets.add_to(&mut capture, &flows)?;
    Ok(file.flush()?)
}

/// Flows from rows of class and transport; transport -1 is UDP.
fn flows_of(transports_json: &str, flows: &Bound<'_, PyDict>) -> PyResult<Vec<Flow>> {
    let transports: Vec<TransportPlan> =
        serde_json::from_str(transports_json).map_err(|e| PlanError::new_err((String::new(), e.to_string())))?;
    let settings = transports
        .iter()
        .map(|t| Config::with_preset(&t.preset, &t.params).map(|c| tcp(&c)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| PlanError::new_err((e.path, e.message)))?;
    let (class, transport) = (column::<u32>(flows, "class")?, column::<i64>(flows, "transport")?);
    let rows = class.as_slice()?.iter().zip(transport.as_slice()?).enumerate();
    Ok(rows
        .map(|(number, (&class, &transport))| {
            let protocol = usize::try_from(transport).map_or(Protocol::Udp, |t| Protocol::Tcp(settings[t]));
            Flow { number: number as u32, class, protocol }
        })
        .collect())
}

fn tcp(config: &Config) -> TcpSettings {
    TcpSettings {
        segment: config.segment,
        wire: config.wire,
        window: config.max_window,
        sack: config.recovery == Recovery::Sack,
        timestamps: config.timestamps,
    }
}

struct Columns<'py> {
    ns: PyReadonlyArray1<'py, u64>,
    inbound: PyReadonlyArray1<'py, bool>,
    flow: PyReadonlyArray1<'py, u32>,
    seq: PyReadonlyArray1<'py, u32>,
    bytes: PyReadonlyArray1<'py, u32>,
    ack: PyReadonlyArray1<'py, bool>,
    syn: PyReadonlyArray1<'py, bool>,
    ece: PyReadonlyArray1<'py, bool>,
    cwr: PyReadonlyArray1<'py, bool>,
    ecn: PyReadonlyArray1<'py, u8>,
    /// The timestamp of data, or the one that an acknowledgement echoes; -1 for none.
    timestamp: PyReadonlyArray1<'py, i64>,
    /// The blocks of packet `i` are `sack[sack_edges[i]..sack_edges[i + 1]]`.
    sack_edges: PyReadonlyArray1<'py, i64>,
    sack: PyReadonlyArray1<'py, u32>,
}

impl<'py> Columns<'py> {
    fn of(packets: &Bound<'py, PyDict>) -> PyResult<Columns<'py>> {
        Ok(Columns {
            ns: column(packets, "ns")?,
            inbound: column(packets, "inbound")?,
            flow: column(packets, "flow")?,
            seq: column(packets, "seq")?,
            bytes: column(packets, "bytes")?,
            ack: column(packets, "ack")?,
            syn: column(packets, "syn")?,
            ece: column(packets, "ece")?,
            cwr: column(packets, "cwr")?,
            ecn: column(packets, "ecn")?,
            timestamp: column(packets, "timestamp")?,
            sack_edges: column(packets, "sack_edges")?,
            sack: column(packets, "sack")?,
        })
    }

    fn add_to(&self, capture: &mut Capture<impl Write>, flows: &[Flow]) -> PyResult<()> {
        let (ns, inbound, flow) = (self.ns.as_slice()?, self.inbound.as_slice()?, self.flow.as_slice()?);
        let (seq, bytes, ecn) = (self.seq.as_slice()?, self.bytes.as_slice()?, self.ecn.as_slice()?);
        let (ack, syn) = (self.ack.as_slice()?, self.syn.as_slice()?);
        let (ece, cwr) = (self.ece.as_slice()?, self.cwr.as_slice()?);
        let timestamp = self.timestamp.as_slice()?;
        let (edges, sack) = (self.sack_edges.as_slice()?, self.sack.as_slice()?);
        for i in 0..ns.len() {
            let packet = Packet {
                seq: seq[i],
                bytes: bytes[i],
                flags: TcpFlags { ack: ack[i], syn: syn[i], ece: ece[i], cwr: cwr[i] },
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ect1][usize::from(ecn[i])],
                timestamp: u32::try_from(timestamp[i]).ok(),
                sack: &sack[edges[i] as usize..edges[i + 1] as usize],
            };
            let direction = if inbound[i] { Direction::Inbound } else { Direction::Outbound };
            capture.add(ns[i], direction, &flows[flow[i] as usize], &packet)?;
        }
        Ok(())
    }
}

fn column<'py, T: Element>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<PyReadonlyArray1<'py, T>> {
    Ok(dict.as_any().get_item(name)?.extract()?)
}

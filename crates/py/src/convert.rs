//! Converts results to dicts of numpy arrays. Times are in seconds.
//!
//! Keys of what there is for each link are interned: a network has a hundred thousand links.

use marqueue_aqm::Reason;
use marqueue_cc::media::sender::MediaInfo;
use marqueue_cc::path_model::ModelInfo;
use marqueue_cc::Options;
use marqueue_core::{Dur, Ecn, Flags, Packet, Time};
use marqueue_sim::result::{
    CwndResult, FlowTable, FrameRow, LinkResult, LinkWindow, MediaTrace, PipeResult, RateTrace, RunResult, SenderTrace,
    Series,
};
use marqueue_sim::trace::{Trace, TraceKind};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// A whole result.
pub fn result(py: Python<'_>, r: RunResult) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let windows = r.edges.len().saturating_sub(1);
    dict.set_item("edges", seconds(py, &r.edges))?;
    dict.set_item("ended", r.ended.secs())?;
    dict.set_item("events", r.events)?;
    dict.set_item("links", list(py, r.links, link)?)?;
    dict.set_item("pipes", list(py, r.pipes, pipe)?)?;
    dict.set_item("flows", flows(py, r.flows, windows)?)?;
    dict.set_item("traces", list(py, r.traces, trace)?)?;
    dict.set_item("senders", list(py, r.senders, sender)?)?;
    dict.set_item("paced", list(py, r.rate_traces, paced)?)?;
    dict.set_item("media", list(py, r.media, media)?)?;
    dict.set_item("cwnds", list(py, r.cwnds, cwnd)?)?;
    dict.set_item("queue_reports", r.queue_reports)?;
    Ok(dict)
}

/// One metered link.
pub fn link(py: Python<'_>, l: LinkResult) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "link"), l.link)?;
    dict.set_item(intern!(py, "windows"), list(py, l.windows, window)?)?;
    dict.set_item(intern!(py, "series"), series(py, l.series)?)?;
    Ok(dict)
}

fn window(py: Python<'_>, w: LinkWindow) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let c = &w.counters;
    dict.set_item(intern!(py, "arrivals"), c.arrivals)?;
    dict.set_item(intern!(py, "arrived_bytes"), c.arrived_bytes)?;
    dict.set_item(intern!(py, "departures"), c.departures)?;
    dict.set_item(intern!(py, "departed_bytes"), c.departed_bytes)?;
    dict.set_item(intern!(py, "dropped_bytes"), c.dropped_bytes)?;
    dict.set_item(intern!(py, "drops"), by_reason(py, &c.drops)?)?;
    dict.set_item(intern!(py, "marks"), by_reason(py, &c.marks)?)?;
    dict.set_item(intern!(py, "capacity"), w.capacity)?;
    dict.set_item(intern!(py, "used"), w.used)?;
    dict.set_item(intern!(py, "used_by_class"), array(py, w.used_by_class.iter().copied()))?;
    let (lengths, seconds): (Vec<u32>, Vec<f64>) =
        w.queue_times.iter().filter(|&(_, ns)| ns > 0).map(|(length, ns)| (length, ns as f64 / 1e9)).unzip();
    dict.set_item(intern!(py, "queue_times"), (PyArray1::from_vec(py, lengths), PyArray1::from_vec(py, seconds)))?;
    dict.set_item(intern!(py, "delay_sum"), w.delay_sum)?;
    dict.set_item(intern!(py, "delay_sum_sq"), w.delay_sum_sq)?;
    dict.set_item(intern!(py, "jitter_sum"), w.jitter_sum)?;
    let edges = array(py, w.delay_bins.iter().map(|b| b.0 as f64 / 1e9));
    let counts = array(py, w.delay_bins.iter().map(|b| b.1 as i64));
    dict.set_item(intern!(py, "delay_bins"), (edges, counts))?;
    Ok(dict)
}

/// One impaired pipe.
pub fn pipe(py: Python<'_>, p: PipeResult) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("link", p.link)?;
    dict.set_item("packets", array(py, p.windows.iter().map(|w| w.packets)))?;
    dict.set_item("lost", array(py, p.windows.iter().map(|w| w.lost)))?;
    dict.set_item("reordered", array(py, p.windows.iter().map(|w| w.reordered)))?;
    dict.set_item("overtakings", array(py, p.windows.iter().map(|w| w.overtakings)))?;
    dict.set_item("extra_delay", array(py, p.windows.iter().map(|w| w.extra_delay)))?;
    Ok(dict)
}

fn by_reason<'py>(py: Python<'py>, counts: &[u64]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (reason, n) in Reason::ALL.iter().zip(counts) {
        dict.set_item(PyString::intern(py, reason.name()), n)?;
    }
    Ok(dict)
}

/// Samples as columns.
pub fn series(py: Python<'_>, s: Series) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let (probes, units) = (PyDict::new(py), PyDict::new(py));
    for (name, unit, values) in s.probes {
        probes.set_item(name, PyArray1::from_vec(py, values))?;
        units.set_item(name, unit)?;
    }
    dict.set_item(intern!(py, "t"), PyArray1::from_vec(py, s.t))?;
    dict.set_item(intern!(py, "queue"), PyArray1::from_vec(py, s.queue))?;
    dict.set_item(intern!(py, "queue_bytes"), PyArray1::from_vec(py, s.queue_bytes))?;
    dict.set_item(intern!(py, "utilization"), PyArray1::from_vec(py, s.utilization))?;
    dict.set_item(intern!(py, "drops"), PyArray1::from_vec(py, s.drops))?;
    dict.set_item(intern!(py, "marks"), PyArray1::from_vec(py, s.marks))?;
    dict.set_item(intern!(py, "probes"), probes)?;
    dict.set_item(intern!(py, "probe_units"), units)?;
    Ok(dict)
}

/// The reason column of trace rows without a reason.
const NO_REASON: u8 = u8::MAX;

fn trace(py: Python<'_>, (link, trace): (usize, Trace)) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let rows = || trace.rows.iter();
    let packets = || trace.rows.iter().map(|r| &r.packet);
    let sojourn = |d: Dur, kind| if kind == TraceKind::Depart { d.secs() } else { f64::NAN };
    dict.set_item("link", link)?;
    dict.set_item("t", array(py, rows().map(|r| r.t.secs())))?;
    dict.set_item("kind", array(py, rows().map(|r| r.kind as u8)))?;
    dict.set_item("reason", array(py, rows().map(|r| r.reason.map_or(NO_REASON, |x| x as u8))))?;
    dict.set_item("queue", array(py, rows().map(|r| r.queue)))?;
    dict.set_item("sojourn", array(py, rows().map(|r| sojourn(r.sojourn, r.kind))))?;
    dict.set_item("flow", array(py, packets().map(|p| p.flow())))?;
    dict.set_item("seq", array(py, packets().map(|p| p.seq())))?;
    dict.set_item("bytes", array(py, packets().map(|p| p.bytes())))?;
    for (name, flag) in [
        ("ack", Flags::ACK),
        ("syn", Flags::SYN),
        ("ece", Flags::ECE),
        ("cwr", Flags::CWR),
        ("retransmit", Flags::RETRANSMIT),
    ] {
        dict.set_item(name, array(py, packets().map(|p| p.has(flag))))?;
    }
    let ecn = |p: &Packet| match p.ecn() {
        Ecn::NotEct => 0u8,
        Ecn::Ect0 => 1,
        Ecn::Ce => 2,
        Ecn::Ect1 => 3,
    };
    dict.set_item("ecn", array(py, packets().map(ecn)))?;
    dict.set_item("timestamp", array(py, packets().map(|p| timestamp(p, &trace))))?;
    let blocks: Vec<Vec<u32>> = packets().map(|p| sack(p, &trace)).collect();
    dict.set_item("sack_length", array(py, blocks.iter().map(|b| b.len() as u32)))?;
    dict.set_item("sack", array(py, blocks.into_iter().flatten()))?;
    Ok(dict)
}

/// The options of a packet that is an acknowledgement, if it has any.
fn options<'a>(packet: &Packet, trace: &'a Trace) -> Option<&'a Options> {
    let any = packet.has(Flags::ACK) && packet.options() != Packet::NO_OPTIONS;
    any.then(|| &trace.options[packet.options() as usize])
}

/// The timestamp of a packet: its own if it is data, the echoed one if it is an acknowledgement; -1 without any.
fn timestamp(packet: &Packet, trace: &Trace) -> i64 {
    let carried = match packet.has(Flags::ACK) {
        true => options(packet, trace).and_then(|o| o.echo),
        false => Some(packet.options()).filter(|&o| o != Packet::NO_OPTIONS),
    };
    carried.map_or(-1, i64::from)
}

/// The SACK blocks of a packet: start, end, start, end; unused ones are empty.
fn sack(packet: &Packet, trace: &Trace) -> Vec<u32> {
    let blocks = options(packet, trace).map_or(&[][..], |o| &o.sack);
    blocks.iter().filter(|b| b.0 < b.1).flat_map(|b| [b.0, b.1]).collect()
}

/// A table of flows.
pub fn flows(py: Python<'_>, f: FlowTable, windows: usize) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let shape = [f.group.len(), windows];
    dict.set_item("group", PyArray1::from_vec(py, f.group))?;
    dict.set_item("route", PyArray1::from_vec(py, f.route))?;
    dict.set_item("start", seconds(py, &f.start))?;
    dict.set_item("end", seconds(py, &f.end))?;
    dict.set_item("size", PyArray1::from_vec(py, f.size))?;
    dict.set_item("delivered", PyArray1::from_vec(py, f.delivered).reshape(shape)?)?;
    dict.set_item("sent", PyArray1::from_vec(py, f.sent))?;
    dict.set_item("retransmits", PyArray1::from_vec(py, f.retransmits))?;
    dict.set_item("timeouts", PyArray1::from_vec(py, f.timeouts))?;
    dict.set_item("ecn_cuts", PyArray1::from_vec(py, f.ecn_cuts))?;
    if !f.propagation.is_empty() {
        dict.set_item("propagation", array(py, f.propagation.iter().map(|d| d.secs())))?;
    }
    Ok(dict)
}

fn sender(py: Python<'_>, s: SenderTrace) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let shown = || s.rows.iter().map(|r| &r.1);
    dict.set_item("flow", s.flow)?;
    dict.set_item("t", array(py, s.rows.iter().map(|r| r.0.secs())))?;
    dict.set_item("cwnd", array(py, shown().map(|x| x.cwnd)))?;
    dict.set_item("ssthresh", array(py, shown().map(|x| x.ssthresh)))?;
    dict.set_item("rtt", array(py, shown().map(|x| x.rtt.map_or(f64::NAN, Dur::secs))))?;
    dict.set_item("srtt", array(py, shown().map(|x| x.rtt.map_or(f64::NAN, |_| x.srtt))))?;
    dict.set_item("rto", array(py, shown().map(|x| x.rto.secs())))?;
    dict.set_item("model", model(py, &s.models)?)?;
    Ok(dict)
}

/// A variable of a model: its column and how to read it.
type Variable<T> = (&'static str, fn(&ModelInfo) -> T);

/// The model of the path of a sender; empty columns if its window law has none.
fn model<'py>(py: Python<'py>, rows: &[(Time, ModelInfo)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("t", array(py, rows.iter().map(|r| r.0.secs())))?;
    dict.set_item("state", array(py, rows.iter().map(|r| r.1.state as u8)))?;
    let numbers: [Variable<f64>; 9] = [
        ("max_bw", |m| m.max_bw),
        ("bw", |m| m.bw),
        ("min_rtt", |m| m.min_rtt),
        ("pacing_rate", |m| m.pacing_rate),
        ("bw_shortterm", |m| m.bw_shortterm),
        ("inflight_shortterm", |m| m.inflight_shortterm),
        ("inflight_longterm", |m| m.inflight_longterm),
        ("extra_acked", |m| m.extra_acked),
        ("drained", |m| m.drained),
    ];
    for (name, of) in numbers {
        dict.set_item(
            name,
            array(py, rows.iter().map(|r| of(&r.1)).map(|x| if x.is_finite() { x } else { f64::NAN })),
        )?;
    }
    let counts: [Variable<u32>; 6] = [
        ("in_flight", |m| m.in_flight),
        ("delivered", |m| m.delivered),
        ("lost", |m| m.lost),
        ("rounds", |m| m.rounds),
        ("full_bw_count", |m| m.full_bw_count),
        ("spurious", |m| m.spurious),
    ];
    for (name, of) in counts {
        dict.set_item(name, array(py, rows.iter().map(|r| of(&r.1))))?;
    }
    let flags: [Variable<bool>; 3] = [
        ("full_bw_reached", |m| m.full_bw_reached),
        ("idle_restart", |m| m.idle_restart),
        ("app_limited", |m| m.app_limited),
    ];
    for (name, of) in flags {
        dict.set_item(name, array(py, rows.iter().map(|r| of(&r.1))))?;
    }
    Ok(dict)
}

pub fn paced(py: Python<'_>, s: RateTrace) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let bits = f64::from(s.bytes) * 8.0;
    dict.set_item("flow", s.flow)?;
    dict.set_item("t", array(py, s.rows.iter().map(|r| r.0.secs())))?;
    dict.set_item("rate", array(py, s.rows.iter().map(|r| r.1 .0 * bits)))?;
    dict.set_item("price", array(py, s.rows.iter().map(|r| r.1 .1.unwrap_or(f64::NAN))))?;
    Ok(dict)
}

fn media(py: Python<'_>, m: MediaTrace) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("flow", m.flow)?;
    dict.set_item("period", m.period.secs())?;
    let times = |of: fn(&FrameRow) -> Time| m.frames.iter().map(of).collect::<Vec<_>>();
    dict.set_item("made", seconds(py, &times(|frame| frame.made)))?;
    dict.set_item("shown", seconds(py, &times(|frame| frame.shown)))?;
    dict.set_item("bytes", array(py, m.frames.iter().map(|frame| frame.bytes)))?;
    dict.set_item("is_key", array(py, m.frames.iter().map(|frame| frame.is_key)))?;
    dict.set_item("t", array(py, m.rows.iter().map(|r| r.0.secs())))?;
    type Variable = (&'static str, fn(&MediaInfo) -> f64);
    let figures: [Variable; 7] = [
        ("target", |info| info.target),
        ("window", |info| info.window),
        ("in_flight", |info| info.in_flight as f64),
        ("qdelay", |info| info.qdelay),
        ("srtt", |info| info.srtt),
        ("mark_share", |info| info.share_of_marks),
        ("queued", |info| f64::from(info.queued)),
    ];
    for (name, of) in figures {
        dict.set_item(name, array(py, m.rows.iter().map(|r| of(&r.1))))?;
    }
    Ok(dict)
}

fn cwnd(py: Python<'_>, c: CwndResult) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("group", c.group)?;
    dict.set_item("t", PyArray1::from_vec(py, c.t))?;
    dict.set_item("sum", PyArray1::from_vec(py, c.sum))?;
    dict.set_item("variances", PyArray1::from_vec(py, c.variances))?;
    Ok(dict)
}

/// A list of dicts.
pub fn list<'py, T>(
    py: Python<'py>,
    items: Vec<T>,
    convert: impl Fn(Python<'py>, T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        list.append(convert(py, item)?)?;
    }
    Ok(list)
}

fn array<T: Element>(py: Python<'_>, values: impl Iterator<Item = T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, values.collect())
}

/// `Time::NEVER` becomes NaN.
pub fn seconds<'py>(py: Python<'py>, times: &[Time]) -> Bound<'py, PyArray1<f64>> {
    array(py, times.iter().map(|&t| if t == Time::NEVER { f64::NAN } else { t.secs() }))
}

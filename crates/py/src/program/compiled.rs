//! AQMs that Numba has compiled (`marqueue.aqm(jit=True)`): calls their hooks as functions of C, without the interpreter.
//!
//! This is the only file of the crate with unsafe code. It calls addresses that `marqueue/programs/compiled.py` got from
//! Numba for exactly these signatures ([`Decide`], [`Wait`]), and gives them pointers to memory that lives as long as the
//! call. The compiled code is freed with the object that [`Compiled`] holds.

#![allow(unsafe_code, reason = "a call of a function that is known by its address has no safe form")]

use super::shared::{interned, keywords, Place, Shared, MODULE};
use marqueue_aqm::program::Program;
use marqueue_aqm::{Context, Env, Reason, Verdict};
use marqueue_core::params::PolicySpec;
use marqueue_core::{Dur, Packet, Rng, Time};
use pyo3::prelude::*;
use std::sync::Arc;

/// The packet, as `compiled.py` describes it to Numba. Times are in ns: compiled code divides those that a hook reads, and
/// most hooks read none. Two divisions for each packet were half of what this file cost.
#[repr(C)]
#[derive(Debug, Default)]
struct PacketRecord {
    size: i64,
    flow: i64,
    seq: i64,
    ecn: i64,
    dscp: i64,
    sojourn: i64,
}

/// The queue, likewise.
#[repr(C)]
#[derive(Debug, Default)]
struct QueueRecord {
    packets: i64,
    bytes: i64,
    delay: i64,
    rate: f64,
    mean_packet: i64,
    limit: f64,
    is_full: i64,
    /// Address of the random stream, for [`uniform`].
    stream: usize,
}

/// `on_arrival` and `on_departure`: packet, queue, the object's variables, the time (ns). Returns a verdict.
type Decide = unsafe extern "C" fn(*mut PacketRecord, *mut QueueRecord, *mut f64, i64) -> i64;

/// `start` and `on_timer`: queue, the object's variables, the time (ns). Returns the seconds to the next call.
type Wait = unsafe extern "C" fn(*mut QueueRecord, *mut f64, i64) -> f64;

/// The next number of the random stream at this address: `queue.uniform()` of compiled code.
extern "C" fn uniform(stream: usize) -> f64 {
    // SAFETY: `QueueRecord::fill` wrote the address of a stream that is borrowed mutably for as long as the hook runs.
    unsafe { (*(stream as *mut Rng)).uniform() }
}

/// The address of `uniform`, for Numba.
#[pyfunction]
pub fn uniform_address() -> usize {
    uniform as extern "C" fn(usize) -> f64 as usize
}

/// A hook that decides about packets, from its address; 0 for none.
fn decide_at(address: usize) -> Option<Decide> {
    // SAFETY: `compiled.py` compiled what is at this address with this signature.
    (address != 0).then(|| unsafe { std::mem::transmute::<usize, Decide>(address) })
}

fn wait_at(address: usize) -> Option<Wait> {
    // SAFETY: as above.
    (address != 0).then(|| unsafe { std::mem::transmute::<usize, Wait>(address) })
}

impl QueueRecord {
    fn fill(&mut self, cx: &mut Context<'_>) {
        self.packets = i64::from(cx.packets());
        self.bytes = cx.bytes() as i64;
        self.delay = cx.queue.age(cx.now).0 as i64;
        self.rate = cx.env.rate.0 as f64;
        self.stream = std::ptr::from_mut(&mut *cx.rng) as usize;
    }
}

/// What a hook returns that has raised an error.
const RAISED: i64 = -1;

/// A compiled class as the policy of a queue.
#[derive(Debug)]
pub struct Compiled {
    name: String,
    /// Keeps the compiled code.
    _code: Py<PyAny>,
    on_arrival: Option<Decide>,
    on_departure: Option<Decide>,
    on_timer: Option<Wait>,
    /// Parameters, probes and other variables of the object.
    variables: Vec<f64>,
    probes: &'static [(&'static str, &'static str)],
    /// Where each probe is among the variables.
    probed: Vec<usize>,
    packet: PacketRecord,
    queue: QueueRecord,
    timer: Time,
    arrivals: u64,
    shared: Arc<Shared>,
}

/// What `compiled.py` says of a class: addresses of start, on_arrival, on_departure and on_timer; variables; positions of the
/// probes among them; the compiled code.
type Description = ([usize; 4], Vec<f64>, Vec<usize>, Vec<(String, String)>, Py<PyAny>);

impl Compiled {
    /// An object of the class that `spec` names, for an empty queue in `env`.
    pub fn new(py: Python<'_>, spec: &PolicySpec, env: &Env, shared: Arc<Shared>) -> PyResult<Compiled> {
        let described = py.import(MODULE)?.getattr("describe")?.call1((&spec.name, keywords(py, spec)?))?;
        let (addresses, variables, probed, probes, code): Description = described.extract()?;
        let [start, on_arrival, on_departure, on_timer] = addresses;
        let mut made = Compiled {
            name: spec.name.clone(),
            _code: code,
            on_arrival: decide_at(on_arrival),
            on_departure: decide_at(on_departure),
            on_timer: wait_at(on_timer),
            variables,
            probes: interned(probes),
            probed,
            packet: PacketRecord::default(),
            queue: QueueRecord {
                rate: env.rate.0 as f64,
                mean_packet: env.mean_packet.0 as i64,
                limit: env.limit.packets(env.mean_packet),
                ..QueueRecord::default()
            },
            timer: Time::NEVER,
            arrivals: 0,
            shared,
        };
        if let Some(start) = wait_at(start) {
            // A draw at the start would need the queue's stream, which is not there yet.
            let mut none = Rng::named(0, "");
            made.queue.stream = std::ptr::from_mut(&mut none) as usize;
            // SAFETY: see [`Compiled::wait`].
            let first = unsafe { start(&mut made.queue, made.variables.as_mut_ptr(), 0) };
            made.timer = made.due("start", Time::ZERO, first);
        }
        Ok(made)
    }

    fn place(&self, hook: &str, now: Time) -> Place {
        Place::new(&self.name, hook, self.arrivals, "packets", now)
    }

    /// The time of the next timer, after so many seconds; infinity for never.
    fn due(&self, hook: &str, now: Time, seconds: f64) -> Time {
        if seconds == f64::INFINITY {
            return Time::NEVER;
        }
        if (1e-9..1e9).contains(&seconds) {
            return now + Dur::from_secs(seconds);
        }
        let expected = "the seconds to the next call of on_timer, above zero, or math.inf (NaN may be an error that \
                        it raised, which shows without jit=True)";
        self.shared.fail_with(|py| self.place(hook, now).nonsense(py, &seconds.to_string(), expected));
        Time::NEVER
    }

    fn decide(
        &mut self,
        hook: Option<Decide>,
        name: &str,
        cx: &mut Context<'_>,
        packet: &Packet,
        sojourn: Dur,
    ) -> Verdict {
        let Some(hook) = hook else { return Verdict::Pass };
        if self.shared.has_failed() {
            return Verdict::Pass;
        }
        self.packet = PacketRecord {
            size: i64::from(packet.bytes()),
            flow: i64::from(packet.flow()),
            seq: i64::from(packet.seq()),
            ecn: packet.ecn() as i64,
            dscp: i64::from(packet.dscp().value()),
            sojourn: sojourn.0 as i64,
        };
        self.queue.fill(cx);
        // SAFETY: the records and the variables are this object's, and the stream is borrowed by `cx`; nothing else uses
        // them during the call. Numba was told their layout.
        let verdict = unsafe { hook(&mut self.packet, &mut self.queue, self.variables.as_mut_ptr(), cx.now.0 as i64) };
        match verdict {
            0 => Verdict::Pass,
            1 => Verdict::Mark(Reason::Early),
            2 => Verdict::Drop(Reason::Early),
            RAISED => {
                let expected = "a verdict: it raised an error, which shows without jit=True";
                self.shared.fail_with(|py| self.place(name, cx.now).nonsense(py, "nothing", expected));
                Verdict::Pass
            }
            other => {
                let expected = "marqueue.PASS, marqueue.MARK or marqueue.DROP";
                self.shared.fail_with(|py| self.place(name, cx.now).nonsense(py, &other.to_string(), expected));
                Verdict::Pass
            }
        }
    }
}

impl Program for Compiled {
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.arrivals += 1;
        self.queue.is_full = i64::from(cx.is_full(packet));
        self.decide(self.on_arrival, "on_arrival", cx, packet, Dur::ZERO)
    }

    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        self.queue.is_full = 0;
        self.decide(self.on_departure, "on_departure", cx, packet, sojourn)
    }

    fn next_timer(&self) -> Time {
        self.timer
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.timer = Time::NEVER;
        let Some(hook) = self.on_timer.filter(|_| !self.shared.has_failed()) else { return };
        self.queue.fill(cx);
        // SAFETY: as in `decide`.
        let seconds = unsafe { hook(&mut self.queue, self.variables.as_mut_ptr(), cx.now.0 as i64) };
        self.timer = self.due("on_timer", cx.now, seconds);
    }

    fn probes(&self) -> &'static [(&'static str, &'static str)] {
        self.probes
    }

    fn probe(&self, _: Time, _: &Env, out: &mut Vec<f64>) {
        out.extend(self.probed.iter().map(|&i| self.variables[i]));
    }
}

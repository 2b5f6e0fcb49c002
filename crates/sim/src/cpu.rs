//! A CPU: cores that serve one queue. The service time of a packet is its processing time.

use crate::plan::{CpuPlan, WorkPlan};
use marqueue_aqm::Env;
use marqueue_core::{Dur, Packet, Time};

/// State of a CPU.
#[derive(Debug)]
pub struct Cpu {
    clock: u64,
    cores: Vec<Core>,
    classes: Vec<Class>,
}

/// One core.
#[derive(Clone, Debug, Default)]
struct Core {
    /// When it becomes or became free.
    free: Time,
    /// Remainder carried from the packets of this busy period, in units of 1/clock ns.
    carried: u64,
}

/// The processing model of a class, with size and time of its last packet as a cache: most packets are alike.
#[derive(Clone, Debug)]
struct Class {
    work: WorkPlan,
    bytes: u32,
    time: ProcessingTime,
}

/// The processing time of one packet.
#[derive(Clone, Copy, Debug, Default)]
struct ProcessingTime {
    cycles: f64,
    /// Whole nanoseconds, and the remainder in units of 1/clock ns.
    ns: u64,
    rest: u64,
}

/// The service of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// When its processing ends.
    pub done: Time,
    /// When the next core is free.
    pub free: Time,
    /// Cycles of its processing.
    pub cycles: f64,
}

impl Cpu {
    /// An idle CPU.
    pub fn new(plan: &CpuPlan) -> Cpu {
        Cpu {
            clock: plan.clock.0,
            cores: vec![Core::default(); plan.cores as usize],
            classes: plan
                .work
                .iter()
                .map(|&work| Class { work, bytes: 0, time: processing_time(work, 0, plan.clock.0) })
                .collect(),
        }
    }

    /// Cycles a second of all cores.
    pub fn speed(&self) -> f64 {
        self.clock as f64 * self.cores.len() as f64
    }

    /// Cycles left for packets in service.
    pub fn ahead(&self, now: Time) -> f64 {
        self.cores.iter().map(|core| core.free.since(now).secs()).sum::<f64>() * self.clock as f64
    }

    /// The core that became free first takes `packet` at `now`; the densities in `env` learn its cycles. Not inlined,
    /// because links share the caller.
    #[inline(never)]
    pub fn process(&mut self, now: Time, packet: &Packet, env: &mut Env) -> Served {
        let class = &mut self.classes[usize::from(packet.class())];
        if class.bytes != packet.bytes() {
            (class.bytes, class.time) = (packet.bytes(), processing_time(class.work, packet.bytes(), self.clock));
        }
        let ProcessingTime { cycles, ns, rest } = class.time;
        if let Some(densities) = &mut env.densities {
            densities.measured(packet.class(), cycles / (8.0 * f64::from(packet.bytes())));
        }
        let core = self.cores.iter_mut().min_by_key(|core| core.free).expect("a CPU has a core");
        if core.free < now {
            core.carried = 0;
        }
        let carried = core.carried + rest;
        let over = u64::from(carried >= self.clock);
        core.carried = carried - over * self.clock;
        core.free = now + Dur(ns + over);
        let done = core.free;
        let free = self.cores.iter().map(|core| core.free).min().unwrap_or(done).max(now);
        Served { done, free, cycles }
    }
}

/// The processing time of a packet of `bytes`: mu + nu M of Shin et al., equation (1).
fn processing_time(work: WorkPlan, bytes: u32, clock: u64) -> ProcessingTime {
    let micro_cycles = u128::from(work.per_bit.0) * u128::from(bytes) * 8 + u128::from(work.per_packet.0);
    // A millionth of a cycle takes 1000/clock ns.
    let scaled = micro_cycles * 1000;
    let ns = u64::try_from(scaled / u128::from(clock)).unwrap_or(u64::MAX).min(u64::MAX - 1);
    ProcessingTime { cycles: micro_cycles as f64 / 1e6, ns, rest: (scaled % u128::from(clock)) as u64 }
}

//! A run that a page advances and watches.

use crate::samples::{FlowSamples, LinkSamples, PacketEvents};
use crate::{parse, summary};
use marqueue_aqm::Qdisc;
use marqueue_core::{Dur, Time};
use marqueue_sim::plan::Plan;
use marqueue_sim::Progress;
use wasm_bindgen::prelude::*;

/// The memory that a run may take. WebAssembly has 4 GiB, in which buffers that grow are there twice for a moment.
const MOST_BYTES: f64 = 2e9;
/// Packet events between two calls of [`Run::clear_packets`].
const MOST_PACKETS: usize = 20_000;

/// A run in the page.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Run {
    plan: Plan,
    run: Option<marqueue_sim::Run>,
    step: Dur,
    next_sample: Time,
    links: Vec<(usize, LinkSamples)>,
    flows: FlowSamples,
    traced: Option<usize>,
    packets: PacketEvents,
    finished: bool,
}

#[wasm_bindgen]
impl Run {
    /// A run of a plan (JSON) at time zero. It is sampled every `step` seconds in place of what the plan says; `traced` is
    /// the index of the link whose packets are recorded, `flows` are the rows of the flows that are sampled.
    ///
    /// # Errors
    /// If the plan is invalid, or if it would take too much memory.
    #[wasm_bindgen(constructor)]
    pub fn new(plan: &str, seed: u64, step: f64, traced: Option<usize>, flows: Vec<u32>) -> Result<Run, String> {
        let mut plan = parse(plan).map_err(|e| e.to_string())?;
        // Samples leave the engine as they are taken.
        plan.sample = Dur::ZERO;
        let bytes = marqueue_sim::estimated_bytes(&plan, false);
        if bytes > MOST_BYTES {
            let (needed, most) = (bytes / 1e9, MOST_BYTES / 1e9);
            return Err(format!(
                "this run needs about {needed:.1} GB, expected at most {most} GB: the memory of WebAssembly is limited; \
                 the command `marqueue run` has no such limit"
            ));
        }
        plan.sample = Dur::from_secs(step);
        if plan.sample == Dur::ZERO {
            return Err(format!("sampleStep: got {step}, expected more than 0 s"));
        }
        for (i, link) in plan.links.iter_mut().enumerate() {
            link.trace = traced == Some(i);
        }
        let run = marqueue_sim::Run::new(&plan, seed).map_err(|e| e.to_string())?;
        let measured = plan.links.iter().enumerate().filter(|(_, link)| link.queue.is_some());
        Ok(Run {
            links: measured.map(|(i, _)| (i, LinkSamples::new(i))).collect(),
            step: plan.sample,
            next_sample: Time::ZERO + plan.sample,
            flows: FlowSamples::new(flows),
            traced,
            packets: PacketEvents::default(),
            finished: false,
            run: Some(run),
            plan,
        })
    }

    /// Processes up to `events` events until simulated time `until`, s. Returns whether that time, or the end, was
    /// reached.
    pub fn advance(&mut self, until: f64, events: u32) -> bool {
        let Some(run) = &mut self.run else { return true };
        let until = Time::ZERO + Dur::from_secs(until);
        let stop = run.events() + u64::from(events);
        while !self.finished {
            let left = stop.saturating_sub(run.events()).max(1) as u32;
            let target = self.next_sample.min(until);
            match run.advance_until(target, left) {
                // At the instant of a sample the run goes on: the engine may have taken its part of it.
                Progress::Spent if run.now() == target => continue,
                Progress::Spent => return false,
                Progress::Reached => {}
                Progress::Ended => self.finished = true,
            }
            if target == self.next_sample && target <= self.plan.duration {
                self.links.iter_mut().for_each(|(_, samples)| samples.take(run));
                self.flows.take(run, target);
                if let Some(link) = self.traced {
                    self.packets.take(run, link, MOST_PACKETS);
                }
                self.next_sample += self.step;
            }
            if target == until {
                break;
            }
        }
        true
    }

    /// Simulated time, s.
    pub fn now(&self) -> f64 {
        self.run.as_ref().map_or(self.plan.duration, marqueue_sim::Run::now).secs()
    }

    /// Events so far.
    pub fn events(&self) -> f64 {
        self.run.as_ref().map_or(0, marqueue_sim::Run::events) as f64
    }

    /// Packets that have left the measured queues.
    pub fn departures(&mut self) -> f64 {
        let Some(run) = &mut self.run else { return 0.0 };
        self.links.iter().filter_map(|&(i, _)| Some(run.queue(i)?.qdisc.counters().departures)).sum::<u64>() as f64
    }

    /// Has the run ended?
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// Indices of the measured links.
    pub fn links(&self) -> Vec<u32> {
        self.links.iter().map(|&(i, _)| i as u32).collect()
    }

    /// The names of the columns of the `n`-th measured link.
    pub fn columns(&mut self, n: usize) -> Vec<String> {
        let link = self.links.get(n).map(|&(i, _)| i);
        let probes = link.and_then(|i| self.run.as_mut()?.queue(i)).map(|queue| queue.qdisc.probes().to_vec());
        ["t", "queue", "sojourn", "drops", "marks", "utilization"]
            .into_iter()
            .chain(probes.into_iter().flatten().map(|(name, _)| name))
            .map(Into::into)
            .collect()
    }

    /// The samples of the `n`-th measured link since the last call: the columns one after the other.
    pub fn take_link(&mut self, n: usize) -> Vec<f64> {
        match (self.links.get_mut(n), &mut self.run) {
            (Some((_, samples)), Some(run)) => samples.columns(run),
            _ => Vec::new(),
        }
    }

    /// The samples of the flows since the last call: t, then window (packets) and rate (bit/s) of each.
    pub fn take_flows(&mut self) -> Vec<f64> {
        self.flows.columns()
    }

    /// Times of the packet events since [`Run::clear_packets`], s.
    pub fn packet_times(&self) -> Vec<f64> {
        self.packets.times()
    }

    /// Their flows.
    pub fn packet_flows(&self) -> Vec<i32> {
        self.packets.flows()
    }

    /// What they are: 0 enqueued, 1 dequeued, 2 dropped, 3 marked.
    pub fn packet_kinds(&self) -> Vec<u8> {
        self.packets.kinds()
    }

    /// Forgets the packet events. Returns the number of those that did not fit since the last call.
    pub fn clear_packets(&mut self) -> u32 {
        self.packets.clear()
    }

    /// Ends the run and returns its figures from time `from` (s) on as JSON.
    ///
    /// # Errors
    /// If it was called before.
    pub fn summary(&mut self, from: f64) -> Result<String, String> {
        let run = self.run.take().ok_or("the run has been summed up already")?;
        self.finished = true;
        Ok(summary::summary(&self.plan, &run.finish(), Time::ZERO + Dur::from_secs(from)).to_string())
    }
}

//! The description of a fluid model in base units. Python writes it as JSON.

use super::aqm::{Aqm, LinkParameters, Policy};
use super::invalid::{ensure, positive, Invalid};
use super::law::Law;
use serde::{Deserialize, Serialize};

/// A network of queues and the flows that cross them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The queues.
    pub links: Vec<Link>,
    /// The classes of flows.
    pub classes: Vec<Class>,
}

/// A queue and its server. Its unit of work is a packet of the link's mean size; at a CPU, the work of a packet of mean
/// size and mean density.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name, unique.
    pub name: String,
    /// Capacity, packets/s.
    pub capacity: f64,
    /// Buffer, packets; `None` for an unlimited one.
    #[serde(default)]
    pub buffer: Option<f64>,
    /// How marks are conveyed to senders.
    pub signal: Signal,
    /// The AQM.
    pub aqm: Policy,
    /// Changes of the capacity: time, s, increasing, and new capacity, packets/s.
    #[serde(default)]
    pub schedule: Vec<(f64, f64)>,
    /// The queue at the beginning, packets.
    #[serde(default)]
    pub queue: f64,
}

impl Link {
    /// The parameters of the link that its AQM uses.
    pub fn parameters(&self) -> LinkParameters {
        LinkParameters {
            capacity: self.capacity,
            buffer: self.buffer.unwrap_or(f64::INFINITY),
            queue: self.queue,
            changes: self.schedule.len(),
        }
    }
}

/// How marks are conveyed to senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// By a mark in the packet.
    Ecn,
    /// By a drop.
    Drop,
}

/// Equal flows on one route.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name, unique.
    pub name: String,
    /// Number of flows.
    pub count: f64,
    /// Their law.
    pub law: Law,
    /// Round trip without queueing, s.
    pub rtt: f64,
    /// The queues that its packets cross, in order.
    pub route: Vec<Hop>,
    /// Window or rate of a flow as it starts, in the unit of the law.
    pub initial: f64,
    /// When the first flow starts, s.
    #[serde(default)]
    pub start: f64,
    /// The time over which starts are spread, s.
    #[serde(default)]
    pub jitter: f64,
    /// When they stop, s.
    #[serde(default)]
    pub stop: Option<f64>,
}

/// A queue on a route.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Index of the link.
    pub link: usize,
    /// The delay from the source to the queue, without queueing, s. If it is 0 at the first queue, times of the class
    /// are those at that queue.
    #[serde(default)]
    pub before: f64,
    /// The size of one of its packets in packets of the link.
    #[serde(default = "one")]
    pub size: f64,
    /// The factor by which DRQ multiplies its price: cycles a bit at a CPU, 1 elsewhere.
    #[serde(default = "one")]
    pub density: f64,
}

fn one() -> f64 {
    1.0
}

impl Description {
    /// Checks all values.
    ///
    /// # Errors
    /// Names the first invalid value.
    pub fn check(&self) -> Result<(), Invalid> {
        for (l, link) in self.links.iter().enumerate() {
            let at = |field: &str| format!("links.{l}.{field}");
            positive(at("capacity"), link.capacity)?;
            let buffer = link.buffer.unwrap_or(f64::INFINITY);
            ensure(at("buffer"), buffer, buffer > 0.0, "above 0 packets")?;
            ensure(at("queue"), link.queue, (0.0..=buffer).contains(&link.queue), "from 0 to the buffer")?;
            let mut previous = 0.0;
            for (k, &(t, capacity)) in link.schedule.iter().enumerate() {
                ensure(at(&format!("schedule.{k}.0")), t, t > previous && t.is_finite(), "a later time")?;
                positive(at(&format!("schedule.{k}.1")), capacity)?;
                previous = t;
            }
            link.aqm.check(&link.parameters()).map_err(|e| Invalid { path: at(&format!("aqm.{}", e.path)), ..e })?;
        }
        for (c, class) in self.classes.iter().enumerate() {
            let at = |field: &str| format!("classes.{c}.{field}");
            positive(at("count"), class.count)?;
            positive(at("rtt"), class.rtt)?;
            positive(at("initial"), class.initial)?;
            ensure(at("start"), class.start, class.start >= 0.0 && class.start.is_finite(), "from 0 s")?;
            ensure(at("jitter"), class.jitter, class.jitter >= 0.0 && class.jitter.is_finite(), "from 0 s")?;
            let stop = class.stop.unwrap_or(f64::INFINITY);
            ensure(at("stop"), stop, stop >= class.start + class.jitter, "not before the last start")?;
            let mut previous = 0.0;
            for (k, hop) in class.route.iter().enumerate() {
                let at = |field: &str| at(&format!("route.{k}.{field}"));
                let known = hop.link < self.links.len();
                ensure(at("link"), hop.link as f64, known, &format!("below {}", self.links.len()))?;
                let inside = (previous..=class.rtt).contains(&hop.before);
                ensure(at("before"), hop.before, inside, "from that of the previous queue to the round trip")?;
                positive(at("size"), hop.size)?;
                positive(at("density"), hop.density)?;
                previous = hop.before;
            }
        }
        Ok(())
    }
}

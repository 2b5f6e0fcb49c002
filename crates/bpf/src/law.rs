//! What an AQM of the kernel is to its loader: where it can be, and how its parameters and its state are words of the maps
//! `setup` and `state` of its program.

use crate::arrival::{Arrival, Fate};
use crate::cgroup::CgroupWeight;
use crate::hook::Hook;
use marqueue_core::params::{ParamSet, PolicySpec};

/// Where an AQM can be, and what it goes by there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At both hooks of tc, by arrivals alone.
    EitherHook,
    /// At egress, in front of the root qdisc, by its queue.
    Egress,
    /// At egress by the queue of the root qdisc, and at ingress, the edge of a network, by nothing.
    EgressAndEdge,
    /// The root qdisc, which drops packets out of its queue.
    Root,
}

impl Place {
    /// Is it at this hook, rather than a qdisc?
    pub fn has(self, hook: Hook) -> bool {
        match self {
            Place::EitherHook | Place::EgressAndEdge => true,
            Place::Egress => hook == Hook::Egress,
            Place::Root => false,
        }
    }

    /// Does it ask for the queue of the root qdisc at this hook?
    pub fn needs_queue(self, hook: Hook) -> bool {
        hook == Hook::Egress && matches!(self, Place::Egress | Place::EgressAndEdge)
    }
}

/// The shaper at a device, as the hook is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Shaper {
    /// Its rate, bit/s, if it is known.
    pub rate: Option<u64>,
    /// Bytes of a packet, where parameters are in packets.
    pub packet: u64,
    /// The buffer of a qdisc, or the one that AVQ's virtual queue has unless it is told another, bytes.
    pub buffer: u64,
}

impl Shaper {
    /// The rate, bit/s, of an AQM that goes by it.
    ///
    /// # Errors
    /// If it is not known.
    pub fn known_rate(&self) -> Result<u64, String> {
        let rate = self.rate.filter(|rate| *rate > 0);
        rate.ok_or_else(|| "rate: missing, expected that of the shaper at the device".into())
    }
}

/// A parameter of the simulator that has one value in the kernel, and why.
pub type Fixed = (&'static str, &'static str);

/// The unit of a queue, where it is not a choice.
pub const IN_BYTES: Fixed = ("mode", "the kernel counts in bytes");

/// The parameters of an AQM: `struct law` of its program.
pub trait Parameters: Sized {
    /// Where it can be.
    const PLACE: Place;

    /// Parameters of the simulator that have one value in the kernel.
    const FIXED: &'static [Fixed] = &[];

    /// Reads parameters as scenarios have them, for a hook; a qdisc's are those of egress.
    ///
    /// # Errors
    /// If a parameter is unknown, missing, or out of range.
    fn read(spec: &PolicySpec, shaper: Shaper, hook: Hook) -> Result<Self, String>;

    /// The rate of the shaper, bit/s, if the AQM goes by it.
    fn rate(&self) -> Option<f64>;

    /// By name, in the units of scenarios, as rounded.
    fn values(&self) -> Vec<(String, f64)>;

    /// The words of `struct law`.
    fn words(&self) -> Vec<u64>;

    /// The reverse of [`Parameters::words`]; `None` if they are not those of this AQM.
    fn from_words(words: &[u64]) -> Option<Self>;

    /// The weights by cgroup, if the AQM can have such.
    fn cgroups(&self) -> Option<&[CgroupWeight]> {
        None
    }

    /// Sets the weights by cgroup; has no effect on an AQM without.
    fn set_cgroups(&mut self, _: Vec<CgroupWeight>) {}
}

/// The state of an AQM: `struct state` of its program.
pub trait Variables: Default {
    /// The parameters of this AQM.
    type Law: Parameters;

    /// The state from the flag beside the lock, and the words behind both; `None` if there are not as many. A qdisc has no
    /// lock and no flag.
    fn from_words(flag: bool, words: &[u64]) -> Option<Self>;

    /// By name: rates in bit/s, queues in bytes, probabilities, prices.
    fn values(&self, law: &Self::Law) -> Vec<(&'static str, f64)>;

    /// What becomes of a packet that arrives at a hook; `None` if the AQM has other answers than those of [`Fate`].
    fn fate(&mut self, _: &Self::Law, _: Arrival) -> Option<Fate> {
        None
    }
}

/// The parameters that the simulator's AQM has.
///
/// # Errors
/// If one is unknown or out of range.
pub fn simulated<P: ParamSet>(spec: &PolicySpec) -> Result<P, String> {
    P::from_values(&spec.params).map_err(|error| error.to_string())
}

/// Names as strings.
pub fn named(values: Vec<(&'static str, f64)>) -> Vec<(String, f64)> {
    values.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

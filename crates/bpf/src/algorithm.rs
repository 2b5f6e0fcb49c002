//! The AQMs of this crate by name. Each is a file that implements [`Parameters`] and [`Variables`], and a line in the list
//! below; `c/NAME.bpf.c` has its programs.

use crate::arrival::{Arrival, Fate};
use crate::cgroup;
use crate::hook::Hook;
use crate::law::{Parameters, Variables};
use marqueue_core::params::PolicySpec;
use std::path::PathBuf;

pub use crate::law::{Place, Shaper};

/// Makes of a list of modules, each with its state and its parameters, what goes by the name of an AQM.
macro_rules! aqms {
    ($($module:ident::{$state:ident, $params:ident},)*) => {
        $(use crate::$module::{$state, $params};)*

        /// Names of the AQMs, as in scenarios, and where each can be.
        pub const AQMS: &[(&str, Place)] = &[$((stringify!($module), $params::PLACE)),*];

        /// The object file of each AQM.
        #[cfg(programs)]
        pub(crate) const OBJECTS: &[(&str, &[u8])] = &[
            $((stringify!($module), include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($module), ".bpf.o")))),*
        ];

        /// The parameters of an AQM.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Law {
            $(
                #[doc = concat!("Those of `", stringify!($module), "`.")]
                $state($params),
            )*
        }

        impl Law {
            /// Reads parameters as scenarios have them, for a hook; a qdisc's are those of egress.
            ///
            /// # Errors
            /// If there is no such AQM here, or a parameter is unknown, missing, out of range, or without effect in the kernel.
            pub fn read(spec: &PolicySpec, shaper: Shaper, hook: Hook) -> Result<Law, String> {
                match spec.name.as_str() {
                    $(stringify!($module) => read::<$params>(spec, shaper, hook).map(Law::$state),)*
                    other => {
                        let names: Vec<_> = names().collect();
                        Err(format!("aqm: got \"{other}\", expected one of {}", names.join(", ")))
                    }
                }
            }

            /// The name of the AQM.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Law::$state(_) => stringify!($module)),*
                }
            }

            /// Where it can be.
            pub fn place(&self) -> Place {
                match self {
                    $(Law::$state(_) => $params::PLACE),*
                }
            }

            /// The rate of the shaper, bit/s, if the AQM goes by it.
            pub fn rate(&self) -> Option<f64> {
                match self {
                    $(Law::$state(law) => Parameters::rate(law)),*
                }
            }

            /// Parameters by name, in the units of scenarios, as rounded to integers.
            pub fn values(&self) -> Vec<(String, f64)> {
                match self {
                    $(Law::$state(law) => Parameters::values(law)),*
                }
            }

            /// The words of `struct law`.
            pub fn words(&self) -> Vec<u64> {
                match self {
                    $(Law::$state(law) => Parameters::words(law)),*
                }
            }

            /// The reverse of [`Law::words`]; `None` if they are not those of this AQM.
            pub fn from_words(name: &str, words: &[u64]) -> Option<Law> {
                match name {
                    $(stringify!($module) => <$params as Parameters>::from_words(words).map(Law::$state),)*
                    _ => None,
                }
            }

            /// The state before the first packet.
            pub fn start(&self) -> State {
                match self {
                    $(Law::$state(_) => State::$state($state::default())),*
                }
            }

            /// Gives packets weights by the cgroup of their socket, in place of those by code point: paths and weights.
            ///
            /// # Errors
            /// Those of [`cgroup::read`], or if the AQM has no such weights.
            pub fn weigh_cgroups(mut self, given: &[(PathBuf, f64)]) -> Result<Law, String> {
                if given.is_empty() {
                    return Ok(self);
                }
                match &mut self {
                    $(Law::$state(law) if law.cgroups().is_some() => law.set_cgroups(cgroup::read(given)?),)*
                    other => {
                        return Err(format!("cgroup-weight: got one, expected none: {} has no weights by cgroup", other.name()))
                    }
                }
                Ok(self)
            }

            /// Does the AQM ask which cgroup a packet's socket is in?
            pub fn asks_for_cgroups(&self) -> bool {
                match self {
                    $(Law::$state(law) => law.cgroups().is_some_and(|each| !each.is_empty())),*
                }
            }
        }

        /// The state of an AQM; of a qdisc without the places of its queue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum State {
            $(
                #[doc = concat!("That of `", stringify!($module), "`.")]
                $state($state),
            )*
        }

        impl State {
            /// What becomes of a packet that arrives at a hook of tc; `None` if the AQM has other answers than those of [`Fate`].
            ///
            /// # Panics
            /// If the law is of another AQM.
            pub fn fate(&mut self, law: &Law, packet: Arrival) -> Option<Fate> {
                match (self, law) {
                    $((State::$state(state), Law::$state(law)) => Variables::fate(state, law, packet),)*
                    (state, law) => panic!("{law:?} for {state:?}"),
                }
            }

            /// The state from `struct state`: the flag beside the lock, and the words behind both. A qdisc has no lock and no
            /// flag.
            ///
            /// # Panics
            /// If the number of words is not that of this AQM.
            pub fn from_words(name: &str, flag: bool, words: &[u64]) -> State {
                let read = match name {
                    $(stringify!($module) => <$state as Variables>::from_words(flag, words).map(State::$state),)*
                    _ => None,
                };
                read.unwrap_or_else(|| panic!("a state of {name}, not of {} words", words.len()))
            }

            /// Variables by name: rates in bit/s, queues in bytes, probabilities, prices.
            ///
            /// # Panics
            /// If the law is of another AQM.
            pub fn values(&self, law: &Law) -> Vec<(&'static str, f64)> {
                match (self, law) {
                    $((State::$state(state), Law::$state(law)) => Variables::values(state, law),)*
                    (state, law) => panic!("{law:?} for {state:?}"),
                }
            }
        }
    };
}

aqms! {
    avq::{Avq, AvqParams},
    red::{Red, RedParams},
    pi::{Pi, PiParams},
    scaled::{Scaled, ScaledParams},
    mkc::{Mkc, MkcParams},
    drq::{Drq, DrqParams},
    chokew::{ChokeW, ChokeWParams},
}

/// Names of the AQMs.
pub fn names() -> impl Iterator<Item = &'static str> {
    AQMS.iter().map(|(name, _)| *name)
}

/// Names of those that can be at a hook of tc.
pub fn at(hook: Hook) -> impl Iterator<Item = &'static str> {
    AQMS.iter().filter(move |(_, place)| place.has(hook)).map(|(name, _)| *name)
}

/// Names of those that are the root qdisc of a device.
pub fn qdiscs() -> impl Iterator<Item = &'static str> {
    AQMS.iter().filter(|(_, place)| *place == Place::Root).map(|(name, _)| *name)
}

/// Does an AQM go by the queue of the root qdisc at this hook? False without such an AQM.
pub fn needs_queue(name: &str, hook: Hook) -> bool {
    AQMS.iter().any(|(each, place)| *each == name && place.needs_queue(hook))
}

fn read<L: Parameters>(spec: &PolicySpec, shaper: Shaper, hook: Hook) -> Result<L, String> {
    match L::FIXED.iter().find(|(name, _)| spec.params.contains_key(*name)) {
        Some((name, fixed)) => Err(format!("{name}: got a value, expected none: {fixed}")),
        None => L::read(spec, shaper, hook),
    }
}

//! The registration list: one line an algorithm.

use crate::policy::{Aqm, Env, Reason};
use crate::qdisc::{Counters, Fate, Qdisc, Single};
use marqueue_core::params::{ParamError, ParamSet, ParamSpec, PolicySpec};
use marqueue_core::{Dur, Packet, Rng, Time};

/// What the catalogue tells of an algorithm.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// Its parameters.
    pub params: Vec<ParamSpec>,
    /// Its internal variables with their units.
    pub probes: &'static [(&'static str, &'static str)],
}

macro_rules! disciplines {
    ($($module:ident :: $policy:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// All disciplines, dispatched by a branch rather than a pointer.
        #[allow(missing_docs)]
        #[derive(Debug)]
        pub enum Discipline {
            $($policy(Single<$module::$policy>),)*
        }

        impl Discipline {
            /// The discipline that `spec` names.
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn build(spec: &PolicySpec, env: Env, rng: Rng) -> Result<Self, ParamError> {
                $(if spec.name == $module::$policy::NAME {
                    let params = <$module::$policy as Aqm>::Params::from_values(&spec.params)?;
                    return Ok(Self::$policy(Single::new(&params, env, rng)?));
                })*
                Err(unknown(&spec.name))
            }

            /// The names of the policy's internal variables.
            pub fn probes(&self) -> &'static [(&'static str, &'static str)] {
                match self { $(Self::$policy(_) => $module::$policy::PROBES,)* }
            }
        }

        /// Forwards to whichever discipline it is.
        macro_rules! each {
            ($this:expr, $q:ident => $body:expr) => {
                match $this { $(Discipline::$policy($q) => $body,)* }
            };
        }

        /// Every algorithm there is, in the order of the list.
        pub fn catalogue() -> Vec<Entry> {
            vec![$(Entry {
                name: $module::$policy::NAME,
                summary: $module::$policy::SUMMARY,
                source: $module::$policy::SOURCE,
                params: <$module::$policy as Aqm>::Params::specs(),
                probes: $module::$policy::PROBES,
            }),*]
        }
    };
}

disciplines! {
    droptail::DropTail,
    red::Red,
    rem::Rem,
    rem_rate::RemRate,
    pi::Pi,
    gkvq::Gkvq,
    avq::Avq,
    avq_inner::AvqInner,
    codel::Codel,
    pie::Pie,
}

fn unknown(name: &str) -> ParamError {
    let known: Vec<_> = catalogue().iter().map(|e| e.name).collect();
    ParamError::new("name", format!("got \"{name}\", expected one of {}", known.join(", ")))
}

impl Qdisc for Discipline {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet) -> Fate {
        each!(self, q => q.enqueue(now, packet))
    }
    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        each!(self, q => q.dequeue(now))
    }
    #[inline]
    fn next_timer(&self) -> Time {
        each!(self, q => q.next_timer())
    }
    fn on_timer(&mut self, now: Time) {
        each!(self, q => q.on_timer(now));
    }
    #[inline]
    fn len(&self) -> u32 {
        each!(self, q => q.len())
    }
    fn bytes(&self) -> u64 {
        each!(self, q => q.bytes())
    }
    fn counters(&self) -> &Counters {
        each!(self, q => q.counters())
    }
    #[inline]
    fn has_lost(&self) -> bool {
        each!(self, q => q.has_lost())
    }
    #[inline]
    fn drain_lost(&mut self) -> std::vec::Drain<'_, (Packet, Reason)> {
        each!(self, q => q.drain_lost())
    }
    fn env_mut(&mut self) -> &mut Env {
        each!(self, q => q.env_mut())
    }
    fn probe(&self, now: Time, out: &mut Vec<f64>) {
        each!(self, q => q.probe(now, out));
    }
}

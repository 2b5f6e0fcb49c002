//! The AQM algorithms, one file each, and the list that registers them: one line an algorithm.
//!
//! The enum [`Discipline`] is generated from the list and dispatches by a branch, not by a pointer.

use crate::accounting::{Counters, Reason};
use crate::algorithm::Algorithm;
use crate::dual_queue::DualQueue;
use crate::outside::Outside;
use crate::policy::{Aqm, Env};
use crate::program::ProgramPolicy;
use crate::qdisc::{EnqueueOutcome, FromSpec, Qdisc, QueueStatus, SingleQueue};
use crate::scheduler::{self, MultiQueue, Scheduler};
use alloc::{string::String, vec::Vec};
use marqueue_core::params::{ParamError, ParamSet, ParamSpec, PolicySpec};
use marqueue_core::{Dur, Packet, Price, Rng, Time};

/// Description of an algorithm for the catalogue.
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
    /// Does it report a price of the link?
    pub prices: bool,
}

impl<A: Aqm> Algorithm for SingleQueue<A> {
    const NAME: &'static str = A::NAME;
    const SUMMARY: &'static str = A::SUMMARY;
    const SOURCE: &'static str = A::SOURCE;
    const PROBES: &'static [(&'static str, &'static str)] = A::PROBES;
    const PRICES: bool = A::PRICES;
    type Params = A::Params;

    fn build(params: &A::Params, env: Env, rng: Rng) -> Result<Self, ParamError> {
        SingleQueue::new(params, env, rng)
    }
}

impl<S: Scheduler> Algorithm for MultiQueue<S>
where
    S::Params: Clone,
{
    const NAME: &'static str = S::NAME;
    const SUMMARY: &'static str = S::SUMMARY;
    const SOURCE: &'static str = S::SOURCE;
    const PROBES: &'static [(&'static str, &'static str)] = scheduler::PROBES;
    const PRICES: bool = S::Policy::PRICES;
    type Params = S::Params;

    fn build(params: &S::Params, env: Env, rng: Rng) -> Result<Self, ParamError> {
        MultiQueue::new(params.clone(), env, rng)
    }
}

/// A policy of the list manages one queue; a scheduler serves many; coupled AQMs manage an L4S and a Classic queue; a
/// discipline holds its packets in its own way.
macro_rules! disciplines {
    (
        policies { $($policy_file:ident :: $policy:ident $(<$inner:ident>)?),* $(,)? }
        schedulers { $($file:ident :: $scheduler:ident),* $(,)? }
        coupled { $($coupled_file:ident :: $coupled:ident),* $(,)? }
        disciplines { $($own_file:ident :: $own:ident),* $(,)? }
    ) => {
        $(pub mod $policy_file;)*
        $(pub mod $file;)*
        $(pub mod $coupled_file;)*
        $(pub mod $own_file;)*
        disciplines! {
            @all
            $($policy: SingleQueue<$policy_file::$policy $(<$inner>)?>,)*
            $($scheduler: MultiQueue<$file::$scheduler>,)*
            $($coupled: DualQueue<$coupled_file::$coupled>,)*
            $($own: $own_file::$own,)*
        }
    };
    (@all $($variant:ident : $discipline:ty),* $(,)?) => {
        /// Any discipline of the list, a queue outside the simulator, or one under a program of the user's.
        #[allow(missing_docs)]
        #[derive(Debug)]
        pub enum Discipline {
            $($variant($discipline),)*
            Outside(Outside),
            Program(SingleQueue<ProgramPolicy>),
        }

        impl Discipline {
            /// The discipline that `spec` names.
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn build(spec: &PolicySpec, env: Env, rng: Rng) -> Result<Self, ParamError> {
                $(if spec.name == <$discipline as Algorithm>::NAME {
                    let params = <$discipline as Algorithm>::Params::from_values(&spec.params)?;
                    return Ok(Self::$variant(Algorithm::build(&params, env, rng)?));
                })*
                Err(unknown(&spec.name))
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$discipline as Algorithm>::NAME,)*
                    Self::Outside(_) => "outside",
                    Self::Program(_) => ProgramPolicy::NAME,
                }
            }

            /// The names of the internal variables.
            pub fn probes(&self) -> &'static [(&'static str, &'static str)] {
                match self {
                    $(Self::$variant(_) => <$discipline as Algorithm>::PROBES,)*
                    Self::Outside(_) => &[],
                    Self::Program(queue) => queue.program_probes(),
                }
            }

            /// The queue outside the simulator, if it is one.
            pub fn outside(&mut self) -> Option<&mut Outside> {
                match self {
                    Self::Outside(outside) => Some(outside),
                    _ => None,
                }
            }
        }

        /// Forwards a call to the discipline.
        macro_rules! each {
            ($this:expr, $q:ident => $body:expr) => {
                match $this {
                    $(Discipline::$variant($q) => $body,)*
                    Discipline::Outside($q) => $body,
                    Discipline::Program($q) => $body,
                }
            };
        }

        /// All algorithms, in the order of the list.
        pub fn catalogue() -> Vec<Entry> {
            vec![$(Entry {
                name: <$discipline as Algorithm>::NAME,
                summary: <$discipline as Algorithm>::SUMMARY,
                source: <$discipline as Algorithm>::SOURCE,
                params: <$discipline as Algorithm>::Params::specs(),
                probes: <$discipline as Algorithm>::PROBES,
                prices: <$discipline as Algorithm>::PRICES,
            }),*]
        }
    };
}

disciplines! {
    policies {
        droptail::DropTail,
        red::Red,
        ared::Ared,
        step::Step,
        policer::Policer,
        rem::Rem,
        rem_rate::RemRate,
        pi::Pi,
        pi2::Pi2,
        gkvq::Gkvq,
        avq::Avq,
        avq_inner::AvqInner<Discipline>,
        codel::Codel,
        cobalt::Cobalt,
        pie::Pie,
        docsis_pie::DocsisPie,
        blue::Blue,
        sfb::Sfb,
        rio::Rio,
        choke::Choke,
        chokew::ChokeW,
        chokew_id::ChokeWId,
        chokew_red::ChokeWRed,
        chokew_avg::ChokeWAvg,
        drq::Drq,
        mkc::Mkc,
        mkc_lossfree::MkcLossfree,
        scaled::Scaled,
    }
    schedulers {
        sfq::Sfq,
        drr::Drr,
        wfq::Wfq,
        fq_codel::FqCodel,
        fq_pie::FqPie,
        drr_mkc::DrrMkc,
    }
    coupled {
        dualpi2::DualPi2,
        curvy_red::CurvyRed,
        docsis_dualq_unprotected::DocsisDualqUnprotected,
        docsis_dualq::DocsisDualq,
    }
    disciplines {
        cake::Cake,
    }
}

fn unknown(name: &str) -> ParamError {
    let known: Vec<_> = catalogue().iter().map(|e| e.name).collect();
    ParamError::new("name", format!("got \"{name}\", expected one of {}", known.join(", ")))
}

impl FromSpec for Discipline {
    fn from_spec(spec: &PolicySpec, env: Env, rng: Rng) -> Result<Self, ParamError> {
        Discipline::build(spec, env, rng)
    }
}

impl Qdisc for Discipline {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet) -> EnqueueOutcome {
        each!(self, q => q.enqueue(now, packet))
    }
    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<(Packet, Dur)> {
        each!(self, q => q.dequeue(now))
    }
    #[inline]
    fn oldest(&self) -> &[(Time, Packet)] {
        each!(self, q => q.oldest())
    }
    #[inline]
    fn prefetch(&self) {
        each!(self, q => q.prefetch());
    }
    #[inline]
    fn has_flow_queues(&self) -> bool {
        each!(self, q => q.has_flow_queues())
    }
    #[inline]
    fn prefetch_flow(&self, flow: Option<u32>, step: u32) {
        each!(self, q => q.prefetch_flow(flow, step));
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
    fn has_dropped(&self) -> bool {
        each!(self, q => q.has_dropped())
    }
    #[inline]
    fn drain_dropped(&mut self) -> alloc::vec::Drain<'_, (Packet, Reason)> {
        each!(self, q => q.drain_dropped())
    }
    #[inline]
    fn status(&self) -> QueueStatus {
        each!(self, q => q.status())
    }
    fn enqueue_with_status(&mut self, now: Time, packet: Packet) -> (EnqueueOutcome, QueueStatus) {
        each!(self, q => q.enqueue_with_status(now, packet))
    }
    fn dequeue_with_status(&mut self, now: Time) -> (Option<(Packet, Dur)>, QueueStatus) {
        each!(self, q => q.dequeue_with_status(now))
    }
    fn env_mut(&mut self) -> &mut Env {
        each!(self, q => q.env_mut())
    }
    fn price(&self, packet: &Packet) -> Option<Price> {
        each!(self, q => q.price(packet))
    }
    fn warning(&self) -> Option<String> {
        each!(self, q => q.warning())
    }
    fn probe(&self, now: Time, out: &mut Vec<f64>) {
        each!(self, q => q.probe(now, out));
    }
}

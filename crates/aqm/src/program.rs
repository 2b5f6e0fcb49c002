//! A policy that is in no list: a program of the user's, such as a class in Python.
//!
//! It is behind a pointer, so that this crate knows no interpreter. The policies of the list are dispatched as before.

use crate::policy::{Aqm, Context, Env, Verdict};
use crate::qdisc::SingleQueue;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Packet, Rng, Time};

marqueue_core::params! {
    /// No parameters: a program gets its own when it is made.
    pub struct Params {}
}

/// The hooks of a program. They mean what those of [`Aqm`] mean.
#[allow(missing_docs)]
pub trait Program: Debug + Send + Sync {
    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict;
    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict;
    fn next_timer(&self) -> Time;
    fn on_timer(&mut self, cx: &mut Context<'_>);
    fn probes(&self) -> &'static [(&'static str, &'static str)];
    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>);
}

/// A program as the policy of a queue.
#[derive(Debug)]
pub struct ProgramPolicy(Box<dyn Program>);

impl SingleQueue<ProgramPolicy> {
    /// An empty queue under a program.
    pub fn of_program(program: Box<dyn Program>, env: Env, rng: Rng) -> Self {
        SingleQueue::with_policy(ProgramPolicy(program), env, rng)
    }

    /// The program's internal variables with units.
    pub fn program_probes(&self) -> &'static [(&'static str, &'static str)] {
        self.policy().0.probes()
    }
}

impl Aqm for ProgramPolicy {
    const NAME: &'static str = "program";
    const SUMMARY: &'static str = "A program of the user's";
    const SOURCE: &'static str = "the user";
    type Params = Params;

    fn new(_: &Params, _: &Env, _: &Rng, _: Time) -> Result<Self, ParamError> {
        Err(ParamError::new("name", "expected a program that is made from outside"))
    }

    fn on_arrival(&mut self, cx: &mut Context<'_>, packet: &Packet) -> Verdict {
        self.0.on_arrival(cx, packet)
    }

    fn on_departure(&mut self, cx: &mut Context<'_>, packet: &Packet, sojourn: Dur) -> Verdict {
        self.0.on_departure(cx, packet, sojourn)
    }

    fn next_timer(&self) -> Time {
        self.0.next_timer()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.0.on_timer(cx);
    }

    fn probe(&self, now: Time, env: &Env, out: &mut Vec<f64>) {
        self.0.probe(now, env, out);
    }
}

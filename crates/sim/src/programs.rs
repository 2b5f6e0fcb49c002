//! Programs of the user's that a plan names, as AQMs and as congestion controls. Who runs a plan makes them.

use marqueue_aqm::program::Program;
use marqueue_aqm::{Context, Env, Verdict};
use marqueue_cc::program::Control;
use marqueue_core::params::{ParamError, PolicySpec};
use marqueue_core::{Dur, Packet, Time};

/// Makes the programs that a plan names.
pub trait Programs {
    /// The AQM that `spec` names, for an empty queue in `env`.
    ///
    /// # Errors
    /// If there is no such program here, or it cannot begin.
    fn policy(&self, spec: &PolicySpec, env: &Env) -> Result<Box<dyn Program>, ParamError>;

    /// The congestion control that `spec` names; `None` for Reno in its place.
    ///
    /// # Errors
    /// If there is no such program here, or it cannot begin.
    fn laws(&self, spec: &PolicySpec) -> Result<Option<Control>, ParamError>;

    /// Has a program broken off? Asked between events; the run then ends without a result.
    fn have_failed(&self) -> bool {
        false
    }
}

/// Where programs cannot run: outside Python.
#[derive(Clone, Copy, Debug)]
pub struct NoPrograms;

impl NoPrograms {
    fn refusal(spec: &PolicySpec) -> ParamError {
        let message = format!(
            "got \"{}\", expected what the simulator has: programs run where Python starts the run only",
            spec.name
        );
        ParamError::new("name", message)
    }
}

impl Programs for NoPrograms {
    fn policy(&self, spec: &PolicySpec, _: &Env) -> Result<Box<dyn Program>, ParamError> {
        Err(NoPrograms::refusal(spec))
    }

    fn laws(&self, spec: &PolicySpec) -> Result<Option<Control>, ParamError> {
        Err(NoPrograms::refusal(spec))
    }
}

/// Where a plan is only checked: an AQM passes all packets, a congestion control is Reno.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedPrograms;

impl Programs for UncheckedPrograms {
    fn policy(&self, _: &PolicySpec, _: &Env) -> Result<Box<dyn Program>, ParamError> {
        Ok(Box::new(PassAll))
    }

    fn laws(&self, _: &PolicySpec) -> Result<Option<Control>, ParamError> {
        Ok(None)
    }
}

#[derive(Debug)]
struct PassAll;

impl Program for PassAll {
    fn on_arrival(&mut self, _: &mut Context<'_>, _: &Packet) -> Verdict {
        Verdict::Pass
    }
    fn on_departure(&mut self, _: &mut Context<'_>, _: &Packet, _: Dur) -> Verdict {
        Verdict::Pass
    }
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    fn on_timer(&mut self, _: &mut Context<'_>) {}
    fn probes(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn probe(&self, _: Time, _: &Env, _: &mut Vec<f64>) {}
}

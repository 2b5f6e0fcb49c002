//! Window laws, one file each. The list of them is [`crate::law_list`].

use crate::config::Config;
use crate::law_list::{window_laws, Law};
use crate::path_model::PathModel;
use crate::program_law::ProgramWindowLaw;
use crate::window_law::{AckedSegments, EcnFeedback, Signal, Window, WindowLaw};
use marqueue_core::ring::prefetch_bounds;
use marqueue_core::Time;

macro_rules! laws {
    ($($(#[doc = $doc:literal])+ $module:ident :: $law:ident = $name:literal, $echo:ident);* $(;)?) => {
        $(pub mod $module;)*

        /// The state of whichever law it is, dispatched by a branch. Behind a pointer: a flow whose law remembers
        /// nothing is smaller by a tenth, and allocates nothing.
        #[derive(Clone, Debug)]
        pub enum AnyWindowLaw {
            $($(#[doc = $doc])+ $law(Box<$module::$law>),)*
            /// A program of the user's.
            Program(Box<ProgramWindowLaw>),
        }

        impl AnyWindowLaw {
            /// The law that the settings ask for.
            pub fn new(config: &Config) -> AnyWindowLaw {
                if let Some(program) = &config.program {
                    return AnyWindowLaw::Program(Box::new(ProgramWindowLaw::new(program)));
                }
                match config.control { $(Law::$law => AnyWindowLaw::$law(Default::default()),)* }
            }
        }

        /// Forwards to whichever law it is.
        macro_rules! each {
            ($this:expr, $l:ident => $body:expr) => {
                match $this {
                    $(AnyWindowLaw::$law($l) => $body,)*
                    AnyWindowLaw::Program($l) => $body,
                }
            };
        }
    };
}

window_laws!(laws);

impl AnyWindowLaw {
    /// Prefetches the state of the law.
    pub fn prefetch(&self) {
        each!(self, l => prefetch_bounds(&**l));
    }

    /// See [`WindowLaw::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, acked: &AckedSegments<'_>) {
        each!(self, l => l.on_ack(window, acked))
    }

    /// The pacing rate that a program sets, segments/s.
    #[inline]
    pub fn pacing_rate(&self) -> Option<f64> {
        match self {
            AnyWindowLaw::Program(program) => program.pacing_rate(),
            _ => None,
        }
    }

    /// See [`WindowLaw::decrease`].
    pub fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        each!(self, l => l.decrease(config, cwnd, signal))
    }

    /// See [`WindowLaw::on_echo`].
    #[inline]
    pub fn on_echo(&mut self, config: &Config, echoed: EcnFeedback) {
        each!(self, l => l.on_echo(config, echoed))
    }

    /// See [`WindowLaw::answers_echo`].
    pub fn answers_echo(&mut self, config: &Config, now: Time) -> bool {
        each!(self, l => l.answers_echo(config, now))
    }

    /// See [`WindowLaw::on_unused_window`].
    pub fn on_unused_window(&mut self, now: Time) {
        each!(self, l => l.on_unused_window(now))
    }

    /// See [`WindowLaw::model`].
    pub fn model(&mut self) -> Option<&mut dyn PathModel> {
        each!(self, l => l.model())
    }

    /// See [`WindowLaw::on_timeout`].
    pub fn on_timeout(&mut self) {
        each!(self, l => l.on_timeout())
    }
}

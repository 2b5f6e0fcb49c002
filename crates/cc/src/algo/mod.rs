//! Window laws, one file each. The list of them is [`crate::law_list`].

use crate::config::Config;
use crate::control::{Acked, Control, Echoed, Signal, Window};
use crate::law_list::{window_laws, Law};
use marqueue_core::Dur;

macro_rules! laws {
    ($($(#[doc = $doc:literal])+ $module:ident :: $law:ident = $name:literal, $echo:ident);* $(;)?) => {
        $(pub mod $module;)*

        /// The state of whichever law it is, dispatched by a branch. Behind a pointer: a flow whose law remembers
        /// nothing is smaller by a tenth, and allocates nothing.
        #[derive(Clone, Debug)]
        pub enum AnyControl { $($(#[doc = $doc])+ $law(Box<$module::$law>)),* }

        impl AnyControl {
            /// The law that the settings ask for.
            pub fn new(config: &Config) -> AnyControl {
                match config.control { $(Law::$law => AnyControl::$law(Default::default()),)* }
            }
        }

        /// Forwards to whichever law it is.
        macro_rules! each {
            ($this:expr, $l:ident => $body:expr) => {
                match $this { $(AnyControl::$law($l) => $body,)* }
            };
        }
    };
}

window_laws!(laws);

impl AnyControl {
    /// See [`Control::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, acked: &Acked<'_>) {
        each!(self, l => l.on_ack(window, acked))
    }

    /// See [`Control::decrease`].
    pub fn decrease(&mut self, config: &Config, cwnd: f64, signal: Signal) -> f64 {
        each!(self, l => l.decrease(config, cwnd, signal))
    }

    /// See [`Control::on_echo`].
    #[inline]
    pub fn on_echo(&mut self, config: &Config, echoed: Echoed) {
        each!(self, l => l.on_echo(config, echoed))
    }

    /// See [`Control::on_unused`].
    pub fn on_unused(&mut self, time: Dur) {
        each!(self, l => l.on_unused(time))
    }

    /// See [`Control::on_timeout`].
    pub fn on_timeout(&mut self) {
        each!(self, l => l.on_timeout())
    }
}

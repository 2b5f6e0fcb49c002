//! Window laws, one file each, and the one list of them.

use crate::config::Config;
use crate::control::{Acked, Control, Echo, Echoed, Signal, Window};
use marqueue_core::Dur;

macro_rules! laws {
    ($($(#[doc = $doc:literal])+ $module:ident :: $law:ident = $name:literal),* $(,)?) => {
        $(pub mod $module;)*

        marqueue_core::choice! {
            /// How the window grows and what a congestion signal leaves of it.
            pub enum Law { $($(#[doc = $doc])+ $law = $name),* }
        }

        impl Law {
            /// Every law there is, by name, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What an ECN echo means to it.
            pub fn echo(self) -> Echo {
                match self { $(Law::$law => <$module::$law as Control>::ECHO,)* }
            }
        }

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

laws! {
    /// Additive increase by one segment a round trip, multiplicative decrease by half (RFC 5681).
    reno::Reno = "reno",
    /// A cubic function of the time since the last cut (RFC 9438).
    cubic::Cubic = "cubic",
    /// Cuts in proportion to the share of marked segments (RFC 8257).
    dctcp::Dctcp = "dctcp",
    /// Grows by a constant an acknowledgement: Scalable TCP (Kelly 2003).
    scalable::Scalable = "scalable",
    /// Additive increase and multiplicative decrease by any factors.
    aimd::Aimd = "aimd",
}

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

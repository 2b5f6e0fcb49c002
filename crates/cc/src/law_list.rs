//! The list of window laws: one line a law. Each law is a file in [`crate::algo`].
//!
//! The list knows names alone, so that the settings ([`crate::config`]) can name a law and the laws can read the
//! settings.

/// How a law interprets an ECN echo, and with that how its receivers echo marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoMode {
    /// The echo is a congestion signal like a loss, repeated until the sender sends CWR (RFC 3168, 6.1).
    UntilCwr,
    /// The echo states that the acknowledged segments were marked (RFC 8257, 3.2). A loss is a stronger signal and
    /// reduces the window even if an echo has just reduced it.
    PerSegment,
    /// As by segment, but packets with marks are counted (AccECN, RFC 9768), and the window grows for those without, in the
    /// same round trip in which it is reduced.
    Counted,
}

/// Hands the list to the macro `$with`: for each law its documentation, module, type, name in scenarios, and how its
/// receivers echo marks.
macro_rules! window_laws {
    ($with:ident) => {
        $with! {
            /// Additive increase by one segment a round trip, multiplicative decrease by half (RFC 5681).
            reno::Reno = "reno", UntilCwr;
            /// A cubic function of the time since the last cut (RFC 9438).
            cubic::Cubic = "cubic", UntilCwr;
            /// Cuts in proportion to the share of marked segments (RFC 8257).
            dctcp::Dctcp = "dctcp", PerSegment;
            /// Cuts in proportion to the share of marked packets, with ECT(1), AccECN and pacing (draft-briscoe).
            prague::Prague = "prague", Counted;
            /// Grows by a constant an acknowledgement: Scalable TCP (Kelly 2003).
            scalable::Scalable = "scalable", UntilCwr;
            /// Keeps the queueing delay at a target, for background traffic (RFC 6817).
            ledbat::Ledbat = "ledbat", UntilCwr;
            /// The same with multiplicative decrease and periodic slowdowns (LEDBAT++, draft-irtf-iccrg-ledbat-plus-plus).
            ledbat_plus_plus::LedbatPlusPlus = "ledbat++", UntilCwr;
            /// A model of the path's bandwidth and round-trip time (BBR, version 1).
            bbr1::Bbr1 = "bbr1", UntilCwr;
            /// The same with bounds by loss (BBR, version 3).
            bbr3::Bbr3 = "bbr3", UntilCwr;
            /// Additive increase and multiplicative decrease by any factors.
            aimd::Aimd = "aimd", UntilCwr;
        }
    };
}
pub(crate) use window_laws;

macro_rules! names {
    ($($(#[doc = $doc:literal])+ $module:ident :: $law:ident = $name:literal, $echo:ident);* $(;)?) => {
        marqueue_core::choice! {
            /// How the window grows and what a congestion signal leaves of it.
            pub enum Law { $($(#[doc = $doc])+ $law = $name),* }
        }

        impl Law {
            /// Does a model of the path set window and pacing rate?
            pub fn has_model(self) -> bool {
                matches!(self, Law::Bbr1 | Law::Bbr3)
            }

            /// Does the law open the window in slow start too?
            pub fn has_slow_start(self) -> bool {
                self == Law::LedbatPlusPlus
            }

            /// The names of all laws, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// How this law interprets an ECN echo.
            pub fn echo(self) -> EchoMode {
                match self { $(Law::$law => EchoMode::$echo,)* }
            }
        }
    };
}

window_laws!(names);

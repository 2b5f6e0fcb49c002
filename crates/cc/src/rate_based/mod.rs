//! Rate-based transport: packets are paced at a rate that a rate law controls.
//!
//! The stream is not reliable: no packet is retransmitted. That is so in the protocols that these laws come from (RAP,
//! Rejaie, Handley and Estrin 1999; TFRC, RFC 5348; Kelly's controllers), and it isolates the rate law from loss
//! recovery. The receiver answers each packet with a cumulative report ([`receiver::Report`]) of lost and marked
//! packets, so that a lost report does no harm.
//!
//! Each law is one file and one line in the list below.

pub mod pacer;
pub mod rate_law;
pub mod receiver;
mod router_feedback;
pub mod sender;

mod aimd;
mod emkc;
mod emkc_naive;
mod kelly;

pub use rate_law::{Interval, RateLaw, ReturnedSignals};
pub use receiver::{Receiver, Report};
pub use sender::Sender;

use marqueue_core::params::{Entry, ParamError, ParamSet, PolicySpec};
use marqueue_core::{Bytes, Signals};

macro_rules! laws {
    ($($module:ident :: $law:ident),* $(,)?) => {
        /// Any rate law, dispatched by a branch.
        #[derive(Clone, Debug)]
        pub enum AnyRateLaw {
            $(#[allow(missing_docs)] $law($module::$law),)*
        }

        impl AnyRateLaw {
            /// The law that `spec` names, for a flow that sends packets of this size.
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn build(spec: &PolicySpec, packet: Bytes) -> Result<AnyRateLaw, ParamError> {
                let bits = packet.0 as f64 * 8.0;
                $(if spec.name == $module::$law::NAME {
                    let params = <$module::$law as RateLaw>::Params::from_values(&spec.params)?;
                    return Ok(AnyRateLaw::$law($module::$law::new(&params, bits)));
                })*
                let known: Vec<_> = AnyRateLaw::catalogue().iter().map(|e| e.name).collect();
                let message = format!("got \"{}\", expected one of {}", spec.name, known.join(", "));
                Err(ParamError::new("name", message))
            }

            /// All laws, in the order of the list.
            pub fn catalogue() -> Vec<Entry> {
                vec![$(Entry {
                    name: $module::$law::NAME,
                    summary: $module::$law::SUMMARY,
                    source: $module::$law::SOURCE,
                    params: <$module::$law as RateLaw>::Params::specs(),
                }),*]
            }

            /// See [`RateLaw::interval`].
            pub fn interval(&self, srtt: f64) -> f64 {
                match self { $(AnyRateLaw::$law(law) => law.interval(srtt),)* }
            }

            /// See [`RateLaw::on_interval`].
            pub fn on_interval(&mut self, rate: f64, interval: &Interval) -> f64 {
                match self { $(AnyRateLaw::$law(law) => law.on_interval(rate, interval),)* }
            }

            /// See [`RateLaw::on_congestion`].
            pub fn on_congestion(&mut self, rate: f64) -> f64 {
                match self { $(AnyRateLaw::$law(law) => law.on_congestion(rate),)* }
            }

            /// See [`RateLaw::on_feedback_timeout`].
            pub fn on_feedback_timeout(&mut self, rate: f64) -> f64 {
                match self { $(AnyRateLaw::$law(law) => law.on_feedback_timeout(rate),)* }
            }

            /// See [`RateLaw::header`].
            pub fn header(&self, seq: u32, rate: f64) -> Option<Signals> {
                match self { $(AnyRateLaw::$law(law) => law.header(seq, rate),)* }
            }

            /// Do its packets carry a header for routers?
            pub fn uses_router_feedback(&self) -> bool {
                self.header(0, 1.0).is_some()
            }

            /// See [`RateLaw::on_signals`].
            pub fn on_signals(&mut self, rate: f64, returned: &ReturnedSignals) -> f64 {
                match self { $(AnyRateLaw::$law(law) => law.on_signals(rate, returned),)* }
            }

            /// See [`RateLaw::price`].
            pub fn price(&self) -> Option<f64> {
                match self { $(AnyRateLaw::$law(law) => law.price(),)* }
            }
        }
    };
}

laws! {
    aimd::Aimd,
    kelly::Kelly,
    emkc::Emkc,
    emkc_naive::EmkcNaive,
}

//! Senders controlled by rate: packets leave at even distances, and a law moves the rate.
//!
//! The stream is not reliable: no packet is sent twice. So is it in the protocols that these laws come
//! with (RAP, Rejaie, Handley and Estrin 1999; TFRC, RFC 5348; Kelly's controllers), and a rate law
//! is seen by itself that way, without the repair of losses that TCP's window carries along. Each
//! packet is answered by a report ([`receiver::Report`]) of what has been lost or marked so far, so
//! that a lost report loses nothing.
//!
//! A law is one file here and one line in the list below.

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
        /// All rate laws, dispatched by a branch.
        #[derive(Clone, Debug)]
        pub enum AnyRateLaw {
            $(#[allow(missing_docs)] $law($module::$law),)*
        }

        impl AnyRateLaw {
            /// The law that `spec` names, of a flow that sends such packets.
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

            /// Every law there is.
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

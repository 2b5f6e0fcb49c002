//! Medium access: links whose transmitter may not send whenever it has a packet.
//!
//! On radio and cable a sender waits for an opportunity, and takes several packets from its queue at once. The queue
//! and its AQM see exactly this: packets leave it in bursts. Each model is one file and one line in the list below.

pub mod docsis;
pub mod leo;
mod medium_model;
pub mod nr;
mod segments;
#[cfg(test)]
mod test_queue;
pub mod wifi;

pub use medium_model::{Backlog, MediumModel};

use marqueue_core::params::{Entry, ParamError, ParamSet, PolicySpec};
use marqueue_core::{Bytes, Packet, Rate, Rng, Time};
use std::collections::VecDeque;

macro_rules! media {
    ($($module:ident :: $model:ident),* $(,)?) => {
        /// Any model of medium access.
        #[derive(Debug)]
        pub enum AnyMedium {
            $(#[allow(missing_docs)] $model($module::$model),)*
        }

        impl AnyMedium {
            /// The model that `spec` names, at a link of `rate`.
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn build(spec: &PolicySpec, rate: Rate, rng: Rng) -> Result<AnyMedium, ParamError> {
                $(if spec.name == $module::$model::NAME {
                    let params = <$module::$model as MediumModel>::Params::from_values(&spec.params)?;
                    return Ok(AnyMedium::$model($module::$model::new(&params, rate, rng)?));
                })*
                let known: Vec<_> = AnyMedium::catalogue().iter().map(|e| e.name).collect();
                Err(ParamError::new("name", format!("got \"{}\", expected one of {}", spec.name, known.join(", "))))
            }

            /// See [`MediumModel::first_from`].
            pub fn first_from(&mut self, now: Time) -> Time {
                match self { $(AnyMedium::$model(model) => model.first_from(now),)* }
            }

            /// See [`MediumModel::send`].
            pub fn send(&mut self, now: Time, queue: &mut impl Backlog, left: &mut VecDeque<(Packet, Time)>) -> Time {
                match self { $(AnyMedium::$model(model) => model.send(now, queue, left),)* }
            }

            /// See [`MediumModel::held`].
            pub fn held(&self) -> usize {
                match self { $(AnyMedium::$model(model) => model.held(),)* }
            }

            /// See [`MediumModel::capacity`].
            pub fn capacity(&self, packet: Bytes) -> f64 {
                match self { $(AnyMedium::$model(model) => model.capacity(packet),)* }
            }

            /// All models of medium access.
            pub fn catalogue() -> Vec<Entry> {
                vec![$(Entry {
                    name: $module::$model::NAME,
                    summary: $module::$model::SUMMARY,
                    source: $module::$model::SOURCE,
                    params: <$module::$model as MediumModel>::Params::specs(),
                }),*]
            }
        }
    };
}

media! {
    docsis::Docsis,
    leo::Leo,
    nr::Nr,
    wifi::Wifi,
}

//! Impairments of the pipe behind a transmitter: random losses, jitter, reordering.
//!
//! A packet that is lost here has used the capacity of its link. Losses on pipes are counted apart from drops of
//! queues. Each loss model is one file and one line in the list below.

mod jitter;
mod loss_model;
mod pipe;
mod reorder;

pub use jitter::Jitter;
pub use loss_model::LossModel;
pub use pipe::Pipe;
pub use reorder::Reorder;

use marqueue_core::params::{Entry, ParamError, ParamSet, PolicySpec};
use marqueue_core::Rng;

macro_rules! losses {
    ($($module:ident :: $model:ident),* $(,)?) => {
        $(mod $module;)*

        /// Any loss model.
        #[derive(Debug)]
        pub enum Loss {
            $(#[allow(missing_docs)] $model($module::$model),)*
        }

        impl Loss {
            /// The model that `spec` names.
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn build(spec: &PolicySpec) -> Result<Loss, ParamError> {
                $(if spec.name == $module::$model::NAME {
                    let params = <$module::$model as LossModel>::Params::from_values(&spec.params)?;
                    return Ok(Loss::$model($module::$model::new(&params)?));
                })*
                Err(unknown(&spec.name, &Loss::catalogue()))
            }

            /// Is the next packet lost?
            #[inline]
            pub fn is_lost(&mut self, rng: &mut Rng) -> bool {
                match self { $(Loss::$model(model) => model.is_lost(rng),)* }
            }

            /// All loss models.
            pub fn catalogue() -> Vec<Entry> {
                vec![$(Entry {
                    name: $module::$model::NAME,
                    summary: $module::$model::SUMMARY,
                    source: $module::$model::SOURCE,
                    params: <$module::$model as LossModel>::Params::specs(),
                }),*]
            }
        }
    };
}

losses! {
    random::Random,
    gilbert::Gilbert,
    periodic::Periodic,
}

fn unknown(name: &str, catalogue: &[Entry]) -> ParamError {
    let known: Vec<_> = catalogue.iter().map(|e| e.name).collect();
    ParamError::new("name", format!("got \"{name}\", expected one of {}", known.join(", ")))
}

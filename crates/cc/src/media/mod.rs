//! Real-time media: frames in packets of RTP over UDP, whose sender tells an encoder what rate to produce.
//!
//! Nothing is retransmitted. The receiver reports which packets came, when and with which ECN field ([`feedback`]); the
//! sender ([`sender`]) keeps frames in a queue, paces their packets within a window, and finds losses; a control
//! ([`control`]) sets window, pacing rate and the rate of the encoder. Each control is one file and one line in the list
//! below.

pub mod control;
pub mod feedback;
pub mod gcc;
pub mod scream;
pub mod sender;

pub use control::Control;
pub use feedback::{Feedback, Receiver};
pub use gcc::Gcc;
pub use scream::Scream;
pub use sender::{Sender, Setting};

use control::{Arrival, Delivered, Stream};
use marqueue_core::params::{Entry, ParamError, ParamSet, PolicySpec};
use marqueue_core::{Dur, Time};

/// Headers of IPv4 and UDP, bytes.
pub const UDP_HEADER: u32 = 28;
/// Header of RTP, bytes.
pub const RTP_HEADER: u32 = 12;

macro_rules! controls {
    ($($module:ident :: $control:ident),* $(,)?) => {
        /// Any control of media flows, dispatched by a branch.
        #[derive(Clone, Debug)]
        pub enum AnyControl {
            $(#[allow(missing_docs)] $control(Box<$module::$control>),)*
        }

        impl AnyControl {
            /// The control that `spec` names, of a flow that starts at `start`.
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn build(spec: &PolicySpec, stream: Stream, start: Time) -> Result<AnyControl, ParamError> {
                $(if spec.name == $module::$control::NAME {
                    let params = <$module::$control as Control>::Params::from_values(&spec.params)?;
                    return Ok(AnyControl::$control(Box::new($module::$control::new(params, stream, start))));
                })*
                let known: Vec<_> = AnyControl::catalogue().iter().map(|e| e.name).collect();
                Err(ParamError::new("name", format!("got \"{}\", expected one of {}", spec.name, known.join(", "))))
            }

            /// Is `spec` a control, with parameters that it takes?
            ///
            /// # Errors
            /// If the name is unknown or a parameter is refused.
            pub fn check(spec: &PolicySpec) -> Result<(), ParamError> {
                let any = Stream { mss: 1200.0, frame_period: 0.04, min_rate: 1e5, max_rate: 1e6, l4s: false };
                AnyControl::build(spec, any, Time::ZERO).map(drop)
            }

            /// Does the control of this name answer to CE marks?
            pub fn answers_marks(name: &str) -> bool {
                $((name == $module::$control::NAME && $module::$control::ANSWERS_MARKS))||*
            }

            /// All controls, in the order of the list.
            pub fn catalogue() -> Vec<Entry> {
                vec![$(Entry {
                    name: $module::$control::NAME,
                    summary: $module::$control::SUMMARY,
                    source: $module::$control::SOURCE,
                    params: <$module::$control as Control>::Params::specs(),
                }),*]
            }

            /// See [`Control::target_bitrate`].
            pub fn target_bitrate(&self) -> f64 {
                match self { $(AnyControl::$control(control) => control.target_bitrate(),)* }
            }

            /// See [`Control::window`].
            pub fn window(&self) -> f64 {
                match self { $(AnyControl::$control(control) => control.window(),)* }
            }

            /// See [`Control::most_in_flight`].
            pub fn most_in_flight(&self) -> f64 {
                match self { $(AnyControl::$control(control) => control.most_in_flight(),)* }
            }

            /// See [`Control::pace`].
            pub fn pace(&self, bytes: f64) -> Dur {
                match self { $(AnyControl::$control(control) => control.pace(bytes),)* }
            }

            /// See [`Control::share_of_marks`].
            pub fn share_of_marks(&self) -> f64 {
                match self { $(AnyControl::$control(control) => control.share_of_marks(),)* }
            }

            /// See [`Control::on_sent`].
            pub fn on_sent(&mut self, now: Time, in_flight: f64) {
                match self { $(AnyControl::$control(control) => control.on_sent(now, in_flight),)* }
            }

            /// See [`Control::on_frame`].
            pub fn on_frame(&mut self, media_qdelay: f64, bytes: f64) {
                match self { $(AnyControl::$control(control) => control.on_frame(media_qdelay, bytes),)* }
            }

            /// See [`Control::on_arrival`].
            pub fn on_arrival(&mut self, packet: Arrival) {
                match self { $(AnyControl::$control(control) => control.on_arrival(packet),)* }
            }

            /// See [`Control::on_feedback`].
            pub fn on_feedback(&mut self, now: Time, report: &Delivered) {
                match self { $(AnyControl::$control(control) => control.on_feedback(now, report),)* }
            }
        }
    };
}

controls! {
    gcc::Gcc,
    scream::Scream,
}

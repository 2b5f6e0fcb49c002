//! What a control of media flows is told and what it decides.

use marqueue_core::params::ParamSet;
use marqueue_core::{Dur, Time};

/// What a control is told of a flow at its start.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Size of a full packet with its RTP header, bytes.
    pub mss: f64,
    /// Time between frames, s.
    pub frame_period: f64,
    /// The lowest rate of the encoder, bit/s.
    pub min_rate: f64,
    /// Its highest rate, bit/s.
    pub max_rate: f64,
    /// Are packets sent with ECT(1)?
    pub l4s: bool,
}

/// A packet that a report says has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When it was sent.
    pub sent: Time,
    /// When it arrived, as the report tells.
    pub arrived: Time,
    /// Its size with its RTP header, bytes.
    pub bytes: u32,
}

/// What a report says, to the control.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivered {
    /// Packets that arrived.
    pub units: u32,
    /// Those of them that were marked.
    pub units_ce: u32,
    /// Packets that were found lost.
    pub units_lost: u32,
    /// Bytes by which the highest sequence number has advanced, lost ones included.
    pub bytes: f64,
    /// Those of them that were marked.
    pub bytes_ce: f64,
    /// The queueing delay, s.
    pub qdelay: f64,
    /// The smoothed round-trip time, s.
    pub s_rtt: f64,
}

/// A control of media flows.
pub trait Control: Sized {
    /// Its name in scenarios.
    const NAME: &'static str;
    /// One line on what it does.
    const SUMMARY: &'static str;
    /// Where it is defined.
    const SOURCE: &'static str;
    /// Does it answer to CE marks? If it does not, its packets may not say that they can be marked.
    const ANSWERS_MARKS: bool;
    /// Its parameters.
    type Params: ParamSet + Clone;

    /// The control of a flow that starts at `start`.
    fn new(params: Self::Params, stream: Stream, start: Time) -> Self;

    /// The rate for the encoder, bit/s: RTP packets with their headers.
    fn target_bitrate(&self) -> f64;

    /// Its window, bytes; 0 if it has none.
    fn window(&self) -> f64;

    /// How many bytes may be in flight.
    fn most_in_flight(&self) -> f64;

    /// Time from a packet of `bytes` to the next.
    fn pace(&self, bytes: f64) -> Dur;

    /// The averaged share of marked packets; 0 if it does not look at marks.
    fn share_of_marks(&self) -> f64 {
        0.0
    }

    /// A packet was sent; `in_flight` bytes are now on their way.
    fn on_sent(&mut self, _now: Time, _in_flight: f64) {}

    /// The encoder has produced a frame of `bytes`; the oldest packet in the sender has waited for `media_qdelay` s.
    fn on_frame(&mut self, _media_qdelay: f64, _bytes: f64) {}

    /// A packet has arrived, says the report of which [`Control::on_feedback`] comes next. In order of sequence numbers.
    fn on_arrival(&mut self, _packet: Arrival) {}

    /// A report has arrived.
    fn on_feedback(&mut self, now: Time, report: &Delivered);
}

//! The description of a queue.
#![allow(unsafe_code, reason = "pointers from C are read and written, and functions have names that C knows")]
#![allow(clippy::missing_safety_doc, reason = "the rules are the same for all functions: at the top of the crate")]

use crate::failure::{behind_mut, call, text, Failure, Status};
use marqueue_aqm::{Bytes, Dur, Limit, Rate, Signal, Value};
use std::ffi::c_char;

/// The description of a queue: an algorithm, its parameters, the buffer and the link.
#[derive(Debug)]
pub struct Config(pub(crate) marqueue_aqm::Config);

/// Marks reach the sender as drops (marqueue_config_signal).
pub const MARQUEUE_SIGNAL_DROP: u32 = 0;
/// Marks reach the sender as CE; packets that are not ECN-capable are dropped instead.
pub const MARQUEUE_SIGNAL_ECN: u32 = 1;
/// Marks reach the sender as CE; packets that are not ECN-capable pass.
pub const MARQUEUE_SIGNAL_ECN_ONLY: u32 = 2;

/// Describes a queue under an algorithm ("codel", "fq_codel", "pie", ...) in front of a link of `rate` bits a second. Until it
/// is changed it has default parameters, a buffer of 1000 packets, packets of 1500 bytes, marks as CE, no propagation delay
/// and seed 0. Free it with marqueue_config_free; the queues that were built from it do not need it.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_new(algorithm: *const c_char, rate: u64, config: *mut *mut Config) -> Status {
    call(|| {
        // SAFETY: the rules of the crate.
        let (algorithm, place) = unsafe { (text(algorithm, "algorithm")?, behind_mut(config, "config")?) };
        *place = std::ptr::null_mut();
        let described = marqueue_aqm::Config::new(algorithm, Rate(rate)).keep_dropped();
        // A mistake in the name or the rate is refused here, where it is made.
        match described.queue::<()>() {
            Err(error) if error.path == "name" || error.path == "rate" => return Err(error.into()),
            _ => {}
        }
        *place = Box::into_raw(Box::new(Config(described)));
        Ok(Status::Ok)
    })
}

/// Frees a description. Null is allowed.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_free(config: *mut Config) {
    if !config.is_null() {
        // SAFETY: it comes from marqueue_config_new and was not freed.
        drop(unsafe { Box::from_raw(config) });
    }
}

/// Applies a change to the description.
unsafe fn change(
    config: *mut Config,
    with: impl FnOnce(marqueue_aqm::Config) -> Result<marqueue_aqm::Config, Failure>,
) -> Status {
    call(|| {
        // SAFETY: the rules of the crate.
        let config = unsafe { behind_mut(config, "config")? };
        config.0 = with(config.0.clone())?;
        Ok(Status::Ok)
    })
}

/// Sets a parameter of the algorithm, in its base unit: seconds, bits a second, bytes, packets. Names and values are checked
/// when the queue is built.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_set(config: *mut Config, parameter: *const c_char, value: f64) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.set(text(parameter, "parameter")?, value))) }
}

/// Sets a parameter that is on or off.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_set_flag(config: *mut Config, parameter: *const c_char, on: u32) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.set(text(parameter, "parameter")?, Value::Flag(on != 0)))) }
}

/// Sets a parameter that is one of several names.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_set_choice(
    config: *mut Config,
    parameter: *const c_char,
    choice: *const c_char,
) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.set(text(parameter, "parameter")?, text(choice, "choice")?))) }
}

/// The buffer in packets.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_buffer_packets(config: *mut Config, packets: u32) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.buffer(Limit::Packets(packets)))) }
}

/// The buffer in bytes.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_buffer_bytes(config: *mut Config, bytes: u64) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.buffer(Limit::Bytes(bytes)))) }
}

/// The usual size of a packet, by which algorithms convert between packets and bytes.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_mean_packet(config: *mut Config, bytes: u64) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.mean_packet(Bytes(bytes)))) }
}

/// How a mark reaches the sender: one of MARQUEUE_SIGNAL_...
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_signal(config: *mut Config, signal: u32) -> Status {
    let signal = match signal {
        MARQUEUE_SIGNAL_DROP => Ok(Signal::Drop),
        MARQUEUE_SIGNAL_ECN => Ok(Signal::Ecn),
        MARQUEUE_SIGNAL_ECN_ONLY => Ok(Signal::EcnOnly),
        other => Err(Failure::invalid(format!("signal: got {other}, expected 0, 1 or 2"))),
    };
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.signal(signal?))) }
}

/// The propagation delay behind the queue, in nanoseconds; at most an hour.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_delay(config: *mut Config, nanoseconds: u64) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.delay(Dur(nanoseconds)))) }
}

/// The seed of random decisions: the same seed and the same calls give the same packets.
#[no_mangle]
pub unsafe extern "C" fn marqueue_config_seed(config: *mut Config, seed: u64) -> Status {
    // SAFETY: the rules of the crate.
    unsafe { change(config, |c| Ok(c.seed(seed))) }
}

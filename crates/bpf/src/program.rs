//! Loads the BPF program `c/avq.bpf.c` and reads and writes its maps.

use crate::fixed_point::{Avq, AvqParams};
use crate::interface::{Counters, Error, Setup};
use crate::requirements::{self, libbpf_error};
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, Program};
use marqueue_aqm::Signal;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/avq.bpf.o"));

/// Identifies this build in the map of an attached program (FNV-1a of the object file).
pub const BUILD: u64 = {
    let (mut hash, mut i) = (0xcbf2_9ce4_8422_2325u64, 0);
    while i < OBJECT.len() {
        hash = (hash ^ OBJECT[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
};

const KEY: [u8; 4] = [0; 4];

/// Loads the object file with one of its programs.
///
/// # Errors
/// If the kernel refuses it.
pub fn load(program: &str, setup: &Setup) -> Result<Object, Error> {
    requirements::check()?;
    let explain = |error| libbpf_error("the kernel refused the program of AVQ", &error);
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(explain)?;
    for mut each in open.progs_mut() {
        let wanted = each.name() == program;
        each.set_autoload(wanted);
    }
    let object = open.load().map_err(explain)?;
    write_setup(&map(&object, "setup"), setup)?;
    Ok(object)
}

/// The program of this name.
///
/// # Panics
/// If there is none of that name.
pub fn program<'a>(object: &'a Object, name: &str) -> Program<'a> {
    object.progs().find(|each| each.name() == name).unwrap_or_else(|| panic!("a program {name}"))
}

/// The map of this name.
///
/// # Panics
/// If there is none of that name.
pub fn map<'a>(object: &'a Object, name: &str) -> libbpf_rs::Map<'a> {
    object.maps().find(|each| each.name() == name).unwrap_or_else(|| panic!("a map {name}"))
}

/// Writes the settings. A packet that arrives during the write may see a mixture of old and new settings; later packets
/// see the new ones.
///
/// # Errors
/// If the kernel refuses it.
pub fn write_setup(map: &impl MapCore, setup: &Setup) -> Result<(), Error> {
    let AvqParams { capacity, growth, cost, initial, buffer } = setup.law;
    let signal = match setup.signal {
        Signal::Drop => 0,
        Signal::Ecn => 1,
        Signal::EcnOnly => 2,
    };
    let words = [capacity, growth, cost, initial, buffer, signal, BUILD, setup.clsact.into()];
    let value: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
    map.update(&KEY, &value, MapFlags::ANY).map_err(|error| libbpf_error("map setup", &error))
}

/// The settings of an attached program; `None` if it is of another build.
///
/// # Errors
/// If the kernel refuses it.
pub fn read_setup(map: &impl MapCore) -> Result<Option<Setup>, Error> {
    let Some(words) = words(map, "setup", MapFlags::ANY)? else { return Ok(None) };
    let &[capacity, growth, cost, initial, buffer, signal, BUILD, clsact] = words.as_slice() else { return Ok(None) };
    let signal = match signal {
        0 => Signal::Drop,
        1 => Signal::Ecn,
        _ => Signal::EcnOnly,
    };
    Ok(Some(Setup { law: AvqParams { capacity, growth, cost, initial, buffer }, signal, clsact: clsact != 0 }))
}

/// The state of AVQ, read atomically.
///
/// # Errors
/// If the kernel refuses it.
///
/// # Panics
/// If the map is not that of this build.
pub fn read_state(map: &impl MapCore) -> Result<Avq, Error> {
    let words = words(map, "state", MapFlags::LOCK)?.expect("arrays have all their elements");
    let [first, level, level_rest, virtual_capacity, capacity_rest, drained, last] = words[..] else {
        panic!("a state of 7 words, not of {}", words.len());
    };
    // The lock and `started` are in the first, in the order of memory.
    let started = first.to_ne_bytes()[4..] != [0; 4];
    Ok(Avq { started, level, level_rest, virtual_capacity, capacity_rest, drained, last })
}

/// The counters, summed over CPUs.
///
/// # Errors
/// If the kernel refuses it.
///
/// # Panics
/// If the map is not that of this build.
pub fn read_counters(map: &impl MapCore) -> Result<Counters, Error> {
    let cpus = map.lookup_percpu(&KEY, MapFlags::ANY).map_err(|error| libbpf_error("map counters", &error))?;
    let mut sum = [0; 7];
    for cpu in cpus.expect("arrays have all their elements") {
        for (total, word) in sum.iter_mut().zip(to_words(&cpu)) {
            *total += word;
        }
    }
    let [packets, bytes, marked, dropped, already_ce, unmarked, segmented] = sum;
    Ok(Counters { packets, bytes, marked, dropped, already_ce, unmarked, segmented })
}

fn words(map: &impl MapCore, name: &str, flags: MapFlags) -> Result<Option<Vec<u64>>, Error> {
    let value = map.lookup(&KEY, flags).map_err(|error| libbpf_error(&format!("map {name}"), &error))?;
    Ok(value.map(|value| to_words(&value).collect()))
}

fn to_words(value: &[u8]) -> impl Iterator<Item = u64> + '_ {
    value.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("8 bytes")))
}

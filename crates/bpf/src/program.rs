//! Loads the BPF programs of AQMs and reads and writes their maps.

use crate::algorithm::{self, Law, State, OBJECTS};
use crate::interface::{Counters, Error, Setup};
use crate::requirements::{self, libbpf_error};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, Program};
use marqueue_aqm::Signal;

/// Identifies this build in the map of an attached program, and the AQM: FNV-1a of each object file.
const BUILDS: [u64; OBJECTS.len()] = {
    let (mut builds, mut each) = ([0; OBJECTS.len()], 0);
    while each < OBJECTS.len() {
        builds[each] = hash(OBJECTS[each].1);
        each += 1;
    }
    builds
};

/// FNV-1a.
pub(crate) const fn hash(object: &[u8]) -> u64 {
    let (mut hash, mut i) = (0xcbf2_9ce4_8422_2325u64, 0);
    while i < object.len() {
        hash = (hash ^ object[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
}

/// Place of an AQM in [`OBJECTS`].
fn place(aqm: &str) -> usize {
    OBJECTS.iter().position(|(name, _)| *name == aqm).unwrap_or_else(|| panic!("a program of {aqm}"))
}

const KEY: [u8; 4] = [0; 4];

/// The decisions of CHOKeW without the qdisc, for tests.
const CHOKEW_AT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/chokew_at.bpf.o"));

/// The map of a qdisc's operations.
const OPERATIONS: &str = "qdisc";

/// Loads the object file of an AQM with one of its programs.
///
/// # Errors
/// If the kernel refuses it.
///
/// # Panics
/// If there is no program for that AQM.
pub fn load(program: &str, setup: &Setup) -> Result<Object, Error> {
    requirements::check()?;
    let aqm = setup.law.name();
    let explain = |error| libbpf_error(&format!("the kernel{} refused the program of {aqm}", since(aqm)), &error);
    let bytes = if program == "chokew_at" { CHOKEW_AT } else { OBJECTS[place(aqm)].1 };
    let mut open = ObjectBuilder::default().open_memory(bytes).map_err(explain)?;
    for mut each in open.progs_mut() {
        let wanted = each.name() == program;
        each.set_autoload(wanted);
    }
    let object = open.load().map_err(explain)?;
    write_setup(&map(&object, "setup"), setup)?;
    Ok(object)
}

/// Loads the object file of an AQM as a qdisc of this name, at most 15 characters.
///
/// # Errors
/// If the kernel refuses it.
///
/// # Panics
/// If there is no qdisc of that AQM.
pub fn load_qdisc(name: &str, setup: &Setup) -> Result<Object, Error> {
    requirements::check_qdiscs()?;
    let aqm = setup.law.name();
    let explain = |error| libbpf_error(&format!("the kernel refused the qdisc {aqm}"), &error);
    let mut open = ObjectBuilder::default().open_memory(OBJECTS[place(aqm)].1).map_err(explain)?;
    let mut operations = open.maps_mut().find(|map| map.name() == OPERATIONS).expect("a map of operations");
    // The first field is the name, of 16 bytes with a terminating zero.
    let value = operations.initial_value_mut().expect("what is in the object");
    value[..name.len()].copy_from_slice(name.as_bytes());
    let object = open.load().map_err(explain)?;
    write_setup(&map(&object, "setup"), setup)?;
    Ok(object)
}

/// Registers the operations of a qdisc with the kernel, for as long as the link or a qdisc of it lasts.
///
/// # Errors
/// If the kernel refuses it, or has one of that name.
///
/// # Panics
/// If it is not an object of [`load_qdisc`].
pub fn register_qdisc(object: &mut Object) -> Result<Link, Error> {
    let mut operations = object.maps_mut().find(|map| map.name() == OPERATIONS).expect("a map of operations");
    operations.attach_struct_ops().map_err(|error| libbpf_error("the kernel refused the operations of a qdisc", &error))
}

/// The kernels that let a program of tc look at their own structures (bpf_cast_to_kern_ctx). AVQ need not.
fn since(aqm: &str) -> &'static str {
    if aqm == "avq" {
        ""
    } else {
        " (6.2 or later)"
    }
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
    let signal = match setup.signal {
        Signal::Drop => 0,
        Signal::Ecn => 1,
        Signal::EcnOnly => 2,
    };
    let mut words = vec![BUILDS[place(setup.law.name())], setup.clsact.into(), signal];
    words.extend(setup.law.words());
    let value: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
    map.update(&KEY, &value, MapFlags::ANY).map_err(|error| libbpf_error("map setup", &error))
}

/// The settings of an attached program; `None` if it is of another build.
///
/// # Errors
/// If the kernel refuses it.
pub fn read_setup(map: &impl MapCore) -> Result<Option<Setup>, Error> {
    let Some(words) = words(map, "setup", MapFlags::ANY)? else { return Ok(None) };
    let [build, clsact, signal, law @ ..] = words.as_slice() else { return Ok(None) };
    let Some(place) = BUILDS.iter().position(|each| each == build) else { return Ok(None) };
    let Some(law) = Law::from_words(OBJECTS[place].0, law) else { return Ok(None) };
    let signal = match signal {
        0 => Signal::Drop,
        1 => Signal::Ecn,
        _ => Signal::EcnOnly,
    };
    Ok(Some(Setup { law, signal, clsact: *clsact != 0 }))
}

/// The state of an AQM, read atomically if it is at a hook of tc.
///
/// # Errors
/// If the kernel refuses it.
///
/// # Panics
/// If the map is not that of this build.
pub fn read_state(map: &impl MapCore, aqm: &str) -> Result<State, Error> {
    // A qdisc has the lock of the kernel, which is not for readers: a packet may arrive between two words.
    let flags = if algorithm::qdiscs().any(|name| name == aqm) { MapFlags::ANY } else { MapFlags::LOCK };
    let words = words(map, "state", flags)?.expect("arrays have all their elements");
    let (first, rest) = words.split_first().expect("the lock and the flag");
    // Both are in the first word, in the order of memory.
    Ok(State::from_words(aqm, first.to_ne_bytes()[4..] != [0; 4], rest))
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

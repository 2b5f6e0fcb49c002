//! A run with kernels: the loop over the calendar of the simulator and that of the guests.
//!
//! At equal times the events of the simulator come first, then guests by their numbers.

use crate::clock::{Clock, Message, MOST_GUESTS, START};
use crate::error::{Error, Fault};
use crate::guest::{Guest, Network};
use crate::hosts::{self, guest_time, HostPlan, Hosts, ORIGIN};
use crate::initramfs::{archive, Entry};
use crate::network::{ForGuest, GuestNetwork};
use crate::outcome;
use crate::process::{GuestProcess, Pinned, PrivateDirectory};
use crate::router::{self, Routers, ARRIVALS, DEPARTURES};
use marqueue_core::params::ParamError;
use marqueue_core::{Dur, Time};
use marqueue_sim::external::Reached;
use marqueue_sim::plan::Plan;
use marqueue_sim::result::RunResult;
use marqueue_sim::trace::MAX_ROWS;
use marqueue_sim::{Control, Run, RunError};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// For how long the guests run on after the end, so that they can send their last samples.
const AFTERWARDS: Dur = Dur(1_000_000);
/// How long a kernel may take to start, in tenths of a second of this machine's time.
const STARTING_PATIENCE: u32 = 600;

/// The files of a kernel.
#[derive(Clone, Debug)]
pub struct KernelFiles {
    /// The kernel, built for user mode.
    pub image: PathBuf,
    /// The program that it runs first.
    pub init: PathBuf,
    /// tc, if the plans of its guests need it.
    pub tc: Option<PathBuf>,
    /// Whether its guests send messages in the scenario too, though the kernel may have our change (`shm_notify.patch`).
    /// Results are the same; a run takes twice as long.
    pub messages: bool,
}

/// Checks what a plan asks of kernels.
///
/// # Errors
/// If no kernel could do it.
pub fn check(plan: &Plan) -> Result<(), ParamError> {
    hosts::check(plan)?;
    router::check(plan)
}

/// Runs `plan` with `seed`, to its end or until the control cuts it off. `kernels` are those that it names.
///
/// # Errors
/// If the plan is invalid, a kernel is missing or fails, the host refuses something, or the run was cancelled.
pub fn run(
    plan: &Plan,
    seed: u64,
    kernels: &BTreeMap<String, KernelFiles>,
    control: &Control,
) -> Result<RunResult, Error> {
    let _pinned = Pinned::to_next_core();
    let mut machines = Machines::start(plan, seed, kernels)?;
    let is_traced = plan.links.iter().any(|link| link.trace);
    loop {
        let ended = machines.step(control)?;
        let now = machines.network.run.now();
        control.record(now);
        if control.is_cancelled() {
            return Err(RunError::Cancelled.into());
        }
        if is_traced && machines.network.run.trace_rows() > MAX_ROWS {
            return Err(RunError::TraceFull { at: now }.into());
        }
        if ended {
            break;
        }
    }
    machines.network.run.let_look(control);
    let result = outcome::result(machines.network, plan);
    control.record(result.ended);
    Ok(result)
}

/// The guests and their network. Guests end before their directory does.
#[derive(Debug)]
struct Machines {
    guests: Vec<Guest>,
    clock: Clock,
    network: GuestNetwork,
    names: Vec<String>,
    /// For each guest, whether it goes on to send messages.
    messages: Vec<bool>,
    for_guests: Vec<ForGuest>,
    end: Time,
    _directory: PrivateDirectory,
}

/// How many steps of guests are made between two looks at the control.
const STEPS: u32 = 256;

impl Machines {
    fn start(plan: &Plan, seed: u64, kernels: &BTreeMap<String, KernelFiles>) -> Result<Machines, Error> {
        let run = Run::with_external_ends(plan, seed)?;
        let flows = run.external_flows().to_vec();
        let mut hosts = Hosts::new(plan, &flows).map_err(RunError::Invalid)?;
        router::check(plan).map_err(RunError::Invalid)?;
        let routers = Routers::new(plan, hosts.guests.len());
        hosts.guests.extend(routers.guests(plan).map_err(RunError::Invalid)?);
        require_tc(plan, kernels).map_err(RunError::Invalid)?;
        if hosts.guests.len() > MOST_GUESTS {
            let message = format!("got {} guests, expected at most {MOST_GUESTS}", hosts.guests.len());
            return Err(RunError::Invalid(ParamError::new("transports", message)).into());
        }
        let directory = PrivateDirectory::new().map_err(|e| system("directory for the guests", e))?;
        let clock = Clock::new(hosts.guests.len()).map_err(|e| system("clock of the guests", e))?;
        let messages =
            hosts.guests.iter().map(|guest| kernels.get(&guest.kernel).is_some_and(|kernel| kernel.messages));
        let messages = messages.collect();
        let names = hosts.guests.iter().map(|guest| guest.name.clone()).collect();
        let guests = start_guests(&hosts.guests, seed, kernels, directory.path())?;
        let end = plan.duration;
        let network = GuestNetwork::new(run, hosts, routers, flows, end);
        Ok(Machines { guests, clock, network, names, messages, for_guests: Vec::new(), end, _directory: directory })
    }

    /// Advances everything by some steps. Returns whether the run has ended.
    fn step(&mut self, control: &Control) -> Result<bool, Error> {
        for _ in 0..STEPS {
            self.network.run.let_look(control);
            let events = control.allows(self.network.run.events());
            if events == 0 {
                return Ok(true);
            }
            let next = self.clock.first_request().map_err(|fault| self.failure(0, fault))?;
            // Where no guest has anything to do, the simulator runs on. Before the scenario begins it stands still.
            let until = next.map_or(Some(u64::MAX), |(at, _)| at.checked_sub(ORIGIN));
            match (until.map(|until| self.network.run.advance_to_fate(Time(until), events)), next) {
                (Some(Reached::Fate), _) => self.deliver()?,
                (Some(Reached::Spent), _) => {}
                (Some(Reached::Time) | None, Some((at, guest))) => self.run_guest(guest, at)?,
                (Some(Reached::End | Reached::Time) | None, _) => {
                    self.run_afterwards()?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Tells guests what has happened in the network.
    fn deliver(&mut self) -> Result<(), Error> {
        let at = self.network.run.now();
        let now = guest_time(at);
        let mut for_guests = std::mem::take(&mut self.for_guests);
        self.network.take_for_guests(&mut for_guests);
        for news in for_guests.drain(..) {
            let (ForGuest::Frame { guest, .. } | ForGuest::Sent { guest }) = news;
            let told = match &news {
                ForGuest::Frame { frame, .. } => self.guests[guest].deliver(&self.clock, now, ARRIVALS, frame),
                ForGuest::Sent { .. } => {
                    self.guests[guest].end_transmission(&self.clock, now, DEPARTURES).map(|()| true)
                }
            };
            match (told, news) {
                (Ok(false), ForGuest::Frame { frame, .. }) => self.network.refuse(at, guest, &frame),
                (Ok(_), _) => {}
                (Err(fault), _) => return Err(self.failure(guest, fault)),
            }
        }
        self.for_guests = for_guests;
        Ok(())
    }

    fn run_guest(&mut self, guest: usize, at: u64) -> Result<(), Error> {
        let mut step = || {
            if at >= ORIGIN && !self.messages[guest] {
                self.clock.end_messages(guest)?;
            }
            let others = self.clock.first_request_beside(guest)?;
            let free_until = others.min(self.network.next_event());
            self.guests[guest].run(&self.clock, at, free_until, &mut self.network)
        };
        let result = step();
        let late = at >= ORIGIN && !self.network.ready[guest];
        match result {
            Ok(()) if late => Err(self.failure(guest, Fault("it was not set up when the scenario began".into()))),
            Ok(()) => Ok(()),
            Err(fault) => Err(self.failure(guest, fault)),
        }
    }

    /// Lets the guests send their last samples.
    fn run_afterwards(&mut self) -> Result<(), Error> {
        let until = guest_time(self.end + AFTERWARDS);
        while let Some((at, guest)) = self.clock.first_request().map_err(|fault| self.failure(0, fault))? {
            if at > until {
                break;
            }
            let others = self.clock.first_request_beside(guest).map_err(|fault| self.failure(guest, fault))?;
            let ran = self.guests[guest].run(&self.clock, at, others.min(until), &mut self.network);
            ran.map_err(|fault| self.failure(guest, fault))?;
        }
        Ok(())
    }

    /// The error for a fault of a guest.
    fn failure(&mut self, guest: usize, Fault(what): Fault) -> Error {
        // What the program of a router says before it is ready is what the kernel says of the scenario's qdisc.
        if let (Some(link), Some(said)) = (self.network.link_of(guest), what.strip_prefix("plan line ")) {
            let said = said.split_once(": ").map_or(said, |(_, said)| said);
            // tc shows how it is used after what is wrong.
            let said = said.split_once("Usage:").map_or(said, |(said, _)| said);
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let message = format!("{} refuses it: {said}", self.network.kernel_of(guest));
            return RunError::Invalid(ParamError::new(router::policy_of(link), message)).into();
        }
        failure(&self.names[guest], &mut self.guests[guest].process, what)
    }
}

/// Checks that the kernels of routers have tc.
fn require_tc(plan: &Plan, kernels: &BTreeMap<String, KernelFiles>) -> Result<(), ParamError> {
    for (index, link) in plan.links.iter().enumerate() {
        let Some(router) = link.router() else { continue };
        if kernels.get(&router.kernel).is_some_and(|kernel| kernel.tc.is_none()) {
            let message =
                format!("kernel {} was built without tc; expected one that was built where apt-get is", router.kernel);
            return Err(ParamError::new(router::policy_of(index), message));
        }
    }
    Ok(())
}

fn failure(name: &str, process: &mut GuestProcess, what: String) -> Error {
    let what = process.ends().map_or(what, |status| format!("it ended by itself ({status})"));
    Error::Guest { guest: name.to_string(), what, console: process.last_lines() }
}

fn system(what: &str, error: io::Error) -> Error {
    Error::System { what: what.to_string(), error }
}

/// Starts all guests and waits until each has connected to the clock.
fn start_guests(
    hosts: &[HostPlan],
    seed: u64,
    kernels: &BTreeMap<String, KernelFiles>,
    directory: &Path,
) -> Result<Vec<Guest>, Error> {
    let listen = |name: &str| UnixListener::bind(directory.join(name)).map_err(|e| system("socket of the guests", e));
    let clock = listen("tt")?;
    let mut started = Vec::new();
    for (number, host) in hosts.iter().enumerate() {
        let kernel = kernels.get(&host.kernel).ok_or_else(|| Error::NoKernel(host.kernel.clone()))?;
        let files = initramfs(host, kernel)?;
        fs::write(directory.join(format!("initramfs{number}")), files).map_err(|e| system("initramfs", e))?;
        let mut ports = Vec::new();
        for (device, mac) in host.devices.iter().enumerate() {
            ports.push((listen(&format!("net{number}-{device}"))?, *mac));
        }
        let arguments = arguments(number, host, seed);
        let process = GuestProcess::start(&kernel.image, &arguments, directory, &format!("console{number}"));
        let process = process.map_err(|e| system(&format!("kernel {}", kernel.image.display()), e))?;
        started.push(Some((process, ports)));
    }
    let mut guests: Vec<Option<Guest>> = hosts.iter().map(|_| None).collect();
    for _ in hosts {
        let (number, guest) = accept(&clock, hosts, &mut started)?;
        guests[number] = Some(guest);
    }
    Ok(guests.into_iter().flatten().collect())
}

/// A guest that has been started, with its ports.
type Started = Option<(GuestProcess, Vec<(UnixListener, [u8; 6])>)>;

/// Waits for the next guest that connects to the clock.
fn accept(clock: &UnixListener, hosts: &[HostPlan], started: &mut [Started]) -> Result<(usize, Guest), Error> {
    wait_for_start(clock, hosts, started)?;
    let lost = |fault: Fault| Error::Guest { guest: "a guest".into(), what: fault.0, console: Vec::new() };
    let (time, _) = clock.accept().map_err(|e| system("socket of the guests", e))?;
    let message = Message::receive(&time).map_err(lost)?;
    let number = message.time as usize;
    match started.get_mut(number).and_then(Option::take) {
        Some((process, ports)) if message.op == START => {
            Ok((number, Guest::new(number, process, time, message.seq, ports)))
        }
        _ => Err(lost(Fault("it does not begin with START".into()))),
    }
}

/// Waits until a guest connects; fails if one ends before.
fn wait_for_start(clock: &UnixListener, hosts: &[HostPlan], started: &mut [Started]) -> Result<(), Error> {
    for _ in 0..STARTING_PATIENCE {
        let tenth = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        match poll(&mut [PollFd::new(clock, PollFlags::IN)], Some(&tenth)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(system("socket of the guests", error.into())),
        }
        for (host, guest) in hosts.iter().zip(started.iter_mut()) {
            if let Some((process, _)) = guest {
                if process.ended().is_some() {
                    return Err(failure(&host.name, process, String::new()));
                }
            }
        }
    }
    let slow = hosts.iter().zip(started.iter_mut()).find_map(|(host, guest)| Some((host, guest.as_mut()?)));
    let what = format!("it did not start within {} s", STARTING_PATIENCE / 10);
    Err(slow.map_or_else(
        || system("socket of the guests", io::ErrorKind::TimedOut.into()),
        |(host, (process, _))| failure(&host.name, process, what),
    ))
}

/// The command line of a guest's kernel. It enters the kernel's random numbers, so it has nothing of this machine.
fn arguments(number: usize, host: &HostPlan, seed: u64) -> Vec<String> {
    // A seed of zero would mean the random numbers of this machine.
    let seed = seed.wrapping_add(number as u64).max(1);
    let mut arguments = vec![
        format!("mem={}M", host.memory),
        format!("initrd=initramfs{number}"),
        "con=null".into(),
        "con0=fd:0,fd:1".into(),
        "root=/dev/ram0".into(),
        "quiet".into(),
        "panic=-1".into(),
        format!("umid=guest{number}"),
        format!("um_seed={seed}"),
        "seccomp=auto".into(),
        format!("time-travel=ext:{number}:tt"),
    ];
    let devices = 0..host.devices.len();
    arguments.extend(devices.map(|device| format!("virtio_uml.device=net{number}-{device}:1")));
    arguments.push("init=/init".into());
    arguments
}

/// The files of a guest.
fn initramfs(host: &HostPlan, kernel: &KernelFiles) -> Result<Vec<u8>, Error> {
    let read = |path: &Path| fs::read(path).map_err(|e| system(&path.display().to_string(), e));
    let init = read(&kernel.init)?;
    let tc = kernel.tc.as_deref().map(read).transpose()?;
    let mut entries = vec![
        Entry { path: "init", contents: Some(&init) },
        Entry { path: "plan", contents: Some(host.plan.text().as_bytes()) },
    ];
    if let Some(tc) = &tc {
        entries.push(Entry { path: "sbin", contents: None });
        entries.push(Entry { path: "sbin/tc", contents: Some(tc) });
    }
    Ok(archive(&entries))
}

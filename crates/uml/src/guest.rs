//! A guest: its process, its network devices, and its steps of time. Only one guest runs at a time.

use crate::clock::{ring_bit, Clock, Message, ACK, GET_TOD, LOOK, RUN, START, WAIT};
use crate::error::Fault;
use crate::process::GuestProcess;
use crate::vhost_user::{Device, Served, Taken};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// How long a guest may compute for one step, in seconds of this machine's time.
const PATIENCE: i64 = 60;
/// The time of day at time zero of the guests: 14 November 2023, 22:13:20 UTC.
const TIME_OF_DAY: u64 = 1_700_000_000_000_000_000;

/// What the guests are connected to.
pub trait Network {
    /// A guest sends a frame at `now` on one of its devices. Returns whether the frame keeps its buffer until
    /// [`Guest::end_transmission`]; else it has left at once.
    fn frame(&mut self, now: u64, guest: usize, device: usize, frame: &[u8]) -> Result<bool, Fault>;

    /// When something happens next that may concern a guest.
    fn next_event(&self) -> u64;
}

/// A network device, before and after the guest has found it.
#[derive(Debug)]
enum Port {
    Waiting(UnixListener, [u8; 6]),
    Connected(Box<Device>),
}

/// A guest.
#[derive(Debug)]
pub struct Guest {
    /// Its number, which decides among guests at the same time.
    pub number: usize,
    /// Its process.
    pub process: GuestProcess,
    time: UnixStream,
    ports: Vec<Port>,
    /// Is it waiting for its next step?
    waits: bool,
    /// Does it wait without having sent a message, and look at the page of the clock for its next step?
    waits_for_page: bool,
    /// Number of its START, until it has been answered.
    start: Option<u32>,
    seq: u32,
    frame: Vec<u8>,
    /// For each device, the buffers of frames that have not left, in their order.
    waiting: Vec<VecDeque<Taken>>,
    /// Devices on which frames were sent and the guest wants to know it.
    sent: Vec<usize>,
}

impl Guest {
    /// A guest that has connected to the clock with this START.
    pub fn new(
        number: usize,
        process: GuestProcess,
        time: UnixStream,
        start: u32,
        ports: Vec<(UnixListener, [u8; 6])>,
    ) -> Guest {
        let ports: Vec<Port> = ports.into_iter().map(|(listener, mac)| Port::Waiting(listener, mac)).collect();
        Guest {
            number,
            process,
            time,
            waiting: ports.iter().map(|_| VecDeque::new()).collect(),
            ports,
            waits: true,
            waits_for_page: false,
            start: Some(start),
            seq: 0,
            frame: Vec::new(),
            sent: Vec::new(),
        }
    }

    /// Lets the guest run at `now` until it waits. It may go on by itself until `free_until`.
    pub fn run(&mut self, clock: &Clock, now: u64, free_until: u64, network: &mut impl Network) -> Result<(), Fault> {
        clock.release(self.number, now, free_until)?;
        let waited = clock.waits(self.number)?;
        self.waits = false;
        match self.start.take() {
            None if self.waits_for_page => clock.wake(self.number)?,
            Some(seq) => {
                let slot = (self.number + 1) as u64;
                Message { op: ACK, seq, time: slot }.send_with(&self.time, &clock.files())?;
            }
            None => {
                self.seq = self.seq.wrapping_add(1);
                Message { op: RUN, seq: self.seq, time: now }.send(&self.time)?;
            }
        }
        self.waits_for_page = clock.needs_no_message(self.number)?;
        if self.waits_for_page {
            self.wait_by_page(clock, waited, network)?;
        }
        while !self.waits {
            self.serve(clock, network)?;
        }
        self.report_sent(clock)
    }

    /// Waits until the page of the clock says that the guest, which has waited this often, waits again. Answers its kicks.
    fn wait_by_page(&mut self, clock: &Clock, mut waited: u32, network: &mut impl Network) -> Result<(), Fault> {
        loop {
            self.look_at_page(clock, waited, network)?;
            let kicks = clock.take_kicks(self.number)?;
            if kicks == 0 {
                self.waits = true;
                return Ok(());
            }
            for port in 0..self.ports.len() {
                if kicks & ring_bit(port, true) != 0 {
                    self.take_frames(port, clock, network)?;
                }
            }
            waited = clock.waits(self.number)?;
            clock.wake(self.number)?;
        }
    }

    /// Waits until the guest has waited more often than this.
    fn look_at_page(&mut self, clock: &Clock, waited: u32, network: &mut impl Network) -> Result<(), Fault> {
        let mut looks = 0;
        while !clock.wait_for(self.number, waited)? {
            looks += 1;
            if self.process.ended().is_some() {
                return Err(Fault("it has ended".into()));
            }
            if LOOK * looks >= Duration::from_secs(PATIENCE as u64) {
                return Err(Fault(format!("it did not answer for {PATIENCE} s")));
            }
            // None is expected; but a guest that sends one nevertheless gets its answer.
            self.serve_within(clock, network, &Timespec { tv_sec: 0, tv_nsec: 0 })?;
        }
        Ok(())
    }

    /// Gives a frame to the guest at `now`, while it waits. Returns false if it had no place for it.
    pub fn deliver(&mut self, clock: &Clock, now: u64, device: usize, frame: &[u8]) -> Result<bool, Fault> {
        let Some(Port::Connected(port)) = self.ports.get_mut(device) else { return Ok(false) };
        if !port.give_frame(frame)? {
            return Ok(false);
        }
        if port.wants_received_interrupt()? {
            self.interrupt(clock, now, device, false)?;
        }
        Ok(true)
    }

    /// The first frame that waits at a device has left at `now`, while the guest waits.
    pub fn end_transmission(&mut self, clock: &Clock, now: u64, device: usize) -> Result<(), Fault> {
        let (Port::Connected(port), Some(buffer)) = (&mut self.ports[device], self.waiting[device].pop_front()) else {
            return Ok(());
        };
        port.give_back(buffer)?;
        if port.wants_sent_interrupt()? {
            self.interrupt(clock, now, device, true)?;
        }
        Ok(())
    }

    /// Waits for the next message of the guest, and answers it.
    fn serve(&mut self, clock: &Clock, network: &mut impl Network) -> Result<(), Fault> {
        let patience = Timespec { tv_sec: PATIENCE, tv_nsec: 0 };
        match self.serve_within(clock, network, &patience)? {
            true => Ok(()),
            false => Err(Fault(format!("it did not answer for {PATIENCE} s"))),
        }
    }

    /// Answers the next message of the guest. Returns false if none came within this time.
    fn serve_within(&mut self, clock: &Clock, network: &mut impl Network, patience: &Timespec) -> Result<bool, Fault> {
        let mut files = Vec::with_capacity(1 + self.ports.len());
        files.push(PollFd::new(&self.time, PollFlags::IN));
        for port in &self.ports {
            files.push(match port {
                Port::Waiting(listener, _) => PollFd::new(listener, PollFlags::IN),
                Port::Connected(device) => PollFd::new(device.messages(), PollFlags::IN),
            });
        }
        wait(&mut files, patience)?;
        match files.iter().position(|file| !file.revents().is_empty()) {
            Some(0) => self.serve_time(clock)?,
            Some(port) => self.serve_port(port - 1, clock, network)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    fn serve_time(&mut self, clock: &Clock) -> Result<(), Fault> {
        let message = Message::receive(&self.time)?;
        match message.op {
            ACK => Ok(()),
            WAIT => {
                self.waits = true;
                Ok(())
            }
            GET_TOD => {
                let time = TIME_OF_DAY + clock.now()?;
                Message { op: ACK, seq: message.seq, time }.send(&self.time)
            }
            START => Err(Fault("it starts a second time".into())),
            other => Err(Fault(format!("its clock sends message {other}, which shared memory makes needless"))),
        }
    }

    fn serve_port(&mut self, port: usize, clock: &Clock, network: &mut impl Network) -> Result<(), Fault> {
        if let Port::Waiting(listener, mac) = &self.ports[port] {
            let (messages, _) = listener.accept()?;
            self.ports[port] = Port::Connected(Box::new(Device::new(messages, *mac)));
            return Ok(());
        }
        let Port::Connected(device) = &mut self.ports[port] else { return Ok(()) };
        let Served::Kick { wants_reply } = device.serve()? else { return Ok(()) };
        self.take_frames(port, clock, network)?;
        match &mut self.ports[port] {
            Port::Connected(device) if wants_reply => device.reply_to_kick(),
            _ => Ok(()),
        }
    }

    /// Takes all frames that wait on the ring on which the guest sends. The guest may go on until something follows.
    fn take_frames(&mut self, port: usize, clock: &Clock, network: &mut impl Network) -> Result<(), Fault> {
        let Port::Connected(device) = &mut self.ports[port] else { return Ok(()) };
        let now = clock.now()?;
        let mut any = false;
        while let Some(buffer) = device.take_frame(&mut self.frame)? {
            if network.frame(now, self.number, port, &self.frame)? {
                self.waiting[port].push_back(buffer);
            } else {
                any = true;
                device.give_back(buffer)?;
            }
        }
        if any && device.wants_sent_interrupt()? && !self.sent.contains(&port) {
            self.sent.push(port);
        }
        // A guest that is to be told that its frames have left is told at once.
        let limit = if self.sent.is_empty() { network.next_event() } else { now };
        clock.limit(limit)
    }

    /// Tells the guest, which waits, that frames have left.
    fn report_sent(&mut self, clock: &Clock) -> Result<(), Fault> {
        while let Some(port) = self.sent.pop() {
            self.interrupt(clock, clock.now()?, port, true)?;
        }
        Ok(())
    }

    /// Interrupts the guest, which waits, at `now`: in the page of the clock, or by a message, whose reply says that it
    /// has noticed.
    fn interrupt(&mut self, clock: &Clock, now: u64, port: usize, sent: bool) -> Result<(), Fault> {
        if self.waits_for_page {
            return clock.interrupt(self.number, ring_bit(port, sent), now);
        }
        clock.hold(now)?;
        let Port::Connected(device) = &mut self.ports[port] else { return Ok(()) };
        device.interrupt(sent)?;
        loop {
            let Port::Connected(device) = &mut self.ports[port] else { return Ok(()) };
            let Some(replies) = device.interrupts() else { return Ok(()) };
            let mut files = [PollFd::new(replies, PollFlags::IN), PollFd::new(&self.time, PollFlags::IN)];
            if !wait(&mut files, &Timespec { tv_sec: PATIENCE, tv_nsec: 0 })? {
                return Err(Fault(format!("it did not answer for {PATIENCE} s")));
            }
            if !files[0].revents().is_empty() {
                return device.finish_interrupt();
            }
            self.serve_time(clock)?;
            self.waits = true;
        }
    }
}

/// Waits for one of these files. Returns false if none is ready within this time.
fn wait(files: &mut [PollFd<'_>], patience: &Timespec) -> Result<bool, Fault> {
    loop {
        match poll(files, Some(patience)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

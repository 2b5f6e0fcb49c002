//! What a packet costs in each program, as the kernel measures it (BPF_PROG_TEST_RUN): the median of nine means, and the
//! smallest and the largest. At tc's egress hook a mean is that of a million runs on the same packet. Of CHOKeW's qdisc it
//! is that of its decisions, of as many as the queue has packets; the kernel's side of it (the hash of a packet, its
//! cgroup, its place) is not in them. Needs root.
//!
//! ```sh
//! cargo run --release -p marqueue-bpf --features kernel --example cost
//! ```

#[cfg(programs)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    measured::measure()
}

#[cfg(not(programs))]
fn main() {
    eprintln!("{}", marqueue_bpf::missing().unwrap_or_default());
}

#[cfg(programs)]
mod measured {
    use libbpf_rs::{MapCore, MapFlags, Object, ProgramInput};
    use marqueue_aqm::Signal;
    use marqueue_bpf::algorithm::{self, Law, Shaper};
    use marqueue_bpf::fixed_point::ONE;
    use marqueue_bpf::{program, Hook, Setup};
    use marqueue_core::params::PolicySpec;
    use std::error::Error;

    const RUNS: u32 = 1_000_000;
    const ROUNDS: usize = 9;

    /// The buffer of CHOKeW, packets.
    const BUFFER: u32 = 4000;

    /// A packet of TCP over IPv4, 1514 bytes, ECT(0).
    fn packet() -> Vec<u8> {
        let mut packet = vec![0; 1514];
        packet[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
        packet[23] = 6;
        packet
    }

    pub fn measure() -> Result<(), Box<dyn Error>> {
        for aqm in algorithm::at(Hook::Egress) {
            let name = format!("{aqm}_egress");
            let kernel = load(aqm, &name, 100_000)?;
            show(aqm, || run(&kernel, &name, None, RUNS))?;
        }
        let kernel = load("chokew", "chokew_at", BUFFER.into())?;
        show("chokew, a packet is queued", || {
            empty(&kernel)?;
            decide(&kernel, Step::Arrive { flow: 1 }, BUFFER)
        })?;
        show("chokew, a packet leaves", || {
            empty(&kernel)?;
            decide(&kernel, Step::Arrive { flow: 1 }, BUFFER)?;
            decide(&kernel, Step::Leave, BUFFER)
        })?;
        // The buffer is full of another flow's packets: what is compared with them does not match, and changes nothing.
        for draws in [1, 8, 64] {
            empty(&kernel)?;
            decide(&kernel, Step::Arrive { flow: 1 }, BUFFER)?;
            set_drawing_factor(&kernel, draws)?;
            show(&format!("chokew, compared with {draws}"), || decide(&kernel, Step::Arrive { flow: 2 }, RUNS))?;
        }
        Ok(())
    }

    /// An AQM that does nothing of itself to the packet of the next run: the rate is so high that none is marked, and p0
    /// of CHOKeW stays as it is.
    fn load(aqm: &str, name: &str, buffer: u64) -> Result<Object, Box<dyn Error>> {
        let mut spec = PolicySpec { name: aqm.into(), params: Default::default() };
        if aqm == "chokew" {
            let fixed = [("l_th", 0.0), ("l_minus", 1.0), ("l_plus", 2.0), ("p_plus", 0.0), ("p_minus", 0.0)];
            spec.params = fixed.map(|(name, value)| (name.into(), value.into())).into();
        }
        let shaper = Shaper { rate: Some(100_000_000_000), packet: 1514, buffer: buffer * 1514 };
        let law = Law::read(&spec, shaper, Hook::Egress)?;
        Ok(program::load(name, &Setup { law, signal: Signal::Ecn, clsact: false })?)
    }

    /// Prints the median of some rounds, each in ns, the smallest and the largest.
    fn show(what: &str, mut round: impl FnMut() -> Result<u128, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
        let mut rounds = (0..ROUNDS).map(|_| round()).collect::<Result<Vec<_>, _>>()?;
        rounds.sort_unstable();
        let [first, median, last] = [0, ROUNDS / 2, ROUNDS - 1].map(|each| rounds[each]);
        println!("{what:27} {median} ns ({first} to {last})");
        Ok(())
    }

    /// The mean of some runs, ns.
    fn run(kernel: &Object, name: &str, context: Option<&mut [u8]>, runs: u32) -> Result<u128, Box<dyn Error>> {
        let packet = packet();
        let program = kernel.progs_mut().find(|each| each.name() == name).ok_or("a program")?;
        let input =
            ProgramInput { data_in: Some(&packet), context_in: context, repeat: runs, ..ProgramInput::default() };
        Ok(program.test_run(input)?.duration.as_nanos())
    }

    /// What CHOKeW decides about.
    enum Step {
        Arrive { flow: u32 },
        Leave,
    }

    fn decide(kernel: &Object, step: Step, runs: u32) -> Result<u128, Box<dyn Error>> {
        // Of `__sk_buff`: does a packet leave, and the flow of one that arrives (c/chokew.bpf.c); time; length.
        const CB: usize = 48;
        const TSTAMP: usize = 152;
        const WIRE_LEN: usize = 160;
        let mut context = [0; 192];
        let (leaves, flow) = match step {
            Step::Arrive { flow } => (0u32, flow),
            Step::Leave => (1, 0),
        };
        context[CB..CB + 4].copy_from_slice(&leaves.to_ne_bytes());
        context[CB + 4..CB + 8].copy_from_slice(&flow.to_ne_bytes());
        context[TSTAMP..TSTAMP + 8].copy_from_slice(&1u64.to_ne_bytes());
        context[WIRE_LEN..WIRE_LEN + 4].copy_from_slice(&1514u32.to_ne_bytes());
        run(kernel, "chokew_at", Some(&mut context), runs)
    }

    /// A queue without packets; its places are those behind.
    fn empty(kernel: &Object) -> Result<(), Box<dyn Error>> {
        change_state(kernel, |state| state.fill(0))?;
        let slots = program::map(kernel, "slots");
        for place in 0..BUFFER {
            slots.update(&place.to_ne_bytes(), &[0; 8], MapFlags::ANY)?;
        }
        Ok(())
    }

    fn set_drawing_factor(kernel: &Object, p0: u64) -> Result<(), Box<dyn Error>> {
        // Behind the owner (c/chokew.bpf.c).
        change_state(kernel, |state| state[8..16].copy_from_slice(&(p0 * ONE).to_ne_bytes()))
    }

    fn change_state(kernel: &Object, change: impl FnOnce(&mut [u8])) -> Result<(), Box<dyn Error>> {
        let state = program::map(kernel, "state");
        let key = 0u32.to_ne_bytes();
        let mut value = state.lookup(&key, MapFlags::ANY)?.ok_or("a state")?;
        change(&mut value);
        Ok(state.update(&key, &value, MapFlags::ANY)?)
    }
}

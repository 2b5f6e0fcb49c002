//! What a packet costs in each program at tc's egress hook: the mean of a million runs on the same packet, as the kernel
//! measures it (BPF_PROG_TEST_RUN), the median of nine, and the smallest and the largest. Needs root.
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
    use libbpf_rs::ProgramInput;
    use marqueue_aqm::Signal;
    use marqueue_bpf::algorithm::{Law, Shaper, HOOKED};
    use marqueue_bpf::{program, Hook, Setup};
    use marqueue_core::params::PolicySpec;
    use std::error::Error;

    const RUNS: u32 = 1_000_000;
    const ROUNDS: usize = 9;

    /// A packet of TCP over IPv4, 1514 bytes, ECT(0).
    fn packet() -> Vec<u8> {
        let mut packet = vec![0; 1514];
        packet[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0x02]);
        packet[23] = 6;
        packet
    }

    pub fn measure() -> Result<(), Box<dyn Error>> {
        let packet = packet();
        for aqm in HOOKED {
            let spec = PolicySpec { name: aqm.into(), params: Default::default() };
            // So fast that nothing is marked: the packet of the next run is the same.
            let shaper = Shaper { rate: Some(100_000_000_000), packet: 1514, buffer: 151_400_000 };
            let law = Law::read(&spec, shaper, Hook::Egress)?;
            let name = format!("{aqm}_egress");
            let kernel = program::load(&name, &Setup { law, signal: Signal::Ecn, clsact: false })?;
            let program = kernel.progs_mut().find(|each| each.name() == name.as_str()).ok_or("a program")?;
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                let input = ProgramInput { data_in: Some(&packet), repeat: RUNS, ..ProgramInput::default() };
                rounds.push(program.test_run(input)?.duration);
            }
            rounds.sort_unstable();
            let [first, median, last] = [0, ROUNDS / 2, ROUNDS - 1].map(|each| rounds[each].as_nanos());
            println!("{aqm:8} {median} ns ({first} to {last})");
        }
        Ok(())
    }
}

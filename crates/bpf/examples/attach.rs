//! Attaches an AQM to a device, shows its counters, or removes it, without Python: what `marqueue attach`, `stats` and
//! `detach` do. Needs root.
//!
//! ```sh
//! cargo build --release -p marqueue-bpf --features kernel --example attach
//! attach eth0 '{"name": "chokew", "params": {"weights": {"46": 4}}}' 100000000 500
//! attach eth0 '{"name": "chokew"}' 100000000 500 /system.slice=4
//! attach eth0 stats
//! attach eth0 parameters
//! attach eth0 detach
//! ```
//! Behind an AQM come the rate of the link in bit/s, its buffer in packets of 1514 B, and weights of cgroups.

use marqueue_aqm::Signal;
use marqueue_bpf::algorithm::{Law, Shaper};
use marqueue_bpf::{attachment, Hook};
use std::error::Error;

const PACKET: u64 = 1514;
const USAGE: &str =
    "expected DEVICE AQM RATE BUFFER [CGROUP=WEIGHT...], or DEVICE and one of stats, parameters, detach";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [device, "detach"] => println!("detached {}", attachment::detach(None, device, Hook::Egress)?),
        [device, "stats"] => {
            let stats = attachment::stats(None, device, Hook::Egress)?.ok_or("no AQM is attached")?;
            println!("packets {}", stats.counters.packets);
            println!("bytes {}", stats.counters.bytes);
            println!("marked {}", stats.counters.marked);
            println!("dropped {}", stats.counters.dropped);
            for (name, value) in stats.state.values(&stats.setup.law) {
                println!("{name} {value}");
            }
        }
        [device, "parameters"] => {
            let stats = attachment::stats(None, device, Hook::Egress)?.ok_or("no AQM is attached")?;
            for (name, value) in stats.setup.law.values() {
                println!("{name} {value}");
            }
        }
        [device, aqm, rate, buffer, cgroups @ ..] => {
            let shaper = Shaper { rate: Some(rate.parse()?), packet: PACKET, buffer: buffer.parse::<u64>()? * PACKET };
            let law = Law::read(&serde_json::from_str(aqm)?, shaper, Hook::Egress)?;
            let weight = |each: &&str| {
                let (path, weight) = each.split_once('=').ok_or(USAGE)?;
                Ok((path.into(), weight.parse()?))
            };
            let law = law.weigh_cgroups(&cgroups.iter().map(weight).collect::<Result<Vec<_>, Box<dyn Error>>>()?)?;
            println!("attached {}", attachment::attach(None, device, Hook::Egress, law, Signal::Ecn)?);
        }
        _ => return Err(USAGE.into()),
    }
    Ok(())
}

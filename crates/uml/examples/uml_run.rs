//! Runs a plan with kernels and prints its digest: `uml_run PLAN.json SEED NAME=DIRECTORY...`, where a directory has
//! `linux` and `guest-init`.

use marqueue_sim::Control;
use marqueue_uml::KernelFiles;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let plan = serde_json::from_str(&std::fs::read_to_string(arguments.next().ok_or("no plan")?)?)?;
    let seed = arguments.next().ok_or("no seed")?.parse()?;
    let mut kernels = BTreeMap::new();
    for each in arguments {
        let (name, directory) = each.split_once('=').ok_or("expected NAME=DIRECTORY")?;
        let directory = PathBuf::from(directory);
        let tc = Some(directory.join("tc")).filter(|path| path.exists());
        let files =
            KernelFiles { image: directory.join("linux"), init: directory.join("guest-init"), tc, messages: false };
        kernels.insert(name.to_string(), files);
    }
    let result = marqueue_uml::run(&plan, seed, &kernels, &Control::default())?;
    for (row, group) in result.flows.group.iter().enumerate() {
        let windows = result.edges.len() - 1;
        let delivered = &result.flows.delivered[row * windows..(row + 1) * windows];
        let (sent, again) = (result.flows.sent[row], result.flows.retransmits[row]);
        println!(
            "flow {row} of group {group}: delivered {delivered:?}, sent {sent}, retransmitted {again}, end {:?}",
            result.flows.end[row]
        );
    }
    println!("ended {:?}, events {}, digest {}", result.ended, result.events, marqueue_sim::digest(&result));
    Ok(())
}

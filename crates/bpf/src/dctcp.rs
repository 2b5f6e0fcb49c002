//! DCTCP as a congestion control of this machine's TCP, for as long as somebody holds it.

use crate::machine::{self, failed};
use crate::Error;
use libbpf_rs::{Link, MapCore, ObjectBuilder};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.bpf.o"));

/// The name that the object has; it is replaced by one that no other process registers.
const NAME: &[u8] = b"dctcp_bpf";

/// The congestion control, registered in the whole machine until this is dropped or its process ends, however.
/// Connections that use it then keep it.
#[derive(Debug)]
pub struct Dctcp {
    name: String,
    _link: Link,
}

impl Dctcp {
    /// Registers it.
    ///
    /// # Errors
    /// If the kernel refuses it: it must be of version 6.4 or later.
    pub fn register() -> Result<Dctcp, Error> {
        static REGISTERED: AtomicU32 = AtomicU32::new(0);
        machine::ready()?;
        let explain = |error| failed("the kernel (6.4 or later) refused DCTCP", &error);
        let name = format!("dctcp_{:x}_{:x}", process::id(), REGISTERED.fetch_add(1, Ordering::Relaxed) % 256);
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(explain)?;
        for mut map in open.maps_mut().filter(|map| map.name() == "dctcp") {
            let value = map.initial_value_mut().expect("the structure of a struct_ops map");
            let at = value.windows(NAME.len()).position(|part| part == NAME).expect("the name in it");
            value[at..at + name.len()].copy_from_slice(name.as_bytes());
        }
        let mut object = open.load().map_err(explain)?;
        let mut map = object.maps_mut().find(|map| map.name() == "dctcp").expect("a map dctcp");
        let link = map.attach_struct_ops().map_err(explain)?;
        Ok(Dctcp { name, _link: link })
    }

    /// By which it is chosen, as in `iperf3 -C NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

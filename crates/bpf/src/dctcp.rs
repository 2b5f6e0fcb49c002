//! Registers DCTCP as a congestion control of the host's TCP while a handle is held.

use crate::interface::Error;
use crate::requirements::{self, libbpf_error};
use libbpf_rs::{Link, MapCore, ObjectBuilder};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.bpf.o"));

/// The name of the congestion control of this process, as in `iperf3 -C dctcp_4711`. Each process registers its own,
/// because that of another process may disappear at any time.
pub fn name() -> String {
    format!("dctcp_{}", std::process::id())
}

/// The registered congestion control. It is unregistered when this value is dropped or the process ends. Connections
/// that use it then keep it.
#[derive(Debug)]
pub struct Dctcp(#[allow(dead_code)] Link); // Held for its Drop.

impl Dctcp {
    /// Registers DCTCP with the kernel.
    ///
    /// # Errors
    /// If the kernel refuses: it must be of version 6.4 or later and have no congestion control of that name.
    pub fn register() -> Result<Dctcp, Error> {
        requirements::check()?;
        let explain = |error| libbpf_error("the kernel (6.4 or later) refused DCTCP", &error);
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(explain)?;
        let mut ops = open.maps_mut().find(|map| map.name() == "dctcp").expect("a map dctcp");
        // The name field has 16 bytes with a terminating zero, and is all zeros initially.
        let value = ops.initial_value_mut().expect("what is in the object");
        value[..name().len()].copy_from_slice(name().as_bytes());
        let mut object = open.load().map_err(explain)?;
        let mut map = object.maps_mut().find(|map| map.name() == "dctcp").expect("a map dctcp");
        let link = map.attach_struct_ops().map_err(explain)?;
        Ok(Dctcp(link))
    }
}

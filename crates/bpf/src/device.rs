//! A network device.

use crate::interface::Error;
use crate::{pins, requirements};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{socket, AddressFamily, SocketType};
use std::os::fd::OwnedFd;

/// A device of this thread's network namespace.
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: i32,
    /// An open file descriptor, which looking up a hook needs.
    pub socket: OwnedFd,
}

impl Device {
    /// The device of this name.
    ///
    /// # Errors
    /// If there is none, or no program can be loaded.
    pub fn find(name: &str) -> Result<Device, Error> {
        requirements::check()?;
        let unknown = |error| Error(format!("got device \"{name}\", expected one of this network namespace ({error})"));
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(unknown)?;
        let index = name_to_index(&socket, name).map_err(unknown)?;
        Ok(Device { name: name.into(), index: index as i32, socket })
    }

    /// Removes what is pinned for devices that are no more.
    ///
    /// # Errors
    /// If there is no file system of BPF.
    pub fn sweep(&self) -> Result<(), Error> {
        pins::sweep(|index| index_to_name(&self.socket, index).is_ok())
    }
}

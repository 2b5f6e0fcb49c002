//! Opens devices and sockets in another network namespace. They stay in it, whichever thread uses them.

use rustix::fd::AsFd;
use rustix::fs::{open, Mode, OFlags};
use rustix::io::Result;
use rustix::thread::{move_into_link_name_space, LinkNameSpaceType};
use std::path::Path;

/// Runs `open_there` in the network namespace of the file `namespace`, by default in that of the calling thread.
///
/// # Errors
/// If the namespace cannot be opened or entered, or those of `open_there`.
pub fn inside<T: Send>(namespace: Option<&Path>, open_there: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let Some(path) = namespace else { return open_there() };
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // Only a thread of its own may change its namespace without effect on the rest of the process.
    let opened = std::thread::scope(|scope| {
        let enter_and_open = || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            open_there()
        };
        scope.spawn(enter_and_open).join()
    });
    opened.expect("the thread does not panic")
}

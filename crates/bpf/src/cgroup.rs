//! Weights of packets by the cgroup of the socket that sends them (cgroup version 2; `c/cgroup.h`), in units of 2^-20.

use crate::weights::UNIT;
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most cgroups with a weight of their own.
const MOST: usize = 16;

/// The weights that there can be, as by code point.
const RANGE: std::ops::RangeInclusive<f64> = 1.0..=1e6;

/// The weight of a cgroup, and of those below it that have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CgroupWeight {
    /// Its number in the kernel: the inode number of its folder.
    pub id: u64,
    /// 2^-20.
    pub weight: u64,
}

/// Looks for cgroups, each a path as in /proc/PID/cgroup or that of its folder.
///
/// # Errors
/// If there is no such cgroup, it is given twice, there are too many, or a weight is not 1 to 1e6.
pub fn read(given: &[(PathBuf, f64)]) -> Result<Vec<CgroupWeight>, String> {
    let root = root().ok_or("cgroup-weight: got one, expected none: no cgroup file system of version 2 is mounted")?;
    if given.len() > MOST {
        return Err(format!("cgroup-weight: got {} cgroups, expected at most {MOST}", given.len()));
    }
    let mut read: Vec<CgroupWeight> = Vec::new();
    for (path, weight) in given {
        if !RANGE.contains(weight) {
            return Err(format!(
                "cgroup-weight: got {weight} for {path:?}, expected {} to {}",
                RANGE.start(),
                RANGE.end()
            ));
        }
        let id = id(&root, path)?;
        if read.iter().any(|each| each.id == id) {
            return Err(format!("cgroup-weight: got {path:?} twice, expected one weight"));
        }
        read.push(CgroupWeight { id, weight: (weight * UNIT as f64).round() as u64 });
    }
    Ok(read)
}

/// The number of a cgroup. Paths begin at the root of the hierarchy, or with where that is mounted.
fn id(root: &Path, path: &Path) -> Result<u64, String> {
    let below = path.strip_prefix(root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let folder = root.join(below);
    let refused = |why: &dyn Display| {
        format!("cgroup-weight: got {path:?}, expected a cgroup below {}: {}: {why}", root.display(), folder.display())
    };
    let found = fs::metadata(&folder).map_err(|error| refused(&error))?;
    let hierarchy = fs::metadata(root).map_err(|error| refused(&error))?;
    // A file system has a device number of its own.
    if found.is_dir() && found.dev() == hierarchy.dev() {
        Ok(found.ino())
    } else {
        Err(refused(&"is none"))
    }
}

/// Where version 2 is mounted: below another place where version 1 is in use too.
fn root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let point = |line: &str| {
        let (place, kind) = line.split_once(" - ")?;
        (kind.split(' ').next() == Some("cgroup2")).then(|| place.split(' ').nth(4)).flatten().map(PathBuf::from)
    };
    mounts.lines().find_map(point)
}

/// By path, or by number where the cgroup is no more, as numbers.
pub fn values(weights: &[CgroupWeight]) -> impl Iterator<Item = (String, f64)> + '_ {
    let root = if weights.is_empty() { None } else { root() };
    weights.iter().map(move |each| {
        let name = root.as_ref().and_then(|root| find(root, root, each.id));
        let name = name.unwrap_or_else(|| each.id.to_string());
        (format!("cgroup-weight.{name}"), each.weight as f64 / UNIT as f64)
    })
}

/// The path of a cgroup in the hierarchy.
fn find(root: &Path, folder: &Path, id: u64) -> Option<String> {
    if fs::metadata(folder).is_ok_and(|found| found.ino() == id) {
        return Some(format!("/{}", folder.strip_prefix(root).ok()?.display()));
    }
    let below = fs::read_dir(folder).ok()?.flatten().filter(|each| each.file_type().is_ok_and(|kind| kind.is_dir()));
    below.into_iter().find_map(|each| find(root, &each.path(), id))
}

/// The words of a program.
pub fn words(weights: &[CgroupWeight]) -> Vec<u64> {
    let mut words: Vec<u64> = weights.iter().flat_map(|each| [each.id, each.weight]).collect();
    words.resize(2 * MOST, 0);
    words
}

/// The reverse of [`words`]; `None` if there are not so many.
pub fn from_words(words: &[u64]) -> Option<Vec<CgroupWeight>> {
    let used = words.chunks_exact(2).map(|pair| CgroupWeight { id: pair[0], weight: pair[1] });
    (words.len() == 2 * MOST).then(|| used.take_while(|each| each.id > 0).collect())
}

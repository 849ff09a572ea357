//! Memory that arrays may take: one limit for every array that is about to be laid out.
//!
//! Code that lays out an array asks [`reserve`] first, names the instruction, and holds what it gets until the array is there: what
//! several threads are about to lay out at once adds up. The limit is the least of what the system can
//! give without swapping, what the control groups of this process leave, and what its address space may still grow by
//! (`ulimit -v`); [`set_limit`] and the environment variable [`VARIABLE`] set another one.

mod ledger;

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use ledger::Ledger;
pub use ledger::Reserved;

/// The environment variable that sets the limit: bytes, or a number with K, M, G or T behind it (powers of 1024).
pub const VARIABLE: &str = "ULPGATE_MEMORY";

/// Arrays of fewer bytes are not held against what the system has: asking it takes longer than laying them out. A limit that was
/// set holds for them as well.
const WORTH_ASKING: u128 = 1 << 22;

/// The time that a thread waits for memory that others hold, before it is refused.
const PATIENCE: Duration = Duration::from_secs(60);

/// The limit that was set; 0 where none was.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// An array, or several at once, that do not fit in memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what}: it needs at least {} of memory ({needed} bytes) and {} are {}",
    Bytes(*.needed),
    Bytes(*.free),
    given(*.is_set)
)]
pub struct TooLarge {
    /// The instruction that lays them out, with what it does.
    pub what: String,
    /// Bytes that they take, at least.
    pub needed: u128,
    /// Bytes that they may take.
    pub free: u128,
    /// Whether that is a limit that was set, and not what the system has.
    pub is_set: bool,
}

fn given(is_set: bool) -> String {
    if is_set { format!("allowed: {VARIABLE} sets the limit") } else { "free".to_string() }
}

/// A number of bytes in the largest unit that it has one of.
pub struct Bytes(pub u128);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.iter().find(|(_, shift)| self.0 >> shift > 0) {
            Some((unit, shift)) => write!(f, "{:.1} {unit}", self.0 as f64 / (1u64 << shift) as f64),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

/// Asks for memory that arrays are about to take, and holds it until what is returned is dropped. Where it fits, but not beside what
/// other threads hold, this waits for them. `what` names the instruction and is only called for a refusal.
///
/// # Errors
/// If that is more than the limit, or stays more than others leave; never where neither a limit is set nor the system says what it
/// has.
pub fn reserve(bytes: u128, what: impl FnOnce() -> String) -> Result<Reserved, TooLarge> {
    static ALL: Ledger = Ledger::new();
    let set = limit();
    if set.is_none() && bytes < WORTH_ASKING {
        return Ok(Reserved::empty());
    }
    let free = || set.or_else(system_memory);
    let taken = ALL.take(bytes, &free, PATIENCE);
    taken.map_err(|free| TooLarge { what: what(), needed: bytes, free, is_set: set.is_some() })
}

/// Elements of so many bytes each, without overflow: what [`reserve`] takes.
pub fn bytes_of(elements: impl IntoIterator<Item = usize>, each: u128) -> u128 {
    elements.into_iter().fold(each, |product, extent| product.saturating_mul(extent as u128))
}

/// Sets the limit for this process, in bytes, or leaves it to the system again.
pub fn set_limit(bytes: Option<u64>) {
    LIMIT.store(bytes.map_or(0, |bytes| bytes.max(1)), Relaxed);
}

/// The limit that was set, by [`set_limit`] or by the environment.
pub fn limit() -> Option<u128> {
    static FROM_ENVIRONMENT: OnceLock<Option<u64>> = OnceLock::new();
    match LIMIT.load(Relaxed) {
        0 => *FROM_ENVIRONMENT.get_or_init(|| from_environment().unwrap_or_default()),
        set => Some(set),
    }
    .map(u128::from)
}

/// The limit that [`VARIABLE`] sets, if it is there.
///
/// # Errors
/// If its value is no number of bytes.
pub fn from_environment() -> Result<Option<u64>, String> {
    let Some(text) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let text = text.to_string_lossy();
    let bytes = parse(&text);
    bytes.map(Some).ok_or_else(|| {
        format!("{VARIABLE} is `{text}`, which is no number of bytes: write 8000000000, or 8G with K, M, G or T for powers of 1024")
    })
}

/// `8G`, `512M` or a number of bytes; at least one byte.
fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let unit = units.into_iter().find(|(unit, _)| text.to_ascii_uppercase().ends_with(*unit));
    let (digits, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], shift));
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

/// Bytes that arrays may take together: the limit that is set, or what the system can give. `None` where neither is known.
pub fn free_memory() -> Option<u128> {
    limit().or_else(system_memory)
}

/// Bytes that the system can give this process (Linux): without swapping, by its control groups, and by `ulimit -v`.
fn system_memory() -> Option<u128> {
    let available = kilobytes("/proc/meminfo", "MemAvailable:");
    [available, left_in_groups(), left_of_addresses()].into_iter().flatten().min()
}

/// Bytes that the control groups of this process leave, those of version 2 and of version 1: a group's limit holds for the groups
/// in it.
fn left_in_groups() -> Option<u128> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let number = |path: &Path, name: &str| std::fs::read_to_string(path.join(name)).ok()?.trim().parse::<u128>().ok();
    // A group that does not say how much is taken still says how much there is.
    let left = |group: &Path, most: &str, taken: &str| {
        number(group, most).map(|most| most.saturating_sub(number(group, taken).unwrap_or(0)))
    };
    let (v2, v1) = (Path::new("/sys/fs/cgroup"), Path::new("/sys/fs/cgroup/memory"));
    let mut least =
        [left(v2, "memory.max", "memory.current"), left(v1, "memory.limit_in_bytes", "memory.usage_in_bytes")]
            .into_iter()
            .flatten()
            .min();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, most, taken) = match controllers {
            "" => (v2, "memory.max", "memory.current"),
            list if list.split(',').any(|name| name == "memory") => {
                (v1, "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let own = root.join(path.trim_start_matches('/'));
        let inside = own.ancestors().take_while(|group| group.starts_with(root));
        least = inside.filter_map(|group| left(group, most, taken)).chain(least).min();
    }
    least
}

/// Bytes by which the address space may still grow; `None` where `ulimit -v` sets no limit.
fn left_of_addresses() -> Option<u128> {
    /// Bytes of stacks and of the allocator's own, which take addresses as well.
    const BESIDE: u128 = 1 << 24;
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u128 = line.split_whitespace().next()?.parse().ok()?;
    // Where the size is not known, all of the limit counts.
    let taken = kilobytes("/proc/self/status", "VmSize:").unwrap_or(0);
    Some(most.saturating_sub(taken).saturating_sub(BESIDE))
}

/// The most memory that this process has held, in bytes, where the system tells (Linux).
pub fn peak_memory() -> Option<u128> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// The bytes of a line such as `VmHWM:  1024 kB`.
fn kilobytes(file: &str, name: &str) -> Option<u128> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u128>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        assert_eq!(parse("4096"), Some(4096));
        assert_eq!(parse("3k"), Some(3072));
        assert_eq!(parse(" 8G "), Some(8 << 30));
        assert_eq!(parse("1T"), Some(1 << 40));
        for bad in ["", "G", "0", "-1", "8GB", "1e9", "99999999999999999999", "99999999999T"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn linux_says_what_is_free() {
        if cfg!(target_os = "linux") {
            assert!(system_memory().is_some_and(|free| free > 1 << 20));
            assert!(peak_memory().is_some_and(|peak| peak > 1 << 20));
        }
    }

    #[test]
    fn a_refusal_names_the_instruction_and_the_bytes() {
        let refused = reserve(u128::MAX / 2, || "x.1 (broadcast)".to_string()).unwrap_err();
        assert!(refused.to_string().starts_with("x.1 (broadcast): it needs at least "), "{refused}");
        let refused = TooLarge { what: "x".to_string(), needed: 3 << 29, free: 1000, is_set: false };
        assert_eq!(
            refused.to_string(),
            "x: it needs at least 1.5 GiB of memory (1610612736 bytes) and 1000 bytes are free"
        );
    }

    #[test]
    fn bytes_of_extents_beyond_a_word_saturate() {
        assert_eq!(bytes_of([usize::MAX; 3], 16), u128::MAX);
        assert_eq!(bytes_of([1_000_000_000_000, 1_000_000_000_000], 4), 4_000_000_000_000_000_000_000_000);
        assert_eq!(bytes_of([usize::MAX, 0], 4), 0);
    }
}

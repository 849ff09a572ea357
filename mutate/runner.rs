//! Running tests with a fault switched on.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Failure;

/// The memory that a test may ask for, in KiB: a fault that makes it ask for all must not take the machine down.
const MEMORY: u64 = 12 << 20;

/// The outcome of a run.
pub struct Outcome {
    pub passed: bool,
    /// Whether it was ended.
    pub too_long: bool,
    /// Time of the processor, where the system tells it: other programs may keep the machine busy.
    pub took: Duration,
}

/// The switch as the copy reads it from its environment.
#[derive(Clone, Copy)]
pub enum Switch<'a> {
    Off,
    On(u32),
    /// Appends the faults that are met to this file.
    Record(&'a Path),
}

/// The time that tests may be there, however much they may compute: one may wait for a program that waits for ever.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs tests of an executable in the copy. They are ended after computing for `limit`, or being there for ten times as
/// long or for [`LONGEST`], and have failed then. The time of a program that they start counts once it has ended: the system
/// ends each that computes for more than twice `limit`.
pub fn run(
    folder: &Path,
    executable: &Path,
    arguments: &[String],
    switch: Switch,
    limit: Duration,
) -> Result<Outcome, Failure> {
    let mut command = if cfg!(target_os = "linux") {
        let each = 2 * limit.as_secs() + 5;
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY}; ulimit -t {each}; exec \"$0\" \"$@\"")]).arg(executable);
        shell
    } else {
        Command::new(executable)
    };
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).env("RUST_TEST_THREADS", "1").env_remove("ULPGATE_MUTANT").env("RUST_BACKTRACE", "0");
    match switch {
        Switch::Off => &mut command,
        Switch::On(fault) => command.env("ULPGATE_MUTANT", fault.to_string()),
        Switch::Record(path) => command.env("ULPGATE_MUTANT", "record").env("ULPGATE_MET", path),
    };
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let started = Instant::now();
    let mut child = command.spawn()?;
    let mut computed = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        computed = processor_time(child.id()).or(computed);
        if computed.unwrap_or_default() > limit || started.elapsed() > (10 * limit).min(LONGEST) {
            // The programs that it started go with it.
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let (passed, too_long) = (status.is_some_and(|status| status.success()), status.is_none());
    Ok(Outcome { passed, too_long, took: computed.unwrap_or(started.elapsed()) })
}

/// The time that a process and those that it has waited for have computed, where Linux says so.
fn processor_time(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Fields 14 to 17 (proc_pid_stat(5)), in hundredths of a second; the second field ends with a parenthesis.
    let fields = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(10 * ticks))
}

/// Names of the tests of an executable that are not ignored.
pub fn names(folder: &Path, executable: &Path) -> Result<Vec<String>, Failure> {
    let list = |more: &[&str]| -> Result<BTreeSet<String>, Failure> {
        let listed = Command::new(executable)
            .args(["--list", "--format", "terse"])
            .args(more)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_string).collect())
    };
    Ok(list(&[])?.difference(&list(&["--ignored"])?).cloned().collect())
}

/// Does something with each item, as many at a time as there are cores; results in the order of the items.
pub fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R, Failure> + Sync) -> Result<Vec<R>, Failure> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<R, String>>>> = Mutex::new(items.iter().map(|_| None).collect());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(item).map_err(|e| e.to_string());
                    if let Ok(mut results) = results.lock() {
                        results[at] = Some(result);
                    }
                }
            });
        }
    });
    let results = results.into_inner().map_err(|_| "a worker has panicked")?;
    results.into_iter().map(|result| result.ok_or("a worker has stopped")?.map_err(Failure::from)).collect()
}

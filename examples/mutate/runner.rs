//! Running tests with a fault switched on.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Failure;

/// How much memory a test may ask for, in KiB: a fault that makes it ask for all must not take the machine down.
const MEMORY: u64 = 12 << 20;

/// What became of a run.
pub struct Outcome {
    pub passed: bool,
    /// How many tests ran; 0 if the executable did not come so far as to say.
    pub tests: usize,
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

/// Runs tests of an executable in the copy. One that takes longer than `limit` is ended, and has failed.
pub fn run(
    folder: &Path,
    executable: &Path,
    arguments: &[String],
    switch: Switch,
    limit: Duration,
) -> Result<Outcome, Failure> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let said = format!("mutate-{}-{}.out", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let said = std::env::temp_dir().join(said);
    let mut command = if cfg!(target_os = "linux") {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(executable);
        shell
    } else {
        Command::new(executable)
    };
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(File::create(&said)?);
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
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > limit {
            // The programs that it started go with it.
            let group = format!("-{}", child.id());
            Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = String::from_utf8_lossy(&std::fs::read(&said)?).into_owned();
    std::fs::remove_file(&said)?;
    let count = |line: &str| line.strip_prefix("running ")?.split(' ').next()?.parse().ok();
    let tests = text.lines().find_map(count).unwrap_or(0);
    Ok(Outcome { passed: status.is_some_and(|status| status.success()), tests, took: started.elapsed() })
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

/// The target and the filters that arguments of `cargo test` choose.
pub fn target(test: &[String]) -> Result<(String, &[String]), Failure> {
    match test {
        [library, filters @ ..] if library == "--lib" => Ok((library.clone(), filters)),
        [flag, name, filters @ ..] if flag == "--test" => Ok((format!("{flag} {name}"), filters)),
        _ => Err(format!("{test:?}: tests are chosen by --lib or --test NAME, and filters").into()),
    }
}

/// The longest that a test may take which takes so long without a fault.
pub fn limit(sound: Duration) -> Duration {
    10 * sound + Duration::from_secs(20)
}

/// A path that can be shared by the threads of [`each`].
pub fn scratch(name: &str, number: usize) -> PathBuf {
    std::env::temp_dir().join(format!("mutate-{}-{name}-{number}", std::process::id()))
}

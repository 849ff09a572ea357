//! Two runs that would write into one folder: the second one is told who is there.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ulpgate::run::{LOCK, LockedFolder};

use super::{Folder, KEEP, SOFTMAX, edited};

#[test]
fn a_folder_that_another_process_writes_is_left_to_it() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    folder.exits(0, &["run", "--shard", "1/1", "--out", "part"]);
    let before = folder.bytes("reports");
    let lock = LockedFolder::lock(&folder.path("reports")).unwrap();
    let held = format!("reports is being written by process {} on ", std::process::id());
    let writing: [&[&str]; 6] = [
        &["run"],
        &["run", "--resume", "--filter", "/cpu/"],
        &["run", "--out", "reports"],
        &["report"],
        &["merge", "part", "--out", "reports"],
        &["gate", "--bless"],
    ];
    for arguments in writing {
        let err = folder.exits(2, arguments).err;
        assert!(err.contains(&held) && err.contains(" since 2") && err.contains("wait for it"), "{arguments:?}: {err}");
    }
    // What writes elsewhere, or nothing, goes on.
    folder.exits(0, &["gate"]);
    folder.exits(0, &["run", "--filter", "/cpu/"]);
    folder.exits(0, &["run", "--out", "elsewhere"]);
    drop(lock);
    assert_eq!(folder.bytes("reports"), before);
    folder.exits(0, &["run"]);
    assert_eq!(folder.bytes("reports"), before, "and no lock is left");
}

/// The system ends a lock with its process: nobody has to remove the file of one that was killed.
#[test]
fn the_lock_of_a_killed_run_is_taken_over() {
    // Long enough to be killed.
    let long = edited(KEEP, &[("EXCESS", "off"), ("n = [256]", "n = [4096]"), ("rows = [64]", "rows = [4000]")]);
    let folder = Folder::new(&[("long", &long), ("softmax", SOFTMAX)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
    command.args(["run", "--jobs", "1", "--out", "reports"]).current_dir(folder.path(".")).stderr(Stdio::null());
    let mut first = command.stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let lock = folder.path(&format!("reports/{LOCK}"));
    while fs::read_to_string(&lock).unwrap_or_default().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never locks");
        std::thread::sleep(Duration::from_millis(2));
    }
    let err = folder.exits(2, &["run", "softmax", "--out", "reports"]).err;
    assert!(err.contains(&format!("written by process {} on ", first.id())), "{err}");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(lock.exists(), "a killed process removes nothing");
    folder.exits(0, &["run", "softmax", "--out", "reports"]);
    assert!(!lock.exists());
    assert!(folder.read("reports/softmax.csv").starts_with("case,"));
}

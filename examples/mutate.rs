//! Plants each fault of `tests/mutations.toml` alone in a copy of the project and runs the test that must see it.
//!
//! `cargo run --example mutate [TEXT]` runs those whose name contains TEXT. The copy lies below the target folder; it
//! shares the crates that `cargo test` has built (from cargo 1.91 on), and its own binaries lie apart.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    mutation: Vec<Mutation>,
}

/// One fault: a text that stands once in a file, what takes its place, the `cargo test` arguments that must fail, and
/// what would go unseen if they did not.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutation {
    name: String,
    file: PathBuf,
    from: String,
    to: String,
    test: Vec<String>,
    why: String,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let list: List = toml::from_str(&std::fs::read_to_string(root.join("tests/mutations.toml"))?)?;
    let mutations: Vec<Mutation> = list.mutation.into_iter().filter(|m| m.name.contains(&wanted)).collect();
    let copy = root.join("target/mutate/project");
    if copy.exists() {
        std::fs::remove_dir_all(&copy)?;
    }
    for part in ["Cargo.toml", "Cargo.lock", ".cargo", "gmp.site", "src", "tests", "suites", "examples", "benches"] {
        copied(&root.join(part), &copy.join(part))?;
    }
    // A fault must be what turns a test red: without one, all of them pass.
    let mut tests: Vec<&Vec<String>> = mutations.iter().map(|m| &m.test).collect();
    tests.sort();
    tests.dedup();
    for test in tests {
        if !passes(&copy, test)? {
            return Err(format!("cargo test {} fails without any fault", test.join(" ")).into());
        }
    }
    let mut survived = 0;
    for mutation in &mutations {
        let started = Instant::now();
        let path = copy.join(&mutation.file);
        let sound = std::fs::read_to_string(&path)?;
        let killed = if sound.matches(&mutation.from).count() == 1 {
            std::fs::write(&path, sound.replace(&mutation.from, &mutation.to))?;
            let killed = !passes(&copy, &mutation.test)?;
            std::fs::write(&path, &sound)?;
            killed
        } else {
            eprintln!("{}: its text does not stand exactly once in {}", mutation.name, mutation.file.display());
            false
        };
        survived += usize::from(!killed);
        let verdict = if killed { "killed" } else { "SURVIVED" };
        println!("{verdict}: {} ({:.0} s)", mutation.name, started.elapsed().as_secs_f64());
        if !killed {
            println!("  it would go unseen, although {}", mutation.why);
        }
    }
    println!("{} passed, {survived} failed", mutations.len() - survived);
    Ok(survived == 0)
}

/// Whether `cargo test` with these arguments builds and passes. A fault that does not build is no fault.
fn passes(copy: &Path, test: &[String]) -> Result<bool, Failure> {
    let cargo = |arguments: &[&str]| {
        Command::new(env!("CARGO"))
            .args(["test", "--quiet"])
            .args(test)
            .args(arguments)
            .current_dir(copy)
            .env("CARGO_TARGET_DIR", copy.join("../build"))
            .env("CARGO_BUILD_BUILD_DIR", copy.join("../.."))
            .stdin(Stdio::null())
            .output()
    };
    let built = cargo(&["--no-run"])?;
    if !built.status.success() {
        return Err(format!("the project does not build:\n{}", String::from_utf8_lossy(&built.stderr)).into());
    }
    let run = cargo(&[])?;
    let said = String::from_utf8_lossy(&run.stdout);
    if !said.lines().any(|line| line.starts_with("running ") && line != "running 0 tests") {
        return Err(format!("cargo test {} runs no test", test.join(" ")).into());
    }
    Ok(run.status.success())
}

/// Copies a file, or a folder with all in it.
fn copied(from: &Path, to: &Path) -> Result<(), Failure> {
    if !from.is_dir() {
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy(from, to)?;
        return Ok(());
    }
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copied(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

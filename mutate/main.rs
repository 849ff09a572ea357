//! Plants faults in a copy of the project and runs the tests that must see them.
//!
//! - `cargo run -p ulpgate-mutate -- [TEXT]`: those of `tests/mutations.toml` whose name contains TEXT.
//! - `cargo run -p ulpgate-mutate -- --share 4`: a fourth of them, which the hash of the commit chooses.
//! - `cargo run -p ulpgate-mutate -- --generated [--in src/ir/num]... [--optimized] [--out FILE]`: those that
//!   cargo-mutants makes. With `--again FILE`, only those of a table that `--out` wrote; and slow tests of the library are
//!   asked.
//! - `cargo run -p ulpgate-mutate -- --list FILE [TEXT]`: those of another list, each put to all tests that come by.
//!
//! All faults are built at once, each behind a switch that an environment variable sets. What can not be switched (a
//! constant, a row of a table) is built alone. The copy lies below the target folder; it shares the crates that
//! `cargo test` has built (from cargo 1.91 on), and its own binaries lie apart.

mod fault;
mod generated;
mod listed;
mod project;
mod runner;
mod schema;
mod source;
mod tests;
mod unlisted;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

type Failure = Box<dyn std::error::Error>;

/// Plants faults in a copy of the project and runs the tests that must see them.
#[derive(Parser)]
struct Arguments {
    /// A part of the names of the faults to plant.
    #[arg(default_value = "")]
    text: String,
    /// Plants one of this many parts of the list: the hash of the commit chooses which.
    #[arg(long, value_name = "PARTS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    share: u64,
    /// Plants what cargo-mutants makes.
    #[arg(long)]
    generated: bool,
    /// The places in which cargo-mutants makes faults: a file, or a folder.
    #[arg(long = "in", value_name = "PATH", requires = "generated")]
    places: Vec<String>,
    /// Builds optimised code: the build takes minutes, but more tests are quick enough to be asked.
    #[arg(long, requires = "generated")]
    optimized: bool,
    /// The file to which survivors are written.
    #[arg(long, value_name = "FILE", requires = "generated")]
    out: Option<PathBuf>,
    /// Plants only what stands in such a table, and asks the library's tests, slow ones as well.
    #[arg(long, value_name = "FILE", requires = "generated")]
    again: Option<PathBuf>,
    /// Plants what another list has, in the form of `tests/mutations.toml`; no test needs to be named.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["generated", "share"])]
    list: Option<PathBuf>,
    /// A folder of `tests/` whose tests the faults of such a list are put to, beside those of the libraries [default: all]
    #[arg(long = "tests", value_name = "NAME", requires = "list")]
    named: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the project");
    let done = if let Some(list) = &arguments.list {
        unlisted::run(root, list, &arguments.text, &arguments.named)
    } else if arguments.generated {
        generated::run(root, &arguments)
    } else {
        listed::run(root, &arguments.text, arguments.share)
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::from(2)
        }
    }
}

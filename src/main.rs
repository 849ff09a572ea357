//! The command line. See `ulpgate --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ulpgate::cli::main()
}

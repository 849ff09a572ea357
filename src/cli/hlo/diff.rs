//! `ulpgate hlo diff`: what changed from one file to the other.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::diff::{Change, difference};

use super::{Exit, Failure, import};

#[derive(Args)]
pub struct Arguments {
    /// The program as it was: what JAX hands over, or another compiler's output
    before: PathBuf,
    /// The program as it is now
    after: PathBuf,
    /// Print the changes as JSON
    #[arg(long)]
    json: bool,
}

/// Prints a line for each change of precision; finds nothing where there is none.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (before, after) = (import(&arguments.before)?, import(&arguments.after)?);
    let found = difference(&before, &after).map_err(|e| e.to_string())?;
    if arguments.json {
        let changes: Vec<serde_json::Value> = found.changes.iter().map(as_json).collect();
        let [left, right] = &found.unmatched;
        let value = json!({"changes": changes, "unmatched": {"before": left, "after": right}});
        writeln!(out, "{value:#}")?;
    } else {
        for change in &found.changes {
            writeln!(out, "{change}")?;
        }
    }
    Ok(if found.changes.is_empty() { Exit::AsExpected } else { Exit::Found })
}

fn as_json(change: &Change) -> serde_json::Value {
    json!({
        "kind": change.kind.name(),
        "name": change.name,
        "op_name": change.op_name,
        "before": change.before,
        "after": change.after,
    })
}

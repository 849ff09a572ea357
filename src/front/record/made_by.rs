//! The build that made records: results of two builds are not mixed, whatever their version says.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::suite::fingerprint;

/// A build of this program.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Its version.
    pub version: String,
    /// A fingerprint of the sources that compute and judge, 16 hex digits: the same on any machine.
    pub sources: String,
}

impl Build {
    /// The build that runs.
    pub fn current() -> Build {
        let own = [ulpgate_hlo::SOURCES, env!("ULPGATE_SOURCES")];
        let sources = ulpgate_numerics::SOURCES.into_iter().chain(own);
        let sources = format!("{:016x}", fingerprint(sources.map(str::as_bytes)));
        Build { version: env!("CARGO_PKG_VERSION").to_string(), sources }
    }
}

/// `ulpgate 0.1.0 of sources 0123456789abcdef`.
impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ulpgate {} of sources {}", self.version, self.sources)
    }
}

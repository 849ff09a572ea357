//! The tolerance of a test, as commands take it.

use clap::Args;

use ulpgate_front::criterion::{Reference, Tolerance};

/// A tolerance between computed and expected values.
#[derive(Args)]
pub struct ToleranceFlags {
    /// Absolute part of |computed - expected| <= atol + rtol |expected|
    #[arg(long, value_name = "ATOL", conflicts_with_all = ["ulp", "nmse"])]
    atol: Option<f64>,
    /// Relative part of it
    #[arg(long, value_name = "RTOL", conflicts_with_all = ["ulp", "nmse"])]
    rtol: Option<f64>,
    /// Units in the last place of the result's type
    #[arg(long, value_name = "ULPS", conflicts_with = "nmse")]
    ulp: Option<f64>,
    /// Normalized mean square error
    #[arg(long, value_name = "NMSE")]
    nmse: Option<f64>,
}

impl ToleranceFlags {
    /// The tolerance; `None` where no flag is given.
    pub fn tolerance(&self) -> Option<Tolerance> {
        match [self.atol, self.rtol, self.ulp, self.nmse] {
            [None, None, None, None] => None,
            [_, _, Some(ulps), _] => Some(Tolerance::Ulp(ulps)),
            [_, _, _, Some(nmse)] => Some(Tolerance::Nmse(nmse)),
            [atol, rtol, None, None] => Some(Tolerance::Close { atol: atol.unwrap_or(0.0), rtol: rtol.unwrap_or(0.0) }),
        }
    }
}

/// The values that a test expects, as a command line names them.
pub fn reference(text: &str) -> Result<Reference, String> {
    match text {
        "truth" => Ok(Reference::Truth),
        "rounded" => Ok(Reference::Rounded),
        mode => mode.parse().map(Reference::Mode).map_err(|error| format!("neither truth nor rounded, and {error}")),
    }
}

//! Settings: attributes of an operation in a file that may decide its bits, and that the machine does not follow, or, as an accuracy,
//! only where functions err.
//!
//! Nothing is proven over a setting: programs whose settings differ are not the same (`crate::same`), and `hlo diff`
//! reports a difference of settings.

use std::fmt::{self, Display, Formatter, Write};

/// One setting of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// `result_accuracy`: how exact a function of one operand is to be. Compilers choose among implementations by it.
    Accuracy(ResultAccuracy),
    /// `collective_algorithm_config` of `backend_config`: how a TPU's devices exchange and add (FACTS 6).
    CollectiveAlgorithm(CollectiveAlgorithm),
    /// Any other attribute, or key of a configuration.
    Other {
        /// Its name, behind those of the configurations that hold it: `backend_config.megacore_config`.
        name: String,
        /// Its value: as the file has it, JSON without spaces.
        value: String,
    },
}

/// The accuracy that is asked of a function; the default is no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResultAccuracy {
    /// `mode=highest`.
    Highest,
    /// `tolerance={atol=..., rtol=..., ulps=...}`; what a file leaves out is 0.
    Tolerance {
        /// The absolute tolerance, by the bits of its f64.
        atol: u64,
        /// The relative tolerance, by the bits of its f64.
        rtol: u64,
        /// The tolerance in ulps.
        ulps: i64,
    },
}

/// The algorithm of a collective.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectiveAlgorithm {
    /// The compiler's name of the code that it emits: `RotatedPincerEmitter`.
    pub emitter: String,
    /// The compiler's name of the order of exchanges: `UniDirectionNDRingStrategy`.
    pub strategy: String,
    /// Its other fields by name, as JSON: `debug` names colors, phases and cores.
    pub details: Vec<(String, String)>,
}

impl Setting {
    /// Its name, as a file has it.
    pub fn name(&self) -> &str {
        match self {
            Setting::Accuracy(_) => "result_accuracy",
            Setting::CollectiveAlgorithm(_) => "collective_algorithm_config",
            Setting::Other { name, .. } => name,
        }
    }

    /// Whether it is a user's promise about the indices of a gather or scatter: sorted, or no two equal. A file is only run where
    /// it is kept, and decides no bit there.
    pub fn is_promise(&self) -> bool {
        matches!(self, Setting::Other { name, .. } if matches!(name.as_str(), "indices_are_sorted" | "unique_indices"))
    }

    /// Whether it is a compiler's own: its plan, or a promise about indices, which it finds out or has made use of. A
    /// program and its compiled form differ in those.
    pub fn is_of_compiler(&self) -> bool {
        match self {
            Setting::Accuracy(_) => false,
            Setting::CollectiveAlgorithm(_) => true,
            Setting::Other { name, .. } => {
                name.starts_with("backend_config")
                    || matches!(name.as_str(), "execution_thread" | "async_execution_thread")
                    || self.is_promise()
            }
        }
    }
}

impl Display for ResultAccuracy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ResultAccuracy::Highest => write!(f, "{{mode=highest}}"),
            ResultAccuracy::Tolerance { atol, rtol, ulps } => {
                let [atol, rtol] = [atol, rtol].map(|bits| f64::from_bits(*bits));
                let [atol, rtol] = [atol, rtol].map(shortest);
                write!(f, "{{tolerance={{atol={atol}, rtol={rtol}, ulps={ulps}}}}}")
            }
        }
    }
}

/// The shorter of a number's digits without and with an exponent: `0.5`, `1e-30`.
fn shortest(number: f64) -> String {
    let (plain, scientific) = (format!("{number}"), format!("{number:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

impl Display for CollectiveAlgorithm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{emitter={}, strategy={}", Shortened(&self.emitter), Shortened(&self.strategy))?;
        for (name, value) in &self.details {
            write!(f, ", {}={}", Shortened(name), Shortened(value))?;
        }
        write!(f, "}}")
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Accuracy(accuracy) => write!(f, "result_accuracy={accuracy}"),
            Setting::CollectiveAlgorithm(algorithm) => write!(f, "collective_algorithm_config={algorithm}"),
            Setting::Other { name, value } => write!(f, "{}={}", Shortened(name), Shortened(value)),
        }
    }
}

/// A text for a line: control characters escaped, the end left out where it is long. Two long texts of one beginning are told
/// apart by a number of the whole.
struct Shortened<'a>(&'a str);

/// Characters of a text that a line shows.
const SHOWN: usize = 120;

impl Display for Shortened<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars().take(SHOWN) {
            if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
        }
        if self.0.chars().nth(SHOWN).is_some() {
            write!(f, "... ({} bytes, fnv {:016x})", self.0.len(), fnv(self.0.as_bytes()))?;
        }
        Ok(())
    }
}

/// The hash of Fowler, Noll and Vo (FNV-1a, 64 bits).
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{ResultAccuracy, Setting};

    /// Tolerances are read as a file has them, and no line has thirty zeros.
    #[test]
    fn a_tolerance_is_printed_in_its_shortest_form() {
        let printed = |atol: f64, rtol: f64| {
            ResultAccuracy::Tolerance { atol: atol.to_bits(), rtol: rtol.to_bits(), ulps: 2 }.to_string()
        };
        assert_eq!(printed(0.0, 1e-30), "{tolerance={atol=0, rtol=1e-30, ulps=2}}");
        assert_eq!(printed(0.5, 2.5e-300), "{tolerance={atol=0.5, rtol=2.5e-300, ulps=2}}");
        assert_eq!(printed(0.0625, 1e300), "{tolerance={atol=0.0625, rtol=1e300, ulps=2}}");
    }

    #[test]
    fn a_long_value_is_one_short_line_and_still_its_own() {
        let long = |end: &str| {
            let value = format!("{}\n{end}", "x".repeat(100_000));
            Setting::Other { name: "a\u{1b}[2J".to_string(), value }.to_string()
        };
        assert!(long("a").len() < 200 && !long("a").contains(char::is_control), "{}", long("a"));
        assert_ne!(long("a"), long("b"));
    }
}

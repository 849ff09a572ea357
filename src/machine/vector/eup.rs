//! Generations of the unit that computes transcendental functions (FACTS 3.3).

/// A generation of the unit that computes transcendental functions: its chips have the same bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eup {
    /// TPU v2 to v4.
    PreV5,
    /// TPU v5p ("EUP version 2").
    V5,
    /// TPU v6e ("EUP version 3").
    V6,
    /// TPU 7x, of which the compiler states nothing and has one implementation of each function: its bounds are those that were measured.
    V7,
    /// A CPU: correctly rounded, nothing to perturb.
    Exact,
    /// TPU v5e: the compiler states v5p's bounds of its functions and chooses implementations by them, and measured errors are those
    /// of v2 to v4.
    V5e,
}

impl Eup {
    /// The generation whose functions these are, as far as errors tell.
    pub(super) const fn functions(self) -> Eup {
        match self {
            Eup::V5e => Eup::PreV5,
            other => other,
        }
    }

    /// The chip whose rows of the compiler's table are looked up: those of the generation's other chips are the same.
    pub(super) const fn stated_for(self) -> Option<&'static str> {
        match self {
            Eup::PreV5 => Some("v2"),
            Eup::V5 => Some("v5p"),
            Eup::V5e => Some("v5e"),
            Eup::V6 => Some("v6e"),
            Eup::V7 | Eup::Exact => None,
        }
    }
}

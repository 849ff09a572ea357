//! Generations of the unit that computes transcendental functions (FACTS 3.3).

/// A generation of the unit that computes transcendental functions: its chips have the same bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eup {
    /// TPU v2 to v4.
    PreV5,
    /// TPU v5e and v5p ("EUP version 2").
    V5,
    /// TPU v6e ("EUP version 3").
    V6,
    /// TPU 7x, of which the compiler states nothing and has one implementation of each function: its bounds are v6e's default ones, a
    /// modelling choice.
    V7,
    /// A CPU: correctly rounded, nothing to perturb.
    Exact,
}

impl Eup {
    /// The chip of this generation whose rows of the table are looked up: those of its other chips are the same.
    pub(super) const fn stated_for(self) -> Option<&'static str> {
        match self {
            Eup::PreV5 => Some("v2"),
            Eup::V5 => Some("v5e"),
            Eup::V6 | Eup::V7 => Some("v6e"),
            Eup::Exact => None,
        }
    }
}

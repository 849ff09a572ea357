//! A mode's choice of the dots that the vector unit takes.

/// The dots of a program as written that the vector unit takes. It says nothing of a compiled file's dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorDots {
    /// Those that the chip's compiler makes multiply and reduce of.
    Compiler,
    /// Those of a vector.
    On,
    /// None.
    Off,
}

impl VectorDots {
    /// All, the default first.
    pub const ALL: &'static [VectorDots] = &[VectorDots::Compiler, VectorDots::On, VectorDots::Off];

    /// Its name in a mode.
    pub fn name(self) -> &'static str {
        match self {
            VectorDots::Compiler => "compiler",
            VectorDots::On => "on",
            VectorDots::Off => "off",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<VectorDots> {
        VectorDots::ALL.iter().copied().find(|dots| dots.name() == name)
    }

    /// Its meaning, for listings.
    pub fn doc(self) -> &'static str {
        match self {
            VectorDots::Compiler => "those that the chip's compiler makes multiply and reduce of (FACTS 2.3)",
            VectorDots::On => "every dot with an operand of one row or column",
            VectorDots::Off => "none: every dot uses the matrix unit",
        }
    }
}

//! Operations without a meaning here.

/// A function of its operands of which nothing else is known: two of the same name and terms have the same result for
/// the same operands. Files with such operations are shown and compared; every evaluation of a program refuses them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The opcode, of a custom call the target: `rng`, `tpu_custom_call`.
    pub name: String,
    /// Everything else that tells it from others of its name: shapes, attributes, the computations that it calls.
    pub terms: String,
    /// The number, from 0, of this array among its results.
    pub part: usize,
}

//! Operations that nothing here has a meaning for.

/// A function of its operands of which no more is known than that: two of the same name and terms give the same for the same
/// operands. Files are shown and compared with such; whatever evaluates a program refuses it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The opcode, of a custom call the target: `rng`, `tpu_custom_call`.
    pub name: String,
    /// Whatever else tells it from others of its name: shapes, attributes, what it calls.
    pub terms: String,
    /// Which of the arrays that it gives this is, from 0.
    pub part: usize,
}

//! One element of a value.

/// One element.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar {
    Float(f32),
    Double(f64),
    Integer(i64),
    Pred(bool),
}

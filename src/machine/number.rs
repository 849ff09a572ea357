//! One element of a value.

/// One element.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// Of a float type up to f32.
    Float(f32),
    /// Of f64.
    Double(f64),
    /// Of an integer type.
    Integer(i64),
    /// Of pred.
    Pred(bool),
}

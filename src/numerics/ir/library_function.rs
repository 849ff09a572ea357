//! What compilers leave to libraries that have a way of their own.

/// A function of a library, beside the instruction that says what it computes: of a machine that has the library, it says how.
#[derive(Clone, Debug, PartialEq)]
pub enum LibraryFunction {
    /// Beside a call of the definition, which takes real and imaginary part, or one real array, and gives the same.
    Fft(Fft),
}

/// A discrete Fourier transform over an array's last dims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fft {
    /// Of what to what.
    pub kind: FftKind,
    /// The extents of the transformed dims, of RFFT's operand and of IRFFT's result.
    pub lengths: Vec<usize>,
}

/// As HLO names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftKind {
    /// Complex to complex.
    Fft,
    /// Complex to complex, divided by the number of elements.
    Ifft,
    /// Real to the first half of the last dim's results, and one more.
    Rfft,
    /// The opposite, divided by the number of elements.
    Irfft,
}

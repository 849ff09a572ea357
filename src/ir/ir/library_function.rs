//! Functions that compilers leave to libraries with methods of their own.

/// A function of a library, kept beside the instruction that defines its result. On a machine that has the library, it
/// determines the method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LibraryFunction {
    /// Beside a call of the definition, which takes real and imaginary part, or one real array, and gives the same.
    Fft(Fft),
    /// Beside a call of a textbook's factorization: the lower factor of positive definite matrices, the other half left as it is,
    /// and LAPACK's `info` of each.
    Cholesky,
    /// Beside a call of substitution row by row, of a matrix and right-hand sides.
    TriangularSystem(TriangularSystem),
    /// Beside a call of a textbook's decomposition, of as many matrices as there are.
    Decomposition(Decomposition),
    /// Beside a dot that stands for it.
    Convolution(Convolution),
    /// Beside one of the four dots of parts that a dot of complex numbers is.
    ComplexDot,
    /// Beside one of the two sums of parts that a sum of complex numbers is: its code is not a library's, but that of neither
    /// part alone.
    ComplexSum,
    /// Beside one of the two parts of a product of complex numbers, which are computed together.
    ComplexProduct,
}

/// A discrete Fourier transform over an array's last dims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fft {
    /// The kind: the types of operand and result, and the direction.
    pub kind: FftKind,
    /// The extents of the transformed dims, of RFFT's operand and of IRFFT's result.
    pub lengths: Vec<usize>,
}

/// As HLO names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

/// Form of a triangular system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TriangularSystem {
    /// Whether the unknowns stand on the matrix' right: `op(a) x = b`, not `x op(a) = b`.
    pub is_left: bool,
    /// Whether the matrix' elements stand below its diagonal.
    pub is_lower: bool,
    /// Whether `op` transposes it.
    pub is_transposed: bool,
    /// Whether the diagonal counts as ones.
    pub has_ones: bool,
}

/// LAPACK's functions of an LU or QR decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decomposition {
    /// `getrf`: of a matrix L and U, the pivots from one, and `info`.
    Lu,
    /// `geqrf`: of a matrix the reflectors below R, and their taus.
    Qr,
    /// `orgqr`: of reflectors and taus the first columns of the product.
    Reflectors,
    /// `ormqr`: of reflectors, taus and a matrix the product of the reflectors times the matrix.
    Multiplication {
        /// Whether the reflectors stand on the matrix' left.
        is_left: bool,
        /// Whether their product is transposed.
        is_transposed: bool,
    },
}

/// Properties of a convolution that are lost in the dot that stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// Elements of the window: a sum has so many runs of products, one after the other, each over the features of a group.
    pub taps: usize,
    /// Rows of the dot that lie side by side in the result: its last spatial dim, or 1 where features come in groups.
    pub row: usize,
    /// Whether a library takes it: f32, two spatial dims at most, none of them read backwards, no groups of the batch.
    pub canonical: bool,
    /// Whether elements of the operand lie apart, and windows side by side: each element is multiplied with all of the kernel.
    pub transposed: bool,
    /// Positions of the operand, in all of its batch.
    pub inputs: usize,
}

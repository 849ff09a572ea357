//! The functions of pairs as types, for loops.

use super::super::isa::Loop;
use super::{Pair, Tables};

/// A function of one or two pairs for a loop to apply.
pub trait Kernel {
    fn apply(&self, x: Pair, y: Pair, tables: &Tables) -> Pair;
}

/// A type for each kernel. A function passed as a value is called through a shim that the compiler may leave apart, and
/// then without the instructions of [`widest`].
macro_rules! kernels {
    ($($name:ident = |$x:pat_param, $y:pat_param, $tables:pat_param| $result:expr;)*) => {$(
        pub struct $name;

        impl Kernel for $name {
            #[inline(always)]
            fn apply(&self, $x: Pair, $y: Pair, $tables: &Tables) -> Pair {
                $result
            }
        }
    )*};
}

kernels! {
    Cosine = |x, _, tables| super::cosine(x, tables);
    Erf = |x, _, tables| super::erf(x, tables);
    Exp = |x, _, tables| super::exp(x, tables);
    Expm1 = |x, _, tables| super::expm1(x, tables);
    Log = |x, _, tables| super::log(x, tables);
    Log1p = |x, _, tables| super::log1p(x, tables);
    Logistic = |x, _, tables| super::logistic(x, tables);
    Neg = |x, _, _| x.neg();
    Rsqrt = |x, _, _| super::rsqrt(x);
    Sine = |x, _, tables| super::sine(x, tables);
    Sqrt = |x, _, _| super::sqrt(x);
    Tan = |x, _, tables| super::tan(x, tables);
    Tanh = |x, _, tables| super::tanh(x, tables);
    Add = |x, y, _| super::add(x, y);
    Sub = |x, y, _| super::sub(x, y);
    Mul = |x, y, _| super::mul(x, y);
    Div = |x, y, _| super::div(x, y);
    Power = |x, y, tables| super::power(x, y, tables);
}

/// Applies a kernel to one element.
pub struct One<K> {
    pub kernel: K,
    pub x: Pair,
    pub y: Pair,
}

impl<K: Kernel> Loop for One<K> {
    type Output = Pair;

    #[inline(always)]
    fn run(self) -> Pair {
        self.kernel.apply(self.x, self.y, &Tables::ready())
    }
}

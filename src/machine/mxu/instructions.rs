//! The sets of vector instructions that products run on.

use super::isa::Portable;
#[cfg(target_arch = "x86_64")]
use super::isa::{Avx2, Avx512};

/// A set of vector instructions that this processor has. All give the same bits; they differ in speed alone.
#[derive(Clone, Copy, Debug)]
pub struct Instructions(pub(super) Set);

#[derive(Clone, Copy, Debug)]
pub(super) enum Set {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Instructions {
    /// The set that every processor of the target has.
    pub const PORTABLE: Instructions = Instructions(Set::Portable(Portable));

    /// All sets that this processor has, the fastest last.
    pub fn available() -> Vec<Instructions> {
        let mut sets = vec![Instructions::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            sets.extend(Avx2::detect().map(|isa| Instructions(Set::Avx2(isa))));
            sets.extend(Avx512::detect().map(|isa| Instructions(Set::Avx512(isa))));
        }
        sets
    }

    /// The fastest set that this processor has.
    pub fn best() -> Instructions {
        #[cfg(target_arch = "x86_64")]
        {
            let wide = Avx512::detect().map(|isa| Instructions(Set::Avx512(isa)));
            if let Some(best) = wide.or_else(|| Avx2::detect().map(|isa| Instructions(Set::Avx2(isa)))) {
                return best;
            }
        }
        Instructions::PORTABLE
    }

    /// The name, as `avx2`.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Set::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(_) => "avx512",
        }
    }
}

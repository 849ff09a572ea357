//! Tiling of a matmul, as a compiled file states it.

use std::fmt::{self, Display, Formatter};

/// The plan of a matmul in a compiled TPU file (FACTS 10.1). The meaning of each part is not public; `k_block` is an
/// inference that fits every file seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiling {
    /// The compiler's name for its method of writing the loops.
    pub emitter: String,
    /// The window of the right operand, in the file's units: rows in eights.
    pub kernel_window: Vec<usize>,
    /// The window of the result.
    pub output_window: Vec<usize>,
    /// The window of the left operand.
    pub input_window: Vec<usize>,
    /// Steps over the result's windows, and last over K's.
    pub iterations: Vec<usize>,
    /// The number of products that are summed before the sum is added to that of the next block; `None` if the windows
    /// do not determine it.
    pub k_block: Option<usize>,
}

impl Tiling {
    /// Nothing but K in blocks.
    pub fn of_k_block(k_block: usize) -> Tiling {
        Tiling { k_block: Some(k_block), ..Tiling::default() }
    }

    /// The same for a matmul of `k` products: the kernel's window times the last number of iterations is K, up to padding.
    pub fn of_k(&self, k: usize) -> Tiling {
        let fitting = match (&self.kernel_window[..], &self.iterations[..]) {
            ([rows, ..], [_, _, steps]) => {
                let block = rows.saturating_mul(8);
                let fits = block.saturating_mul(*steps) >= k && block.saturating_mul(steps.saturating_sub(1)) < k;
                fits.then_some(block.min(k))
            }
            _ => None,
        };
        Tiling { k_block: fitting.filter(|block| *block > 0), ..self.clone() }
    }

    /// The cut of the sum over K of `k` products.
    pub fn cut(&self, k: usize) -> KCut {
        match self.k_block {
            Some(size) if size < k => KCut::Blocks { count: k.div_ceil(size), size },
            Some(_) => KCut::Whole,
            None => KCut::Unknown,
        }
    }
}

/// The cut of a matmul's sum over K; as text `K in 8 blocks of 1792`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KCut {
    /// Into blocks.
    Blocks {
        /// The number of blocks.
        count: usize,
        /// The number of products in each, the last perhaps apart.
        size: usize,
    },
    /// All products in one block.
    Whole,
    /// The windows do not determine it.
    Unknown,
}

impl Display for KCut {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            KCut::Blocks { count, size } => write!(f, "K in {count} blocks of {size}"),
            KCut::Whole => write!(f, "K in one block"),
            KCut::Unknown => write!(f, "the cut of K is not known"),
        }
    }
}

impl Display for Tiling {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let joined = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        write!(f, "{}", if self.emitter.is_empty() { "no emitter" } else { &self.emitter })?;
        for (name, window) in
            [("kernel", &self.kernel_window), ("output", &self.output_window), ("input", &self.input_window)]
        {
            if !window.is_empty() {
                write!(f, ", {name} window {}", joined(window))?;
            }
        }
        if self.iterations.is_empty() { Ok(()) } else { write!(f, ", iterations {}", joined(&self.iterations)) }
    }
}

#[cfg(test)]
mod tests {
    use super::Tiling;

    fn plan(kernel: &[usize], iterations: &[usize]) -> Tiling {
        Tiling { kernel_window: kernel.to_vec(), iterations: iterations.to_vec(), ..Tiling::default() }
    }

    /// The table of FACTS 10.1: K = 14336 on v5e for 16, 64 and 2 rows.
    #[test]
    fn k_blocks_are_the_kernels_windows() {
        let k = 14336;
        for (kernel, steps, cut) in [
            (224, 8, "K in 8 blocks of 1792"),
            (368, 5, "K in 5 blocks of 2944"),
            (1792, 1, "K in one block"),
            (200, 8, "the cut of K is not known"),
            (400, 8, "the cut of K is not known"),
        ] {
            assert_eq!(plan(&[kernel, 32], &[1, 1, steps]).of_k(k).cut(k).to_string(), cut, "{kernel} x {steps}");
        }
        // A block is no longer than K, which its last step begins inside of.
        assert_eq!(plan(&[512], &[1, 1, 1]).of_k(100).k_block, Some(100));
        assert_eq!(
            [128, 129, 192, 193].map(|k| plan(&[8], &[1, 1, 3]).of_k(k).k_block.is_some()),
            [false, true, true, false]
        );
        assert_eq!(plan(&[512], &[1, 1]).of_k(4096).k_block, None);
        assert_eq!(plan(&[], &[1, 1, 1]).of_k(4096).k_block, None);
        assert_eq!(plan(&[1 << 62], &[1, 1, 1 << 62]).of_k(8).k_block, None);
    }

    #[test]
    fn a_plan_reads_as_the_file_has_it() {
        let plan = Tiling {
            emitter: "EmitAllBatchInSublanes".to_string(),
            output_window: vec![1, 8],
            ..plan(&[224, 32], &[1, 1, 8])
        };
        let text = "EmitAllBatchInSublanes, kernel window 224x32, output window 1x8, iterations 1x1x8";
        assert_eq!(plan.to_string(), text);
        assert_eq!(Tiling::of_k_block(64).to_string(), "no emitter");
    }
}

//! Dots whose results are judged, with their operands.

use rayon::prelude::*;

/// Outputs of a product `[m,k] x [k,n]`, with its operands in f64, row-major.
#[derive(Clone, Debug)]
pub struct Dots<'a> {
    lhs: &'a [f64],
    rhs: &'a [f64],
    sizes: [usize; 3],
    outputs: Vec<usize>,
}

/// Why dots cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DotsError {
    /// An operand has another number of elements than the sizes say.
    #[error("the {operand} operand has {found} elements, but {rows} x {columns} is {expected}")]
    Size {
        /// `left` or `right`.
        operand: &'static str,
        /// Its elements.
        found: usize,
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
        /// The elements that it must have.
        expected: usize,
    },
    /// An output that is not there.
    #[error("output {output} is beyond the {count} outputs of the product")]
    Output {
        /// The flat position.
        output: usize,
        /// The number of outputs.
        count: usize,
    },
}

impl<'a> Dots<'a> {
    /// The outputs at these flat positions of a product of operands of `[m,k]` and `[k,n]`.
    ///
    /// # Errors
    /// If an operand is not as long as the sizes say, or an output is not there.
    pub fn new(lhs: &'a [f64], rhs: &'a [f64], sizes: [usize; 3], outputs: Vec<usize>) -> Result<Dots<'a>, DotsError> {
        let [m, k, n] = sizes;
        for (operand, found, rows, columns) in [("left", lhs.len(), m, k), ("right", rhs.len(), k, n)] {
            let expected = rows.saturating_mul(columns);
            if found != expected {
                return Err(DotsError::Size { operand, found, rows, columns, expected });
            }
        }
        let count = m.saturating_mul(n);
        match outputs.iter().find(|output| **output >= count) {
            Some(output) => Err(DotsError::Output { output: *output, count }),
            None => Ok(Dots { lhs, rhs, sizes, outputs }),
        }
    }

    /// As many outputs of `count` as `k` products each allow within `products` products, at least 16, spread evenly and in order:
    /// all where there are no more. The same ones each time.
    pub fn sample(count: usize, k: usize, products: usize) -> Vec<usize> {
        let most = (products / k.max(1)).max(16);
        if count <= most {
            return (0..count).collect();
        }
        // Multiples of the golden section fall into neither rows nor columns.
        let section = (5f64.sqrt() - 1.0) / 2.0;
        let place = |i: usize| (((i as f64 * section).fract() * count as f64) as usize).min(count - 1);
        let mut outputs: Vec<usize> = (0..most).map(place).collect();
        outputs.sort_unstable();
        outputs.dedup();
        outputs
    }

    /// The flat positions of the outputs.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// Products of each output.
    pub fn products(&self) -> usize {
        self.sizes[1]
    }

    /// Hands the operands of each output to `of`, on several threads, and its answers to `take` in the order of the outputs.
    pub(super) fn each<T: Send>(&self, of: impl Fn(&[f64], &[f64]) -> T + Sync, take: impl FnMut(T)) {
        let [_, k, n] = self.sizes;
        let one = |output: &usize| {
            let (row, column) = (output / n, output % n);
            let rhs: Vec<f64> = (0..k).map(|at| self.rhs[at * n + column]).collect();
            of(&self.lhs[row * k..(row + 1) * k], &rhs)
        };
        let all: Vec<T> = self.outputs.par_iter().map(one).collect();
        all.into_iter().for_each(take);
    }

    /// For each of the k products, the sum over outputs of `weight` times that product, and of the squares of the product over `by`.
    pub(super) fn correlate(&self, weight: &[f64], by: &[f64]) -> Vec<[f64; 2]> {
        let [_, k, n] = self.sizes;
        let mut sums = vec![[0.0; 2]; k];
        for ((output, weight), by) in self.outputs.iter().zip(weight).zip(by) {
            let (row, column) = (output / n, output % n);
            for (at, sum) in sums.iter_mut().enumerate() {
                let product = self.lhs[row * k + at] * self.rhs[at * n + column];
                sum[0] += weight * product;
                sum[1] += product * product * by;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_those_of_the_product() {
        let (lhs, rhs) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        let dots = Dots::new(&lhs, &rhs, [2, 2, 3], vec![0, 4]).unwrap();
        let mut found = Vec::new();
        dots.each(|a, b| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>(), |sum| found.push(sum));
        assert_eq!(found, [1.0 * 5.0 + 2.0 * 8.0, 3.0 * 6.0 + 4.0 * 9.0]);
        assert_eq!(dots.correlate(&[1.0, 10.0], &[1.0, 1.0])[1], [16.0 + 360.0, 256.0 + 1296.0]);
        let wrong = Dots::new(&lhs, &rhs, [2, 2, 4], vec![]).map(|_| ()).unwrap_err();
        assert_eq!(wrong.to_string(), "the right operand has 6 elements, but 2 x 4 is 8");
        let beyond = Dots::new(&lhs, &rhs, [2, 2, 3], vec![6]).map(|_| ()).unwrap_err();
        assert_eq!(beyond.to_string(), "output 6 is beyond the 6 outputs of the product");
    }

    /// A sample has sixteen outputs however long they are, each once.
    #[test]
    fn samples_of_long_dots_have_sixteen_outputs() {
        for (count, k, products) in [(1 << 20, 1 << 22, 1 << 22), (1 << 12, 1 << 30, 1), (1000, 4096, 0)] {
            assert_eq!(Dots::sample(count, k, products).len(), 16, "{count} of {k}");
        }
        for count in 1..200 {
            let sample = Dots::sample(count, 4, 64);
            assert!(
                sample.len() >= count.min(13) && sample.windows(2).all(|pair| pair[0] < pair[1]),
                "{count}: {sample:?}"
            );
            assert!(sample.iter().all(|output| *output < count), "{count}: {sample:?}");
        }
        assert_eq!(Dots::sample(10, 0, 0), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_is_spread_over_rows_and_columns() {
        assert_eq!(Dots::sample(20, 10, 1000), (0..20).collect::<Vec<_>>());
        let sample = Dots::sample(1 << 20, 4096, 1 << 22);
        assert!(sample.len() > 1000 && sample.windows(2).all(|pair| pair[0] < pair[1]));
        let columns: std::collections::BTreeSet<usize> = sample.iter().map(|output| output % 1024).collect();
        assert!(columns.len() > 500, "{}", columns.len());
    }
}

//! Rows and columns of a dot's operands that are one: dots of the same vectors are the same value, which no enclosure of an
//! inexact one would prove. Two tokens with equal embeddings have equal logits.

use std::collections::HashMap;

/// Vectors among `count * len` elements, as those of a row-major matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Each in one piece: rows.
    Rows,
    /// Each across all rows: columns.
    Columns,
}

/// For each of `count` vectors of `len` elements the first one that has the same elements. `name` is the identity of
/// the element at a position: equal for equal values.
pub fn first_twins<N: Copy + Eq + Into<u64>>(
    count: usize,
    len: usize,
    lie: Lie,
    name: impl Fn(usize) -> [N; 2],
) -> Vec<usize> {
    let at = |vector: usize, element: usize| match lie {
        Lie::Rows => vector * len + element,
        Lie::Columns => element * count + vector,
    };
    let mut hashes = vec![0; count];
    match lie {
        Lie::Rows => (0..count).for_each(|v| hashes[v] = (0..len).fold(0, |hash, e| mixed(hash, name(at(v, e))))),
        // Row by row, as memory is read fastest.
        Lie::Columns => (0..len)
            .for_each(|e| hashes.iter_mut().enumerate().for_each(|(v, hash)| *hash = mixed(*hash, name(at(v, e))))),
    }
    let mut known: HashMap<u64, Vec<usize>> = HashMap::with_capacity(count);
    let first = |(vector, hash): (usize, u64)| {
        let firsts = known.entry(hash).or_default();
        let is_same = |other: usize| (0..len).all(|e| name(at(vector, e)) == name(at(other, e)));
        match firsts.iter().find(|first| is_same(**first)) {
            Some(first) => *first,
            None => {
                firsts.push(vector);
                vector
            }
        }
    };
    hashes.into_iter().enumerate().map(first).collect()
}

/// A hash with one more name in it (a multiplicative one, as FxHash; equal hashes are compared whole).
#[inline]
fn mixed<N: Into<u64>>(hash: u64, [first, second]: [N; 2]) -> u64 {
    let step = |hash: u64, part: u64| (hash.rotate_left(5) ^ part).wrapping_mul(0x517c_c1b7_2722_0a95);
    step(step(hash, first.into()), second.into())
}

#[cfg(test)]
mod tests {
    use super::{Lie, first_twins};

    #[test]
    fn the_first_of_equal_vectors_stands_for_all() {
        let values: [u64; 12] = [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 7];
        assert_eq!(first_twins(4, 3, Lie::Columns, |at| [values[at], 0]), [0, 1, 0, 3]);
        let rows: [u64; 8] = [1, 2, 2, 1, 1, 2, 1, 2];
        assert_eq!(first_twins(4, 2, Lie::Rows, |at| [rows[at], 0]), [0, 1, 0, 0]);
        // The second part of a name counts as the first does.
        assert_eq!(first_twins(4, 2, Lie::Rows, |at| [rows[at], u64::from(at > 5)]), [0, 1, 0, 3]);
        assert_eq!(first_twins(3, 0, Lie::Rows, |_| [0u64; 2]), [0, 0, 0]);
    }

    /// Whatever hashes are equal: vectors are compared.
    #[test]
    fn equal_hashes_are_no_proof() {
        #[derive(Clone, Copy, PartialEq, Eq)]
        struct Same(u8);
        impl From<Same> for u64 {
            fn from(_: Same) -> u64 {
                0
            }
        }
        let values = [1, 2, 1, 3].map(Same);
        assert_eq!(first_twins(4, 1, Lie::Rows, |at| [values[at]; 2]), [0, 1, 0, 3]);
    }
}

//! The best element of a row.

use crate::num::flush_f32;

/// Value and position of a row's largest (or smallest) element as JAX's argmax has it: a NaN before any number, then
/// the lowest position (FACTS 4). With `flush`, subnormals compare as zeros (FACTS 3.4). An empty row gives NaN at 0.
pub fn argmax(row: &[f32], flush: bool, largest: bool) -> (f32, usize) {
    let key = |v: f32| {
        let v = if flush { flush_f32(v) } else { v };
        if largest { v } else { -v }
    };
    if let Some(at) = row.iter().position(|v| v.is_nan()) {
        return (row[at], at);
    }
    let Some(first) = row.first() else { return (f32::NAN, 0) };
    // Two passes that vectorise: the best value, then its first position.
    let mut lanes = [key(*first); 16];
    for chunk in row.chunks(16) {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            let k = key(*v);
            *lane = if k > *lane { k } else { *lane };
        }
    }
    let best = lanes.iter().fold(lanes[0], |best, lane| if *lane > best { *lane } else { best });
    // Without a NaN one of them equals the best; the lanes begin with the first, so that 0 stands for it.
    let at = row.iter().position(|v| key(*v) == best).unwrap_or(0);
    (row[at], at)
}

/// The reducer of approx_max_k with k = 1, `acc > x ? acc : x`: the last of equal values wins, and a NaN is swallowed
/// unless it comes last (FACTS 5.1).
pub fn greater_keep(row: &[f32], init: (f32, i64), indices: &[i64], flush: bool) -> (f32, i64) {
    let key = |v: f32| if flush { flush_f32(v) } else { v };
    row.iter().zip(indices).fold(init, |acc, (v, index)| if key(acc.0) > key(*v) { acc } else { (*v, *index) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    /// Measured (FACTS 3.4, 4, 5.1).
    #[test]
    fn measured_rows() {
        assert_eq!(argmax(&[1.0, NAN, 3.0, NAN, 2.0], true, true).1, 1);
        assert_eq!(argmax(&[-0.0, 0.0, -0.0, 0.0], true, true).1, 0);
        assert_eq!(argmax(&[0.0, 1e-40], true, true).1, 0);
        assert_eq!(argmax(&[0.0, 1e-40], false, true).1, 1);
        assert_eq!(argmax(&[f32::NEG_INFINITY; 3], true, true).1, 0);
        assert_eq!(argmax(&[3.0, 1.0, 1.0], true, false).1, 1);
        let last = |row: &[f32]| {
            let indices: Vec<i64> = (0..row.len() as i64).collect();
            greater_keep(row, (f32::NEG_INFINITY, -1), &indices, true)
        };
        assert_eq!(last(&[1.0, 3.0, 3.0, 2.0, 3.0]).1, 4);
        assert_eq!(last(&[1.0, NAN, 3.0, 2.0, 3.0]).0, 3.0);
        assert_eq!(last(&[f32::NEG_INFINITY; 4]).1, 3);
        // Subnormals and zeros are equal on a unit that flushes, whichever comes first, and are ordered on one that does not.
        for [first, second] in [[1e-40, 0.0], [0.0, -1e-40], [-1e-40, 1e-40], [1e-40, -1e-40]] {
            let of = |flush| greater_keep(&[first, second], (f32::NEG_INFINITY, -1), &[0, 1], flush).1;
            assert_eq!([of(true), of(false)], [1, i64::from(second > first)], "{first:e} {second:e}");
        }
    }
}

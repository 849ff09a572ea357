//! Trees of additions, whatever is added: two orders that compilers, libraries and collectives sum in.

/// The sum of terms of which neighbours are added first, level by level; a last one without a neighbour waits. `None` without terms.
pub(crate) fn pairwise<T: Copy>(terms: &[T], add: impl Fn(T, T) -> T) -> Option<T> {
    let mut level = terms.to_vec();
    while level.len() > 1 {
        level = level.chunks(2).filter_map(|pair| pair.iter().copied().reduce(&add)).collect();
    }
    level.first().copied()
}

/// The sum of terms of which the second half is added onto the first one, again and again; the middle one of an odd number waits.
/// `None` without terms.
pub(crate) fn by_halves<T: Copy>(terms: &[T], add: impl Fn(T, T) -> T) -> Option<T> {
    let mut level = terms.to_vec();
    while level.len() > 1 {
        let half = level.len().div_ceil(2);
        let join = |at: usize| level.get(at + half).map_or(level[at], |other| add(level[at], *other));
        level = (0..half).map(join).collect();
    }
    level.first().copied()
}

#[cfg(test)]
mod tests {
    use super::{by_halves, pairwise};

    /// Differences tell every order of five terms apart.
    #[test]
    fn terms_meet_level_by_level() {
        let terms = [1.0, 2.0, 4.0, 8.0, 16.0];
        let subtract = |a: f64, b: f64| a - b;
        assert_eq!(pairwise(&terms, subtract), Some(((1.0 - 2.0) - (4.0 - 8.0)) - 16.0));
        assert_eq!(by_halves(&terms, subtract), Some(((1.0 - 8.0) - 4.0) - (2.0 - 16.0)));
        assert_eq!([pairwise(&[], subtract), by_halves(&[], subtract)], [None, None]);
        assert_eq!([pairwise(&[3.0], subtract), by_halves(&[3.0], subtract)], [Some(3.0), Some(3.0)]);
    }
}

//! Root finding that cannot fail and ends on the same bits everywhere.

/// The largest f64 at which `below` still holds, for a predicate that holds at `low` and turns false once on the way to
/// `high`. Halves the interval until no f64 lies strictly inside; `low` and `high` are finite and not negative.
pub(super) fn last_true(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    // The codes of non-negative floats are ordered as their values, so halving the code ends after 63 steps.
    while high.to_bits() - low.to_bits() > 1 {
        let middle = f64::from_bits(low.to_bits() + (high.to_bits() - low.to_bits()) / 2);
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

//! A stable sort of many f64 numbers, in time linear in their number.

/// Bits a pass sorts by.
const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;
const PASSES: usize = u64::BITS.div_ceil(DIGIT) as usize;

/// The positions ordered by their values, ascending or descending; equal ones keep their order. The two
/// zeros are equal, or with `signed_zeros` in their order. No value is NaN.
pub(super) fn sort_order(
    positions: &[usize],
    descending: bool,
    signed_zeros: bool,
    value: impl Fn(usize) -> f64,
) -> Vec<usize> {
    // Adding zero makes the zeros one; adding minus zero changes nothing.
    let zero = if signed_zeros { -0.0 } else { 0.0 };
    let item = |at: &usize| (ordinal(value(*at) + zero, descending), *at);
    let mut items: Vec<(u64, usize)> = positions.iter().map(item).collect();
    if items.len() < BUCKETS {
        items.sort_by_key(|item| item.0);
        return items.into_iter().map(|item| item.1).collect();
    }
    let mut counts = vec![[0usize; BUCKETS]; PASSES];
    for (key, _) in &items {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(*key, pass)] += 1;
        }
    }
    let mut other = items.clone();
    for (pass, counts) in counts.iter().enumerate() {
        // All in one bucket: nothing to sort by. Numbers of a short format have such digits.
        if counts.contains(&items.len()) {
            continue;
        }
        let mut next = 0;
        let mut starts = counts.map(|count| {
            next += count;
            next - count
        });
        for item in &items {
            let start = &mut starts[digit(item.0, pass)];
            other[*start] = *item;
            *start += 1;
        }
        std::mem::swap(&mut items, &mut other);
    }
    items.into_iter().map(|item| item.1).collect()
}

fn digit(key: u64, pass: usize) -> usize {
    (key >> (pass as u32 * DIGIT)) as usize % BUCKETS
}

/// A number whose order as an integer is that of the value.
fn ordinal(value: f64, descending: bool) -> u64 {
    let bits = value.to_bits();
    let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    if descending { !ascending } else { ascending }
}

#[cfg(test)]
mod tests {
    use super::sort_order;

    #[test]
    fn orders_as_a_stable_sort_does() {
        for n in [0usize, 1, 2, 100, 3000, 20_000] {
            for kind in 0..3 {
                let mut state = 0x2545_f491_4f6c_dd1d ^ n as u64;
                let mut values: Vec<f64> = (0..n)
                    .map(|_| {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        match kind {
                            0 => f64::from_bits(state),
                            1 => f64::from((state % 64) as i32 - 32),
                            _ => f64::from(f32::from_bits((state >> 40) as u32 + (120 << 23))),
                        }
                    })
                    .map(|v| if v.is_nan() { f64::INFINITY } else { v })
                    .collect();
                values.iter_mut().step_by(7).for_each(|v| *v = if *v < 0.0 { -0.0 } else { 0.0 });
                let positions: Vec<usize> = (0..n).rev().collect();
                for descending in [false, true] {
                    let mut expected = positions.clone();
                    expected.sort_by(|a, b| {
                        let (a, b) = if descending { (b, a) } else { (a, b) };
                        values[*a].partial_cmp(&values[*b]).unwrap()
                    });
                    let got = sort_order(&positions, descending, false, |at| values[at]);
                    assert_eq!(got, expected, "{n} {kind} {descending}");
                    expected.sort_by(|a, b| {
                        let (a, b) = if descending { (b, a) } else { (a, b) };
                        values[*a].total_cmp(&values[*b])
                    });
                    let got = sort_order(&positions, descending, true, |at| values[at]);
                    assert_eq!(got, expected, "{n} {kind} {descending}, signed zeros");
                }
            }
        }
    }

    /// One number that differs from all others in one digit alone: of 3000 equal ones, 2999 share a bucket.
    #[test]
    fn one_number_apart_is_sorted() {
        let common = 1.5f64.to_bits();
        for bit in 0..63 {
            let apart = f64::from_bits(common ^ 1 << bit);
            if apart.is_nan() {
                continue;
            }
            for place in [0, 1500, 2999] {
                let value = |at: usize| if at == place { apart } else { 1.5 };
                for descending in [false, true] {
                    let sorted = sort_order(&(0..3000).collect::<Vec<_>>(), descending, false, value);
                    let end = if (apart > 1.5) != descending { 2999 } else { 0 };
                    let expected = (0..3000).filter(|at| *at != place);
                    assert_eq!(sorted[end], place, "bit {bit} {descending}");
                    assert!(sorted.into_iter().filter(|at| *at != place).eq(expected), "bit {bit} {descending}");
                }
            }
        }
    }
}

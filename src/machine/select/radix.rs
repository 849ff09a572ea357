//! A radix sort of integer keys with positions.

/// Bits of one digit, and the passes over a key of 32 bits.
const DIGIT: u32 = 11;
const PASSES: usize = 3;
const BUCKETS: usize = 1 << DIGIT;

/// Below so many items the comparison sort of the standard library is faster.
const SHORT: usize = 1024;

/// Sorts items of a key in the high half and a position in the low half, given in ascending order of position: by key,
/// then by position. A pass is left out where all keys share its digit, as the lower ones of bf16 values do.
pub fn sort_items(items: &mut Vec<u64>) {
    if items.len() < SHORT {
        return items.sort_unstable();
    }
    let digit = |item: u64, pass: usize| (item >> (32 + DIGIT * pass as u32)) as usize & (BUCKETS - 1);
    // All passes count in one run over the items: what a pass moves does not change how many keys have a digit.
    let mut counts = [[0u32; BUCKETS]; PASSES];
    for item in items.iter() {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(*item, pass)] += 1;
        }
    }
    let mut sorted = vec![0u64; items.len()];
    for (pass, counts) in counts.iter_mut().enumerate() {
        if counts[digit(items[0], pass)] as usize == items.len() {
            continue;
        }
        // From counts to where each bucket starts.
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for item in items.iter() {
            let place = &mut counts[digit(*item, pass)];
            sorted[*place as usize] = *item;
            *place += 1;
        }
        std::mem::swap(items, &mut sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::sort_items;

    proptest::proptest! {
        /// Keys from few to many different ones, so that passes are taken and left out.
        #[test]
        fn items_come_in_their_order(seed in 1u64.., count in 1000usize..5000, kept in 0u32..=32) {
            let mut state = seed;
            let mut items: Vec<u64> = (0..count as u64)
                .map(|at| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let key = (state >> 32) as u32 & u32::MAX.checked_shl(kept).unwrap_or(0);
                    u64::from(key) << 32 | at
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort_items(&mut items);
            proptest::prop_assert_eq!(items, expected);
        }
    }

    /// One key that differs from all others in one bit alone: of 1500 equal ones, 1499 share a bucket.
    #[test]
    fn one_key_apart_is_sorted() {
        for (bit, place) in (0..32).flat_map(|bit| [0, 700, 1499].map(|place| (bit, place))) {
            let key = |at: u64| 0x5a5a_5a5a ^ if at == place { 1u64 << bit } else { 0 };
            let mut items: Vec<u64> = (0..1500).map(|at| key(at) << 32 | at).collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort_items(&mut items);
            assert_eq!(items, expected, "bit {bit} at {place}");
        }
    }
}

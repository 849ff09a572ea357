//! Fewer elements and simpler numbers, as long as something holds.

use crate::tensor::{Data, Tensor};

/// Delta debugging (`ddmin`; Zeller and Hildebrandt, IEEE TSE 28(2), 2002): a list of which no element alone can be left out,
/// found by trying parts and what they leave, ever smaller ones. `holds` need not hold of all of `elements`; `None` if it holds
/// of nothing that is tried.
pub(super) fn fewest<E>(
    elements: &[usize],
    holds: &mut dyn FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    let mut found = holds(elements)?.then(|| elements.to_vec());
    let mut left = elements.to_vec();
    let mut parts = 2;
    while left.len() > 1 {
        let size = left.len().div_ceil(parts);
        let part = |at: usize| at * size..((at + 1) * size).min(left.len());
        let count = left.len().div_ceil(size);
        // ddmin (Zeller and Hildebrandt 2002): parts alone first, then all but one.
        let alone = (0..count).map(|at| (left[part(at)].to_vec(), 2));
        let others = (0..count).filter(|_| count > 2).map(|at| {
            let (before, after) = (&left[..part(at).start], &left[part(at).end..]);
            ([before, after].concat(), (count - 1).max(2))
        });
        let mut next = None;
        for (candidate, parts) in alone.chain(others) {
            if holds(&candidate)? {
                next = Some((candidate, parts));
                break;
            }
        }
        match next {
            Some((candidate, of)) => {
                found = Some(candidate.clone());
                (left, parts) = (candidate, of);
            }
            // Smaller parts once no large one can go.
            None if parts < left.len() => parts = (2 * parts).min(left.len()),
            None => break,
        }
    }
    Ok(found)
}

/// Numbers to try in the place of an element, the simplest first: 0, then its own with ever more bits, in its type; of integers
/// and predicates 0, 1 and halves.
pub(super) fn simpler(data: &Data, at: usize) -> Vec<Data> {
    let dtype = data.dtype();
    let with = |codes: Vec<u64>| codes.into_iter().map(|code| data.clone().with_code(at, code)).collect();
    let encode = |value: f64| Data::from_f64s(dtype, &[value]).map_or(0, |data| data.bits(0));
    if let Some(format) = dtype.format() {
        let value = data.get_f64(at);
        if value == 0.0 || !value.is_finite() {
            return Vec::new();
        }
        // The first bit of a significand is not stored.
        let cut = |bits: u32| f64::from_bits(value.to_bits() >> (52 - bits) << (52 - bits));
        let values = std::iter::once(0.0).chain((0..format.fraction_bits.min(52)).map(cut));
        return with(values.take_while(|simple| *simple != value).map(encode).collect());
    }
    let value = data.get_i64(at);
    let mut values = vec![0, 1];
    values.extend((1..u64::BITS).rev().map(|shift| value >> shift).filter(|half| half.abs() > 1));
    // Only what is simpler than the number itself is worth trying.
    values.truncate(values.iter().position(|simple| *simple == value).unwrap_or(values.len()));
    let replaced = |simple: i64| {
        let mut all = data.to_i64s();
        all[at] = simple;
        Data::from_i64s(dtype, &all)
    };
    values.into_iter().filter_map(replaced).collect()
}

/// Number of bits of an element's significand up to the last one that is set; for integers, number of bits of the
/// magnitude.
pub(super) fn significant_bits(tensor: &Tensor, at: usize) -> u32 {
    match tensor.dtype().is_float() {
        true => {
            let value = tensor.data().get_f64(at);
            if value == 0.0 { 0 } else { 53 - (value.to_bits() & ((1 << 52) - 1) | 1 << 52).trailing_zeros() }
        }
        false => u64::BITS - tensor.data().get_i64(at).unsigned_abs().leading_zeros(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    fn smallest(count: usize, mut holds: impl FnMut(&[usize]) -> bool) -> Option<Vec<usize>> {
        let all: Vec<usize> = (0..count).collect();
        fewest(&all, &mut |left| Ok::<bool, ()>(holds(left))).unwrap()
    }

    /// Elements that matter are found wherever they are, and nothing else stays.
    #[test]
    fn planted_elements_are_all_that_is_left() {
        for planted in [vec![0], vec![999], vec![3, 700], vec![1, 2, 500, 501, 998]] {
            let mut tried = 0;
            let found = smallest(1000, |left| {
                tried += 1;
                planted.iter().all(|element| left.contains(element))
            });
            assert_eq!(found, Some(planted));
            assert!(tried < 400, "{tried}");
        }
    }

    /// A part may hold where the whole does not; where nothing does, there is nothing.
    #[test]
    fn the_whole_need_not_hold() {
        assert_eq!(smallest(64, |left| left.contains(&40) && !left.contains(&7)), Some(vec![40]));
        assert_eq!(smallest(64, |_| false), None);
    }

    #[test]
    fn simpler_numbers_come_simplest_first() {
        let of = |dtype: DType, value: f64| -> Vec<f64> {
            let data = Data::from_f64s(dtype, &[7.0, value]).unwrap();
            simpler(&data, 1)
                .iter()
                .inspect(|data| assert_eq!(data.get_f64(0), 7.0))
                .map(|data| data.get_f64(1))
                .collect()
        };
        assert_eq!(of(DType::BF16, -2.75), [0.0, -2.0, -2.0, -2.5]);
        assert_eq!(of(DType::F32, 1.0), [0.0]);
        assert_eq!(of(DType::F32, 0.0), [0.0; 0]);
        let data = Data::S32(vec![100]);
        let integers: Vec<i64> = simpler(&data, 0).iter().map(|data| data.get_i64(0)).collect();
        assert_eq!(integers, [0, 1, 3, 6, 12, 25, 50]);
        let bits = |value: f64| significant_bits(&Tensor::scalar(DType::F32, value).unwrap(), 0);
        assert_eq!([0.0, 1.0, -2.5, 0.875].map(bits), [0, 1, 3, 3]);
    }
}

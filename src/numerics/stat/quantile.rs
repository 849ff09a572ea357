//! Quantiles of a sample.

/// The smallest number of an ascending list that at least `share` (0 to 1) of the list does not exceed: the one of rank
/// ceil(share n). `None` for an empty list.
pub fn quantile(ascending: &[f64], share: f64) -> Option<f64> {
    let rank = (share * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).or(ascending.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_number_of_the_list() {
        let list = [1.0, 2.0, 4.0, 8.0, 16.0];
        let found: Vec<_> = [0.0, 0.25, 0.5, 0.75, 1.0].iter().filter_map(|share| quantile(&list, *share)).collect();
        assert_eq!(found, [1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!(quantile(&list[..4], 0.5), Some(2.0));
        assert_eq!((quantile(&[], 0.5), quantile(&[3.0], 0.01)), (None, Some(3.0)));
    }
}

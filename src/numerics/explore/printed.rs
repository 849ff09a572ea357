//! Numbers as they were printed, which stand for all that round to them.

/// The ends between which a number lies that was printed like this: half a unit of the last digit to either side, `inf`, `nan` and
/// `true` and `false` by themselves; `None` if it is no number. What was printed without a point is taken for an integer as it stands.
pub fn printed_range(text: &str) -> Option<[f64; 2]> {
    match text {
        "true" | "True" => return Some([1.0; 2]),
        "false" | "False" => return Some([0.0; 2]),
        _ => {}
    }
    let value: f64 = text.parse().ok()?;
    if value.is_infinite() && text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let Some((_, fraction)) = digits.split_once('.').filter(|_| value.is_finite()) else { return Some([value; 2]) };
    let exponent: i32 = exponent.parse().ok()?;
    let places = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let half: f64 = format!("5e{}", places.checked_sub(1)?).parse().ok()?;
    Some([(value - half).next_down(), (value + half).next_up()])
}

#[cfg(test)]
mod tests {
    use super::printed_range;

    #[test]
    fn a_printed_number_is_all_that_round_to_it() {
        let near = |text: &str, lo: f64, hi: f64| {
            let [low, high] = printed_range(text).unwrap();
            assert!(low <= lo && high >= hi && high - low < (hi - lo) * 1.000_001, "{text}: {low} to {high}");
        };
        near("0.647502", 0.6475015, 0.6475025);
        near("-1.6e-1", -0.165, -0.155);
        near("1.0535587e-08", 1.05355865e-8, 1.05355875e-8);
        near("7.", 6.5, 7.5);
        near("2.50E2", 249.5, 250.5);
        assert_eq!(printed_range("345"), Some([345.0; 2]));
        assert_eq!(printed_range("-inf"), Some([f64::NEG_INFINITY; 2]));
        assert!(printed_range("nan").unwrap()[0].is_nan());
        assert_eq!(printed_range("False"), Some([0.0; 2]));
        for none in ["", "1.2.3", "one", "0x1p3", "1e99999999999.5", "1.5e99999999999"] {
            assert_eq!(printed_range(none), None, "{none}");
        }
    }
}

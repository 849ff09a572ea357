//! Numbers as they were printed.

/// The digits that a printer gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Digits {
    /// As many as tell an f32 from its neighbours, as NumPy's do.
    UniqueF32,
    /// As many as tell a number of another type from its neighbours.
    Unique,
    /// So many, whatever the number.
    Rounded,
}

/// A number in decimal digits, or an interval of two.
#[derive(Clone, Debug)]
pub enum Printed {
    Number(String),
    Interval(f64, f64),
}

impl Printed {
    /// `0.5`, `1.0535587e-08` or `3e-5..1e-4`.
    pub fn of(text: &str) -> Printed {
        let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("`{text}` is no number"));
        match text.split_once("..") {
            Some((low, high)) => Printed::Interval(number(low), number(high)),
            None => {
                number(text);
                Printed::Number(text.to_string())
            }
        }
    }

    /// Whether `got` is what was printed, or lies in the interval. A printer that gives as many digits as tell a number from its
    /// neighbours (`Digits::Unique`) printed one number of its type; of another one all digits are equal.
    pub fn holds(&self, got: f64, digits: Digits) -> bool {
        match (self, digits) {
            (Printed::Interval(low, high), _) => *low < got && got <= *high,
            (Printed::Number(text), Digits::UniqueF32) => {
                text.parse::<f32>().is_ok_and(|printed| f64::from(printed) == got)
            }
            (Printed::Number(text), Digits::Unique) => text.parse() == Ok(got),
            (Printed::Number(text), Digits::Rounded) => like(text, got) == *text,
        }
    }

    /// The number; of an interval its upper end.
    pub fn number(&self) -> f64 {
        match self {
            Printed::Interval(_, high) => *high,
            Printed::Number(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Printed::Interval(low, high) => format!("{low:.3e} to {high:.3e}"),
            Printed::Number(text) => text.clone(),
        }
    }

    /// `got` in as many digits as were printed.
    /// The same with one digit more.
    pub fn finer(&self, got: f64) -> String {
        match self {
            Printed::Interval(..) => format!("{got:.4e}"),
            Printed::Number(text) => match text.split_once('e') {
                None => like(&format!("{text}0"), got),
                Some((mantissa, exponent)) => like(&format!("{mantissa}0e{exponent}"), got),
            },
        }
    }

    pub fn like(&self, got: f64) -> String {
        match self {
            Printed::Interval(..) => format!("{got:.3e}"),
            Printed::Number(text) => like(text, got),
        }
    }
}

/// `got` in the form of `text`, as many digits behind the point and an exponent where there is one.
fn like(text: &str, got: f64) -> String {
    let (mantissa, exponent) =
        text.split_once('e').map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let digits = mantissa.split_once('.').map_or(0, |(_, behind)| behind.len());
    let dot = if mantissa.ends_with('.') { "." } else { "" };
    match exponent {
        None => format!("{got:.digits$}{dot}"),
        Some(_) => {
            let text = format!("{got:.digits$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
            format!("{mantissa}{dot}e{sign}{size:0>2}")
        }
    }
}

#[test]
fn digits_are_those_that_were_printed() {
    assert_eq!(like("0.17405128", 0.174_051_284_790_039_06), "0.17405128");
    assert_eq!(like("1.0535587e-08", 1.053_558_7e-8), "1.0535587e-08");
    assert_eq!(like("3.4874968e+07", 34_874_968.0), "3.4874968e+07");
    assert_eq!(like("345.", 345.0), "345.");
    assert!(Printed::of("0.50").holds(0.501, Digits::Rounded) && !Printed::of("0.500").holds(0.501, Digits::Rounded));
    let (printed, neighbour) = (Printed::of("2.659095e+07"), 26_590_948.0);
    assert!(printed.holds(neighbour, Digits::Rounded) && !printed.holds(neighbour, Digits::UniqueF32));
    assert!(printed.holds(26_590_950.0, Digits::UniqueF32) && Printed::of("0.1").holds(0.1, Digits::Unique));
    let interval = Printed::of("1e-5..2e-5");
    assert!(interval.holds(1.5e-5, Digits::Rounded) && !interval.holds(2.1e-5, Digits::Rounded));
}

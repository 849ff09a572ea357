use super::*;

fn holds(enclosure: &Between, value: &Float) -> bool {
    enclosure.ends().is_some_and(|(lo, hi)| lo <= value && value <= hi)
}

/// Every function's enclosure holds the value that 500 bits give, at low and at working precision.
#[test]
fn enclosures_hold_the_value() {
    type Reference = fn(&Float) -> Float;
    let functions: [(Unary, Reference); 8] = [
        (Unary::Exponential, |x| x.clone().exp()),
        (Unary::ExponentialMinusOne, |x| x.clone().exp_m1()),
        (Unary::Log, |x| x.clone().ln()),
        (Unary::LogPlusOne, |x| x.clone().ln_1p()),
        (Unary::Tanh, |x| x.clone().tanh()),
        (Unary::Sqrt, |x| x.clone().sqrt()),
        (Unary::Rsqrt, |x| x.clone().recip_sqrt()),
        (Unary::Negate, |x| -x.clone()),
    ];
    for bits in [8, 24, 53, 128] {
        let mut mpfr = Mpfr::new(bits);
        for i in 1..400 {
            let x = f64::from(i) * 0.0371;
            let wide = Float::with_val(500, x);
            for (unary, reference) in functions {
                let (exact, got) = (reference(&wide), Arithmetic::exact(&mpfr, x));
                let got = Arithmetic::unary(&mut mpfr, unary, &got);
                assert!(holds(&got, &exact), "{unary:?} of {x} at {bits} bits");
            }
            // An interval's image holds those of its ends.
            let (low, high) = (Float::with_val(bits, x), Float::with_val(bits, x + 0.25));
            let between = Rc::new(Between::real(low.clone(), high.clone()));
            for (unary, reference) in functions {
                let got = Arithmetic::unary(&mut mpfr, unary, &between);
                for end in [&low, &high] {
                    let exact = reference(&Float::with_val(500, end));
                    assert!(holds(&got, &exact), "{unary:?} up to {end} at {bits} bits");
                }
            }
            let (a, b) = (Arithmetic::exact(&mpfr, x), Arithmetic::exact(&mpfr, 3.7));
            for (binary, exact) in [
                (Binary::Add, Float::with_val(500, &wide + 3.7)),
                (Binary::Subtract, Float::with_val(500, &wide - 3.7)),
                (Binary::Multiply, Float::with_val(500, &wide * 3.7)),
                (Binary::Divide, Float::with_val(500, &wide / 3.7)),
            ] {
                let got = Arithmetic::binary(&mut mpfr, binary, &a, &b);
                assert!(holds(&got, &exact), "{binary:?} of {x} at {bits} bits");
            }
        }
    }
}

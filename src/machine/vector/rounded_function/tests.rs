use super::*;

/// Bits of a result, all NaNs taken as one.
fn bits(x: f32) -> u32 {
    if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }
}

/// Compares a function, as the processor's best instructions and as the portable ones compute it, with core-math for
/// every `step`-th argument of a range of codes.
fn compare<F: Function>(name: &str, codes: impl Iterator<Item = u32>, expected: fn(f32) -> f32) {
    let arguments: Vec<f32> = codes.map(f32::from_bits).collect();
    for arguments in arguments.chunks(1 << 16) {
        let mut fast = arguments.to_vec();
        run::<F>(&mut fast);
        let mut portable = arguments.to_vec();
        in_blocks::<F, false>(&mut portable);
        for (i, x) in arguments.iter().enumerate() {
            let expected = bits(expected(*x));
            assert_eq!(bits(fast[i]), expected, "{name}({x:e}) = {:e}, code {:#x}", fast[i], x.to_bits());
            assert_eq!(bits(portable[i]), expected, "{name}({x:e}), portable");
        }
    }
}

/// Arguments that are hard for some function here: results near the middle of two f32, the ends of the range, zeros,
/// subnormals and NaNs; with their neighbours.
fn hard() -> impl Iterator<Item = u32> {
    let values = [
        0.0,
        1e-45,
        1e-40,
        f32::MIN_POSITIVE,
        2f32.powi(-25),
        2f32.powi(-24),
        2f32.powi(-12),
        0.5,
        1.0,
        2.0,
        9.01,
        10.0,
        16.6,
        17.4,
        87.3,
        88.7,
        89.0,
        100.0,
        103.3,
        103.97,
        104.0,
        110.0,
        1e10,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let near = |v: f32| {
        let code = v.to_bits();
        code.saturating_sub(64)..code.saturating_add(64).min(0x7fff_ffff)
    };
    values.into_iter().flat_map(near).flat_map(|code| [code, code | 0x8000_0000])
}

macro_rules! functions {
    ($run:ident($($argument:expr),*)) => {
        $run::<Exponential>("exp", $($argument,)* core_math::expf);
        $run::<Log>("log", $($argument,)* core_math::logf);
        $run::<Tanh>("tanh", $($argument,)* core_math::tanhf);
        $run::<Rsqrt>("rsqrt", $($argument,)* core_math::rsqrtf);
        $run::<Logistic>("logistic", $($argument,)* Logistic::correctly_rounded);
    };
}

#[test]
fn every_thousandth_argument_is_correctly_rounded() {
    functions!(compare((0..=u32::MAX).step_by(1009)));
}

#[test]
fn hard_arguments_are_correctly_rounded() {
    functions!(compare(hard()));
}

/// All codes, a part a thread.
fn exhaustive<F: Function>(name: &str, expected: fn(f32) -> f32) {
    use rayon::prelude::*;
    let started = std::time::Instant::now();
    (0..1u32 << 12).into_par_iter().for_each(|top| compare::<F>(name, top << 20..=top << 20 | 0xf_ffff, expected));
    println!("{name}: all 2^32 arguments in {:.0} s", started.elapsed().as_secs_f64());
}

/// All 2^32 arguments of every function, both ways of computing it, against core-math:
///
/// `cargo test --release --lib vector::function -- --ignored --nocapture`
#[test]
#[ignore = "minutes"]
fn all_arguments_are_correctly_rounded() {
    functions!(exhaustive());
}

/// The logistic function has no correctly rounded reference: MPFR decides every argument whose f64 result lies within
/// 2^-48 of a rounding boundary, far more than its error bound. Run as the test above.
#[test]
#[ignore = "minutes"]
fn the_logistic_function_is_correctly_rounded() {
    use rayon::prelude::*;
    let asked: usize =
        (0..1u32 << 12).into_par_iter().map(|top| undecided_and_right(top << 20..=top << 20 | 0xf_ffff)).sum();
    println!("{asked} arguments of the logistic function decided by MPFR");
    assert!(asked > 100);
}

/// Number of these arguments that MPFR decides; asserts that it agrees.
fn undecided_and_right(codes: impl Iterator<Item = u32>) -> usize {
    let mut asked = 0;
    for x in codes.map(f32::from_bits).filter(|x| !x.is_nan()) {
        let y = 1.0 / (1.0 + core_math::exp(-f64::from(x)));
        let slack = y * 2f64.powi(-48);
        if (y - slack) as f32 != (y + slack) as f32 {
            asked += 1;
            let e = rug::Float::with_val(200, -f64::from(x)).exp();
            let exact = rug::Float::with_val(200, 1.0 / (e + 1u32));
            let rounded = crate::num::round_mpfr(
                &crate::num::F32,
                &exact,
                std::cmp::Ordering::Equal,
                crate::num::Direction::NearestEven,
            );
            assert_eq!(Logistic::correctly_rounded(x).to_bits(), (rounded as f32).to_bits(), "{x:e}");
        }
    }
    asked
}

/// The hardest arguments of the logistic function among every 997th.
#[test]
fn hard_arguments_of_the_logistic_function() {
    assert!(undecided_and_right((0..=u32::MAX).step_by(997)) > 0);
}

/// Near zero the logistic function is 1/2 + x/4 - x^3/48, and 1/2 + x/4 a tie for these: the cube decides, however small it is.
#[test]
fn ties_of_the_logistic_function_go_to_the_side_of_the_cube() {
    let odd = |at: u32| (2 * at + 1) as f32;
    let ties = [0, 1, 3, 10, 50, 100, 150].map(odd).into_iter().flat_map(|odd| {
        // Between 1/2 and 1 numbers are 2^-24 apart, below 1/2 they are 2^-25 apart.
        [odd * 2f32.powi(-23), -odd * 2f32.powi(-24)]
    });
    let ties: Vec<f32> = ties.collect();
    assert_eq!(undecided_and_right(ties.iter().map(|x| x.to_bits())), ties.len());
}

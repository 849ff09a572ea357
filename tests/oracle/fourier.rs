//! Fourier transforms: their factors are real numbers, so that results are the nearest numbers and what cancels is zero.
//!
//! The judge adds up the definition in 2,500 bits, by MPFR's sines and cosines of real numbers, and knows nothing of roots of
//! unity. Inputs are small integers and a result is an algebraic integer in the field of `m`-th roots of unity, m at most 120:
//! the product of its at most 32 conjugates, each at most some thousands, is an integer. So a result below 2^-600 is zero.

use rug::Float;
use rug::float::Constant;
use ulpgate::oracle::{Demand, Oracle, Rung, TruthTensor};

use super::ask::ask;

const BITS: u32 = 2500;

/// Numbers drawn from a seed, 0 to 1 the least of them.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn float(value: f64) -> Float {
    Float::with_val(BITS, value)
}

/// Real and imaginary part.
type Complex = [Float; 2];

/// The transform of a whole array, one dim after the other.
fn transformed(mut values: Vec<Complex>, dims: &[usize], inverse: bool) -> Vec<Complex> {
    for (d, n) in dims.iter().enumerate() {
        let stride: usize = dims[d + 1..].iter().product();
        let turn = Float::with_val(BITS, Constant::Pi) * 2u32 / *n as u32;
        let turns: Vec<Complex> = (0..*n)
            .map(|r| {
                let (sine, cosine) = Float::with_val(BITS, &turn * r as u32).sin_cos(float(0.0));
                [cosine, if inverse { sine } else { -sine }]
            })
            .collect();
        values = (0..values.len())
            .map(|at| {
                let (k, start) = (at / stride % n, at - at / stride % n * stride);
                let mut sum = [float(0.0), float(0.0)];
                for j in 0..*n {
                    let ([a, b], [c, s]) = (&values[start + j * stride], &turns[j * k % n]);
                    sum[0] += float(0.0) + a * c;
                    sum[0] -= float(0.0) + b * s;
                    sum[1] += float(0.0) + a * s;
                    sum[1] += float(0.0) + b * c;
                }
                sum
            })
            .collect();
    }
    values
}

/// The nearest f64; below 2^-600 it is zero.
fn nearest(exact: &Float) -> f64 {
    if exact.get_exp().is_none_or(|exponent| exponent < -600) { 0.0 } else { exact.to_f64() }
}

fn list(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value}")).collect();
    values.join(", ")
}

/// A program and its expected results.
struct Case {
    entry: String,
    expected: Vec<f64>,
}

/// A transform of a type over the last dims of small integers.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn case(kind: &str, dtype: &str, dims: &[usize], over: usize, draw: &mut Draw) -> Case {
    let complex = if dtype == "f64" { "c128" } else { "c64" };
    let count: usize = dims.iter().product();
    // Alike, sparse or any.
    let any = draw.below(3);
    let mut number = |_| match any {
        0 => 3.0,
        1 => [0.0, 0.0, 1.0, -2.0][draw.below(4) as usize],
        _ => draw.below(9) as f64 - 4.0,
    };
    let re: Vec<f64> = (0..count).map(&mut number).collect();
    let im: Vec<f64> = (0..count).map(number).map(|x| if kind == "RFFT" { 0.0 } else { x }).collect();
    let (last, outer) = (dims[dims.len() - 1], dims.len() - over);
    let lengths: Vec<String> = dims[outer..].iter().map(usize::to_string).collect();
    let shape = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let half: Vec<usize> = [&dims[..dims.len() - 1], &[last / 2 + 1]].concat();
    let (whole, half) = (shape(dims), shape(&half));
    let input = format!(
        "a = {dtype}[{count}] constant({{{}}})\nb = {dtype}[{count}] constant({{{}}})\nx = {dtype}[{whole}] reshape(a)\n\
         y = {dtype}[{whole}] reshape(b)\nz = {complex}[{whole}] complex(x, y)",
        list(&re),
        list(&im)
    );
    let fft = |operand: &str| format!("fft({operand}), fft_type={kind}, fft_length={{{}}}", lengths.join(","));
    let parts = |dims: &str| {
        format!(
            "re = {dtype}[{dims}] real(f)\nim = {dtype}[{dims}] imag(f)\nROOT t = ({dtype}[{dims}], {dtype}[{dims}]) tuple(re, im)"
        )
    };
    let values = || re.iter().zip(&im).map(|(a, b)| [float(*a), float(*b)]).collect::<Vec<Complex>>();
    let batches = |values: Vec<Complex>, inverse| -> Vec<Complex> {
        let size: usize = dims[outer..].iter().product();
        values.chunks(size).flat_map(|batch| transformed(batch.to_vec(), &dims[outer..], inverse)).collect()
    };
    let both = |values: &[Complex]| [0, 1].iter().flat_map(|side| values.iter().map(|z| nearest(&z[*side]))).collect();
    let size: usize = dims[outer..].iter().product();
    match kind {
        "FFT" => Case {
            entry: format!("{input}\nf = {complex}[{whole}] {}\n{}", fft("z"), parts(&whole)),
            expected: both(&batches(values(), false)),
        },
        "IFFT" => {
            let divided = batches(values(), true).into_iter().map(|z| z.map(|part| part / size as u32));
            Case {
                entry: format!("{input}\nf = {complex}[{whole}] {}\n{}", fft("z"), parts(&whole)),
                expected: both(&divided.collect::<Vec<_>>()),
            }
        }
        "RFFT" => {
            let all = batches(values(), false);
            let kept: Vec<Complex> = all.chunks(last).flat_map(|row| row[..last / 2 + 1].to_vec()).collect();
            Case {
                entry: format!("{input}\nf = {complex}[{half}] {}\n{}", fft("x"), parts(&half)),
                expected: both(&kept),
            }
        }
        // Of one dim: the other half are the conjugates, and imaginary parts at the ends do not count.
        _ => {
            let kept = last / 2 + 1;
            let at = |row: &[Complex], k: usize| -> Complex {
                let is_end = k == 0 || 2 * k == last;
                let [a, b] = if k < kept { row[k].clone() } else { row[last - k].clone() };
                [
                    a,
                    if is_end {
                        float(0.0)
                    } else if k < kept {
                        b
                    } else {
                        -b
                    },
                ]
            };
            let rows: Vec<Vec<Complex>> = values().chunks(last).map(|row| row.to_vec()).collect();
            let spread = rows.iter().flat_map(|row| (0..last).map(|k| at(row, k))).collect();
            let real = batches(spread, true).into_iter().map(|[re, _]| nearest(&(re / last as u32)));
            let starts = vec!["0"; dims.len()];
            let limits: Vec<usize> = [&dims[..dims.len() - 1], &[kept]].concat();
            let slices: Vec<String> =
                starts.iter().zip(&limits).map(|(start, limit)| format!("[{start}:{limit}]")).collect();
            Case {
                entry: format!(
                    "{input}\nh = {complex}[{half}] slice(z), slice={{{}}}\nROOT r = {dtype}[{whole}] {}",
                    slices.join(", "),
                    fft("h")
                ),
                expected: real.collect(),
            }
        }
    }
}

fn got(oracle: &Oracle, entry: &str) -> (Vec<f64>, u64) {
    let truth = ask(oracle, entry, Demand::Rounded).unwrap();
    let of = |output: &TruthTensor| match output {
        TruthTensor::Float(float) => float.rounded.clone(),
        other => panic!("{other:?}"),
    };
    (truth.outputs.iter().flat_map(of).collect(), truth.stats.undecided)
}

/// Every result of every kind is decided, and the nearest f64; zeros are zeros. Wherever the search begins.
#[test]
fn transforms_are_the_nearest_numbers() {
    let mut draw = Draw(1);
    let mut zeros = 0;
    let oracles = [None, Some(Rung::Intervals), Some(Rung::Mpfr)].map(|first| Oracle { first, ..Oracle::default() });
    let mut check = |case: Case, oracle: &Oracle| {
        let (got, undecided) = got(oracle, &case.entry);
        assert_eq!(undecided, 0, "{}: {got:?}", case.entry);
        assert_eq!(got, case.expected, "{}", case.entry);
        zeros += case.expected.iter().filter(|value| **value == 0.0).count();
    };
    for n in 1..=15 {
        for (at, kind) in ["FFT", "IFFT", "RFFT", "IRFFT"].into_iter().enumerate() {
            for dtype in ["f32", "f64"] {
                check(case(kind, dtype, &[n], 1, &mut draw), &oracles[(n + at) % 3]);
            }
            check(case(kind, "f32", &[2, n], 1, &mut draw), &oracles[0]);
        }
    }
    for dims in [[2, 3], [3, 4], [4, 6], [5, 3], [3, 8]] {
        for kind in ["FFT", "IFFT", "RFFT"] {
            check(case(kind, "f32", &dims, 2, &mut draw), &oracles[0]);
        }
    }
    check(case("FFT", "f64", &[2, 2, 3], 3, &mut draw), &oracles[0]);
    assert!(zeros > 500, "{zeros}");
}

/// Bins of equal elements are zero, also of longer rows and of elements that are irrational; there and back leads to the
/// start.
#[test]
fn what_cancels_around_the_circle_is_zero() {
    let zeros = |n: usize, element: &str| {
        format!(
            "c = f32[] constant({element})\nd = f32[] exponential(c)\nz = f32[] constant(0)\nb = f32[{n}] broadcast(d), \
             dimensions={{}}\no = f32[{}] broadcast(z), dimensions={{}}\nf = c64[{}] fft(b), fft_type=RFFT, \
             fft_length={{{n}}}\nre = f32[{}] real(f)\nim = f32[{}] imag(f)\nr = pred[{}] compare(re, o), direction=EQ\n\
             i = pred[{}] compare(im, o), direction=EQ\nROOT t = (pred[{}], pred[{}]) tuple(r, i)",
            n / 2 + 1,
            n / 2 + 1,
            n / 2 + 1,
            n / 2 + 1,
            n / 2 + 1,
            n / 2 + 1,
            n / 2 + 1,
            n / 2 + 1
        )
    };
    for (n, element) in [(7, "0"), (7, "1"), (12, "1"), (15, "2"), (64, "0"), (100, "0"), (127, "0")] {
        let truth = ask(&Oracle::default(), &zeros(n, element), Demand::Rounded).unwrap();
        let decided = truth.outputs.iter().map(|output| match output {
            TruthTensor::Predicate { values, .. } => values.clone(),
            other => panic!("{other:?}"),
        });
        for (side, values) in decided.enumerate() {
            let expected: Vec<Option<bool>> = (0..=n / 2).map(|k| Some(k > 0 || side == 1)).collect();
            assert_eq!(values, expected, "{n} of {element}");
        }
    }
    let back = "a = f32[6] constant({1, 0, -2, 0.1, 5, 0})\nf = c64[4] fft(a), fft_type=RFFT, fft_length={6}\n\
                b = f32[6] fft(f), fft_type=IRFFT, fft_length={6}\nROOT r = pred[6] compare(a, b), direction=EQ";
    let truth = ask(&Oracle::default(), back, Demand::Rounded).unwrap();
    let [TruthTensor::Predicate { values, .. }] = &truth.outputs[..] else { panic!("{truth:?}") };
    assert_eq!(values, &[Some(true); 6]);
}

/// A program's own matrix of the same bits stays what it is.
#[test]
fn a_constant_of_equal_bits_is_itself() {
    let rounded: f64 = 0.866_025_403_784_438_7;
    let entry = format!(
        "a = f64[3] constant({{0, 1, 0}})\nb = f64[3] constant({{0, 0, 0}})\nz = c128[3] complex(a, b)\nf = c128[3] fft(z), \
         fft_type=FFT, fft_length={{3}}\nim = f64[3] imag(f)\nm = f64[3,3] constant({{{{0, 0, 0}}, {{0, {rounded}, -{rounded}}}, \
         {{0, -{rounded}, {rounded}}}}})\nd = f64[3] dot(a, m), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n\
         ROOT t = (f64[3], f64[3]) tuple(im, d)"
    );
    let nearest = rounded.next_down();
    let (got, undecided) = got(&Oracle::default(), &entry);
    assert_eq!((got, undecided), (vec![0.0, -nearest, nearest, 0.0, rounded, -rounded], 0));
}

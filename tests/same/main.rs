//! `ulpgate::same`: what is called the same has equal bits, whatever the input, and what is not is shown by an input.

mod attributes;
mod bits;
mod by_values;
mod exchanged;
mod flushed;
mod in_flight;
mod integers;
mod known;
mod large;
mod machines;
mod masks;
mod not_proven;
mod overflows;
mod packed_keys;
mod random;
mod scatters;
mod signs_of_roundings;
mod windows;
mod written;

use ulpgate::hlo::{Import, lower, parse};
use ulpgate::machine::{Mode, Prepared};
use ulpgate::num::{Direction, round_f64};
use ulpgate::same::{Answer, Assumption, Settings, Verdict, compare};
use ulpgate::tensor::{DType, Data, Tensor};

fn read(text: &str) -> Import {
    lower(&parse(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn settings(mode: &str) -> Settings {
    Settings::new(&mode.parse::<Mode>().unwrap())
}

/// The answer about two texts, with these assumptions.
fn ask(one: &str, other: &str, mode: &str, assumptions: &[Assumption]) -> Answer {
    let settings = Settings { assumptions: assumptions.to_vec(), ..settings(mode) };
    compare(&read(one), &read(other), &settings).unwrap()
}

fn is_same(answer: &Answer) -> bool {
    matches!(answer.verdict, Verdict::Same)
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        ((self.bits() >> 33) as usize) % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Numbers of all kinds: ordinary ones, any bits at all, and the few at which rules break.
fn fill(random: &mut Random, dtype: DType, dims: &[usize]) -> Tensor {
    if dtype.is_integer() {
        let small = random.chance(50);
        let integer = |bits: u64| if small { i64::from(bits as u32 % 1024) } else { i64::from(bits as i32) };
        let integers: Vec<i64> = (0..dims.iter().product()).map(|_| integer(random.bits() >> 20)).collect();
        return Tensor::new(dims, Data::from_i64s(dtype, &integers).unwrap());
    }
    let any_bits = random.chance(30);
    let scale = [1.0, 100.0, 1e-3, 1e-19][random.below(4)];
    let mut value = || {
        if any_bits {
            return f32::from_bits(random.bits() as u32);
        }
        let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -1e-40, f32::MAX, f32::NAN];
        match random.below(24) {
            at if at < special.len() && random.chance(30) => special[at],
            _ => (random.bits() >> 40) as f32 / (1u64 << 23) as f32 * scale - scale,
        }
    };
    let values: Vec<f32> = (0..dims.iter().product()).map(|_| value()).collect();
    let rounded = values.into_iter().map(|v| match dtype {
        DType::BF16 => f32::from_bits(v.to_bits() & 0xffff_0000),
        _ => v,
    });
    let values: Vec<f32> = rounded.collect();
    let data = match dtype {
        DType::F32 | DType::BF16 => Data::from_f32s(dtype, values),
        _ => {
            let rounded = |v: f32| match dtype.format() {
                Some(format) => round_f64(format, v.into(), Direction::NearestEven),
                None => v.into(),
            };
            Data::from_f64s(dtype, &values.into_iter().map(rounded).collect::<Vec<f64>>())
        }
    };
    Tensor::new(dims, data.unwrap())
}

/// In how many elements two programs differ for some inputs; every NaN is one.
fn differing(one: &Import, other: &Import, mode: &str, inputs: usize, random: &mut Random) -> (usize, usize) {
    let mode: Mode = mode.parse().unwrap();
    let prepared = [Prepared::new(&one.program), Prepared::new(&other.program)];
    let shapes = one.program.entry().parameter_shapes();
    let (mut elements, mut differing) = (0, 0);
    for _ in 0..inputs {
        let arguments: Vec<Tensor> =
            shapes.iter().map(|shape| fill(random, shape.dtype().unwrap(), shape.dims())).collect();
        let [a, b] = [0, 1].map(|at| {
            let bound = prepared[at].bind(&arguments).unwrap();
            prepared[at].evaluate(&mode, &bound).unwrap()
        });
        for (a, b) in a.iter().zip(&b) {
            elements += a.len();
            differing += (0..a.len()).filter(|at| differ(a, *at, b, *at)).count();
        }
    }
    (elements, differing)
}

/// Whether two elements have other bits; every NaN is one.
fn differ(a: &Tensor, i: usize, b: &Tensor, j: usize) -> bool {
    let is_nan = |t: &Tensor, at: usize| t.dtype().is_float() && t.data().get_f64(at).is_nan();
    a.data().bits(i) != b.data().bits(j) && !(is_nan(a, i) && is_nan(b, j))
}

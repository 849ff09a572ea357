//! Integers and predicates that no argument decides.

use crate::ir::{Binary, Unary};
use crate::tensor::DType;

/// Integers above this are not followed: a float would not hold them.
const LARGEST: i128 = 1 << 53;

/// An integer in its type, which wraps; `None` where a float does not hold it.
pub fn wrap(value: i128, dtype: DType) -> Option<f64> {
    if dtype == DType::Pred {
        return Some(f64::from(value != 0));
    }
    let bits = dtype.bits();
    let low = value & ((1i128 << bits) - 1);
    let wrapped = if dtype.is_signed() && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low };
    (wrapped.abs() <= LARGEST).then_some(wrapped as f64)
}

/// A float as an integer: truncated, and the nearest number of the type if it is out of range.
pub fn saturate(value: f64, dtype: DType) -> f64 {
    let bits = dtype.bits();
    let (least, most) = match dtype.is_signed() {
        true => (-(2f64.powi(bits as i32 - 1)), 2f64.powi(bits as i32 - 1) - 1.0),
        false => (0.0, 2f64.powi(bits as i32) - 1.0),
    };
    value.trunc().clamp(least, most)
}

/// Whether all numbers of one type are in the other.
pub fn keeps(from: DType, to: DType) -> bool {
    let is_plain = |dtype: DType| !dtype.is_float() && dtype != DType::Pred;
    is_plain(from)
        && is_plain(to)
        && from.is_signed() <= to.is_signed()
        && from.bits() + u32::from(!from.is_signed() && to.is_signed()) <= to.bits()
}

pub fn unary(unary: Unary, x: i64, dtype: DType) -> Option<f64> {
    let x = i128::from(x);
    match unary {
        Unary::Negate => wrap(-x, dtype),
        Unary::Abs => wrap(x.abs(), dtype),
        Unary::Sign => wrap(x.signum(), dtype),
        Unary::Not if dtype != DType::Pred => wrap(!x, dtype),
        _ => None,
    }
}

pub fn binary(binary: Binary, x: i64, y: i64, dtype: DType) -> Option<f64> {
    let (a, b) = (i128::from(x), i128::from(y));
    let bits = i64::from(dtype.bits());
    let shifts = dtype != DType::Pred && (0..bits).contains(&y);
    // The bits of a negative number of the type, as a number without a sign.
    let unsigned = a & ((1i128 << bits) - 1);
    let value = match binary {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Divide if b != 0 => a / b,
        Binary::Remainder if b != 0 => a % b,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::ShiftLeft if shifts => a << y,
        Binary::ShiftRightLogical if shifts => unsigned >> y,
        Binary::ShiftRightArithmetic if shifts && dtype.is_signed() => a >> y,
        _ => return None,
    };
    wrap(value, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, ValueId};
    use crate::machine::evaluate;
    use crate::tensor::{Data, Tensor};

    const TYPES: [DType; 8] =
        [DType::S8, DType::S16, DType::S32, DType::S64, DType::U8, DType::U16, DType::U32, DType::U64];

    /// The least and the largest number of a type.
    fn ends(dtype: DType) -> [i128; 2] {
        let bits = dtype.bits();
        if dtype.is_signed() { [-(1 << (bits - 1)), (1 << (bits - 1)) - 1] } else { [0, (1 << bits) - 1] }
    }

    /// Numbers of a type: small ones, and those at the ends of all types.
    fn numbers(dtype: DType) -> Vec<i64> {
        let of_type = ends(dtype);
        let at_ends = TYPES.iter().flat_map(|other| ends(*other)).map(|end| end.min(1 << 50) as i64);
        let all = at_ends.chain([-9, -8, -3, -2, 2, 3, 5, 7, 8, 15, 16, 31, 32, 63, 64, 100]);
        let mut all: Vec<i64> = all.filter(|x| (of_type[0]..=of_type[1]).contains(&i128::from(*x))).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The numbers that the machine computes of some arrays.
    fn on_machine(
        arrays: &[Tensor],
        of: impl FnOnce(&mut Builder, &[ValueId]) -> std::result::Result<ValueId, crate::ir::ShapeError>,
    ) -> Vec<i128> {
        let mut b = Builder::new("numbers");
        let parameter =
            |(at, array): (usize, &Tensor)| b.parameter(&format!("x{at}"), array.dtype(), array.dims()).unwrap();
        let operands: Vec<ValueId> = arrays.iter().enumerate().map(parameter).collect();
        let made = of(&mut b, &operands).unwrap();
        let program = b.finish(&[("made", made)]).unwrap();
        let results = evaluate(&program, &"cpu/f32/off".parse::<crate::mode::Mode>().unwrap(), arrays).unwrap();
        (0..results[0].len()).map(|at| results[0].dtype().integer_of(results[0].data().get_i64(at))).collect()
    }

    fn held(value: i128) -> Option<f64> {
        (value.abs() <= LARGEST).then_some(value as f64)
    }

    #[test]
    fn operations_give_what_the_machine_gives() {
        for dtype in TYPES {
            let numbers = numbers(dtype);
            let pairs: Vec<[i64; 2]> = numbers.iter().flat_map(|x| numbers.iter().map(|y| [*x, *y])).collect();
            let column = |at: usize| {
                let column: Vec<i64> = pairs.iter().map(|pair| pair[at]).collect();
                Tensor::new(&[pairs.len()], Data::from_i64s(dtype, &column).unwrap())
            };
            for op in Binary::ALL.iter().copied() {
                let is_known = |y: i64| match op {
                    Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Maximum | Binary::Minimum => true,
                    Binary::And | Binary::Or | Binary::Xor => true,
                    Binary::Divide | Binary::Remainder => y != 0,
                    Binary::ShiftLeft | Binary::ShiftRightLogical => (0..i64::from(dtype.bits())).contains(&y),
                    Binary::ShiftRightArithmetic => dtype.is_signed() && (0..i64::from(dtype.bits())).contains(&y),
                    _ => false,
                };
                if pairs.iter().all(|[_, y]| !is_known(*y)) {
                    assert!(pairs.iter().all(|[x, y]| binary(op, *x, *y, dtype).is_none()), "{} {dtype}", op.name());
                    continue;
                }
                let made = on_machine(&[column(0), column(1)], |b, of| b.binary(op, of[0], of[1]));
                for ([x, y], made) in pairs.iter().zip(made) {
                    let expected = is_known(*y).then_some(made).and_then(held);
                    assert_eq!(binary(op, *x, *y, dtype), expected, "{} of {x}, {y} in {dtype}", op.name());
                }
            }
            let array = Tensor::new(&[numbers.len()], Data::from_i64s(dtype, &numbers).unwrap());
            for op in [Unary::Negate, Unary::Abs, Unary::Sign, Unary::Not] {
                let made = on_machine(std::slice::from_ref(&array), |b, of| b.unary(op, of[0]));
                for (x, made) in numbers.iter().zip(made) {
                    assert_eq!(unary(op, *x, dtype), held(made), "{} of {x} in {dtype}", op.name());
                }
            }
        }
        assert_eq!(unary(Unary::Not, 1, DType::Pred), None);
    }

    #[test]
    fn floats_become_what_the_machine_makes_of_them() {
        let floats =
            [-1e30, -32768.5, -300.7, -128.0, -1.5, -0.5, 0.0, 0.5, 1.5, 2.7, 127.9, 254.5, 255.5, 70000.2, 1e30];
        for dtype in TYPES {
            let array = Tensor::new(&[floats.len()], Data::from_f64s(DType::F64, &floats).unwrap());
            let made = on_machine(&[array], |b, of| b.convert(of[0], dtype));
            for (x, made) in floats.iter().zip(made) {
                assert_eq!(saturate(*x, dtype), made as f64, "{x} in {dtype}");
            }
        }
    }

    #[test]
    fn a_type_keeps_the_numbers_that_lie_between_its_ends() {
        for from in TYPES {
            for to in TYPES {
                let [least, most] = ends(from);
                let [low, high] = ends(to);
                assert_eq!(keeps(from, to), low <= least && most <= high, "{from} in {to}");
            }
            assert!(!keeps(DType::Pred, from) && !keeps(from, DType::F64), "{from}");
        }
    }
}

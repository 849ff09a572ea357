//! Integers within a program that are kept in fewer bits: they wrap around, or stay at the largest number. And arguments of integers
//! that are others, as zero points.

use crate::ir::{Instruction, Op};
use crate::tensor::{DType, Data, Tensor};

use super::super::arguments::parameter_names;
use super::super::evidence::{Pattern, Runner};
use super::{LARGEST, keep, result_with_all, values};

/// Bits that integers are kept in.
const BITS: [u32; 4] = [8, 16, 24, 31];

/// A value of integers that wraps around or saturates in fewer bits.
pub(super) fn integer_ranges(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let entry = evidence.ground.program.entry();
    let is_asked = |instruction: &Instruction| {
        let is_integer = matches!(instruction.shape.dtype(), Some(DType::S32 | DType::S64 | DType::S16));
        is_integer && !matches!(instruction.op, Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. })
    };
    let mut best: Option<Pattern> = None;
    for (id, tensor) in values(runner, &is_asked).into_iter().enumerate() {
        let Some(tensor) = tensor else { continue };
        let numbers: Vec<i64> = (0..tensor.len()).map(|at| tensor.data().get_i64(at)).collect();
        for bits in BITS {
            for (does, narrow) in
                [("wraps around in", wrap as fn(i64, u32) -> i64), ("stays at the largest of", saturate)]
            {
                let narrowed: Vec<i64> = numbers.iter().map(|x| narrow(*x, bits)).collect();
                if narrowed == numbers {
                    continue;
                }
                let Some(other) = of_type(&tensor, &narrowed) else { continue };
                let Some(result) = result_with_all(runner, &[(id, other)]) else { return best };
                let explained = evidence.least_share(&result);
                if best.as_ref().is_none_or(|best| explained > best.explained) {
                    let says = format!("{} {does} {bits} bits", entry.instructions[id].name);
                    best = Some(Pattern::new("integer-range", says, explained));
                }
            }
        }
    }
    best
}

/// An argument of integers in whose place there are zeros, their mean, or one more or less, as a zero point that is left out, taken
/// for the middle of its range, or counted from another end.
pub(super) fn integer_arguments(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let names = parameter_names(evidence.ground.program);
    let mut best: Option<Pattern> = None;
    for (number, argument) in evidence.ground.arguments.iter().enumerate() {
        if !argument.dtype().is_integer() || argument.is_empty() || argument.len() > LARGEST {
            continue;
        }
        let name = names.get(number).map_or("", String::as_str);
        let numbers = argument.data().to_i64s();
        let mean = numbers.iter().map(|x| *x as f64).sum::<f64>() / numbers.len() as f64;
        // The middle of a range lies beside the mean.
        let middles = [mean.floor() as i64, (mean.floor() as i64).saturating_add(1)];
        let alike = |value: i64| vec![value; numbers.len()];
        // A number at the end of all integers stays, and the others move.
        let plus = |term: i64| numbers.iter().map(|x| x.saturating_add(term)).collect::<Vec<i64>>();
        // Of one number, or of equal ones, the middle is the number itself and the next one is one more: that comes first.
        for (kind, says, changed) in [
            ("left-out", "is left out: zeros stand in its place".to_string(), alike(0)),
            ("one-more", "has one more everywhere".to_string(), plus(1)),
            ("one-more", "has one less everywhere".to_string(), plus(-1)),
            ("left-out", format!("is left out: {} stands in its place", middles[0]), alike(middles[0])),
            ("left-out", format!("is left out: {} stands in its place", middles[1]), alike(middles[1])),
        ] {
            let data = Data::from_i64s(argument.dtype(), &changed);
            let Some(data) = data.filter(|_| changed != numbers) else { continue };
            let mut arguments = evidence.ground.arguments.to_vec();
            arguments[number] = Tensor::new(argument.dims(), data);
            let Some(values) = runner.run(evidence.ground.program, &arguments) else { return best };
            keep(&mut best, evidence, &values, kind, format!("{name} {says}"), None);
        }
    }
    best
}

/// The number of so many bits with the same low bits.
fn wrap(number: i64, bits: u32) -> i64 {
    number << (64 - bits) >> (64 - bits)
}

/// The nearest number of so many bits.
fn saturate(number: i64, bits: u32) -> i64 {
    number.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
}

fn of_type(tensor: &Tensor, numbers: &[i64]) -> Option<Tensor> {
    let data = match tensor.dtype() {
        DType::S16 => Data::S16(numbers.iter().map(|x| i16::try_from(*x).ok()).collect::<Option<_>>()?),
        DType::S32 => Data::S32(numbers.iter().map(|x| i32::try_from(*x).ok()).collect::<Option<_>>()?),
        DType::S64 => Data::S64(numbers.to_vec()),
        _ => return None,
    };
    Some(Tensor::new(tensor.dims(), data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_bits_wrap_around_or_saturate() {
        assert_eq!([40_000, -40_000, 7].map(|x| wrap(x, 16)), [-25_536, 25_536, 7]);
        assert_eq!([40_000, -40_000, 7].map(|x| saturate(x, 16)), [32_767, -32_768, 7]);
    }
}

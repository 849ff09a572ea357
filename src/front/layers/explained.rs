//! The error that the roundings of a part explain.
//!
//! In each mode the part runs on the machine and in f64, and each operation's local error is carried to the part's result alone
//! ([`LocalErrors`]). The explained error is the root of the sum of these squares: the errors of different operations have any
//! signs, and another honest implementation draws others.

use crate::ir::Program;
use crate::machine::{EvalError, LocalErrors, Mode, PRECISIONS, PrecisionRow, compute_alike};
use crate::subject::compile;
use crate::tensor::Tensor;

use super::Settings;

/// One mode's results for the inputs of a part, and their errors.
pub(super) struct ModeErrors {
    /// The mode.
    pub mode: Mode,
    /// The place of its precision, as [`rank`] says.
    pub rank: usize,
    /// Its result.
    pub on_machine: Vec<f64>,
    /// By rows along the last dim: the mean square of the errors that its operations make each alone, and no less than that of
    /// all together.
    pub rows: Vec<f64>,
}

/// A part's result without errors, and in each mode.
pub(super) struct Explained {
    /// The result in f64.
    pub exact: Vec<f64>,
    /// The modes, the most accurate first. One that gives the bits of a more accurate one of its chip is left out.
    pub modes: Vec<ModeErrors>,
}

impl Explained {
    /// Runs a part with one float result on its inputs in each of the modes.
    ///
    /// # Errors
    /// If no mode, or f64, supports the part.
    pub fn new(part: &Program, inputs: &[Tensor], modes: &[Mode]) -> Result<Explained, EvalError> {
        let width = part.entry().instructions[part.entry().root].shape.dims().last().copied().unwrap_or(1).max(1);
        let mut found = Explained { exact: Vec::new(), modes: Vec::new() };
        let mut programs: Vec<(Program, Mode)> = Vec::new();
        let mut first_error = None;
        for mode in modes {
            let compiled = compile(part, mode);
            let is_known = |(other, first): &(Program, Mode)| {
                other.computations == compiled.computations && compute_alike(first, mode, other)
            };
            if programs.iter().any(is_known) {
                continue;
            }
            let errors = match LocalErrors::new(&compiled, mode, inputs, 0) {
                Ok(errors) => errors,
                Err(error) => {
                    first_error.get_or_insert(error);
                    continue;
                }
            };
            programs.push((compiled, mode.clone()));
            found.exact.clone_from(&errors.in_f64);
            let same_chip = |other: &&ModeErrors| other.mode.chip.name == mode.chip.name;
            if found.modes.iter().filter(same_chip).any(|other| is_same(&other.on_machine, &errors.on_machine)) {
                continue;
            }
            let rows = rows_of(&errors, width)?;
            found.modes.push(ModeErrors { mode: mode.clone(), rank: rank(mode), on_machine: errors.on_machine, rows });
        }
        match first_error {
            Some(error) if found.modes.is_empty() => Err(error),
            _ => Ok(found),
        }
    }
}

/// The place of a mode's precision in [`PRECISIONS`]. Chips without a matrix unit have that of `highest`: f32 results of a TPU are
/// as honest as theirs, and functions err more there.
pub(super) fn rank(mode: &Mode) -> usize {
    if mode.chip.matrix_unit {
        mode.precision.place()
    } else {
        PRECISIONS.iter().take_while(|row| row.name != "highest").count()
    }
}

/// The modes to try for a recording, the most accurate first: the named one, declared and as its compiler rewrites it, or the
/// declared ones of each chip.
pub(super) fn modes(settings: &Settings, side: usize) -> Vec<Mode> {
    if let Some(named) = &settings.modes[side] {
        let declared = named.declare(named.precision.name).ok();
        return declared.into_iter().chain([named.clone()]).collect();
    }
    let named: Vec<&str> = match settings.chips.is_empty() {
        true => vec!["cpu", "v5e"],
        false => settings.chips.iter().map(|chip| chip.name).collect(),
    };
    let precisions = PRECISIONS.iter().rev().filter(|row| !row.overrides);
    // One precision is enough of a chip whose precisions are all one.
    let is_own = |mode: &Mode| mode.chip.matrix_unit || mode.precision.name == "highest";
    let of_precision = |row: &'static PrecisionRow| {
        named.iter().filter_map(|chip| Mode::new(chip, row.name, "off", "").ok()).filter(is_own)
    };
    let mut modes: Vec<Mode> = precisions.flat_map(of_precision).collect();
    modes.sort_by_key(|mode| std::cmp::Reverse(rank(mode)));
    modes
}

/// Whether two results are the same numbers, the sign of a zero among them; all NaNs count as one.
pub(super) fn is_same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
}

/// Mean squares of the differences of a result from `exact`, by rows. Those that are not finite are left out.
pub(super) fn mean_squares(values: &[f64], exact: &[f64], width: usize) -> Vec<f64> {
    let of_row = |(values, exact): (&[f64], &[f64])| {
        let squares = values.iter().zip(exact).map(|(x, y)| (x - y) * (x - y)).filter(|square| square.is_finite());
        squares.sum::<f64>() / width as f64
    };
    values.chunks(width).zip(exact.chunks(width)).map(of_row).collect()
}

/// The explained mean squares of the rows of a result.
fn rows_of(errors: &LocalErrors, width: usize) -> Result<Vec<f64>, EvalError> {
    let exact = &errors.in_f64;
    let (_, effects) = errors.effects(|values| mean_squares(values, exact, width))?;
    let mut rows = vec![0.0; exact.len().div_ceil(width)];
    for effect in &effects {
        rows.iter_mut().zip(effect).for_each(|(sum, square)| *sum += square);
    }
    let together = mean_squares(&errors.on_machine, exact, width);
    Ok(rows.into_iter().zip(together).map(|(apart, together)| apart.max(together)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{lower, parse};
    use crate::tensor::Data;

    const DIMS: [usize; 2] = [3, 2];

    /// The explained mean squares of the rows of two equal products that are joined, over the mean square of the error of one.
    fn of_two_products(joined: &str) -> Vec<f64> {
        let numbers = [1.7f32, -3.3, 0.45, 12.9, 7.7, -0.61];
        let text = format!(
            "HloModule twice\nENTRY e {{ x = f32[3,2] parameter(0) c = f32[3,2] parameter(1) one = f32[3,2] multiply(x, c) \
             other = f32[3,2] multiply(x, c) ROOT r = f32[3,2] {joined}(one, other) }}"
        );
        let part = lower(&parse(&text).unwrap()).unwrap().program;
        let inputs = [numbers.to_vec(), vec![0.1; 6]].map(|values| Tensor::new(&DIMS, Data::F32(values)));
        let mode: Mode = "cpu/highest/off".parse().unwrap();
        let explained = Explained::new(&part, &inputs, &[mode]).unwrap();
        let error = |x: f32| f64::from(x * 0.1) - f64::from(x) * f64::from(0.1f32);
        let of_one = numbers.chunks(DIMS[1]).map(|row| row.iter().map(|x| error(*x).powi(2)).sum::<f64>() / 2.0);
        explained.modes[0].rows.iter().zip(of_one).map(|(explained, one)| explained / one).collect()
    }

    /// Errors that add up explain four times the square of one, and errors that cancel here no less than the two of them apart.
    #[test]
    fn errors_explain_as_much_together_as_apart_and_the_other_way_round() {
        for (joined, times) in [("add", 4.0), ("subtract", 2.0)] {
            let found = of_two_products(joined);
            assert!(found.len() == 3 && found.iter().all(|found| (found / times - 1.0).abs() < 1e-6), "{found:?}");
        }
    }
}

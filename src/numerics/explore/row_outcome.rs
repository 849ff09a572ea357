//! Outcomes that are compared: tokens, kept sets, orders.

use std::ops::Range;

use crate::budget;
use crate::ir::{Program, Shape, ValueId};
use crate::machine::{EvalError, Replay};
use crate::name::hint;
use crate::oracle::interval::Interval;
use crate::oracle::{Enclosed, Enclosures};
use crate::tensor::{Data, Tensor};

use super::{Answer, Difference};

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeError {
    /// No result is an integer or a predicate, and none is named.
    #[error("no result is made of integers or predicates: name those that are the outcome (--result); there are {0}")]
    Nothing(String),
    /// There is no such result.
    #[error("there is no result `{name}`; {hint}")]
    Unknown {
        /// The name given.
        name: String,
        /// The nearest one, or all.
        hint: String,
    },
}

/// The results that make an outcome, and its rows.
pub(super) struct Outcome {
    /// Positions among the program's results.
    pub outputs: Vec<usize>,
    /// Their values in the program.
    pub values: Vec<ValueId>,
    pub rows: usize,
}

impl Outcome {
    /// Asks for an answer for each row, also where its elements are none.
    pub fn reserve(&self) -> Result<(), EvalError> {
        let bytes = budget::bytes_of([self.rows], size_of::<Answer>() as u128);
        Ok(budget::reserve(bytes, || format!("an answer for each of {} rows", self.rows)).map(drop)?)
    }

    pub fn new(program: &Program, names: &[String]) -> Result<Outcome, OutcomeError> {
        let known = &program.output_names;
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            let hint = hint(unknown, known.iter().map(String::as_str));
            return Err(OutcomeError::Unknown { name: unknown.clone(), hint });
        }
        let all = program.outputs();
        let shape = |position: usize| &program.entry().instructions[all[position]].shape;
        let picks = |position: &usize| match names.is_empty() {
            true => shape(*position).dtype().is_some_and(|dtype| !dtype.is_float()),
            false => names.contains(&known[*position]),
        };
        let outputs: Vec<usize> = (0..all.len()).filter(picks).collect();
        let Some(first) = outputs.first() else { return Err(OutcomeError::Nothing(known.join(", "))) };
        let extent = |position: &usize| Shape::dims(shape(*position)).first().copied();
        let rows = extent(first).filter(|rows| outputs.iter().all(|o| extent(o) == Some(*rows))).unwrap_or(1);
        let values = outputs.iter().map(|position| all[*position]).collect();
        Ok(Outcome { outputs, values, rows })
    }

    /// The outcome as a run has it.
    pub fn tensors(&self, replay: &Replay) -> Result<Vec<Tensor>, EvalError> {
        self.values.iter().map(|id| replay.tensor(*id)).collect()
    }

    /// The outcome among all results.
    pub fn among(&self, results: &[Tensor]) -> Vec<Tensor> {
        self.outputs.iter().map(|output| results[*output].clone()).collect()
    }

    /// Flat positions of a row in a result of so many elements.
    fn span(&self, row: usize, elements: usize) -> Range<usize> {
        span(row, self.rows, elements)
    }

    /// The first difference between two outcomes in a row.
    pub fn difference(&self, row: usize, declared: &[Tensor], chosen: &[Tensor]) -> Option<Difference> {
        self.differences(row, declared, chosen).next()
    }

    /// The first difference in a row of each result of two outcomes.
    pub fn differences<'a>(
        &'a self,
        row: usize,
        declared: &'a [Tensor],
        chosen: &'a [Tensor],
    ) -> impl Iterator<Item = Difference> + 'a {
        self.outputs.iter().zip(declared.iter().zip(chosen)).filter_map(move |(output, (declared, chosen))| {
            let (before, after) = (declared.data(), chosen.data());
            let is_one = |at: usize| {
                before.bits(at) == after.bits(at) || before.get_f64(at).is_nan() && after.get_f64(at).is_nan()
            };
            let element = self.span(row, declared.len()).find(|at| !is_one(*at))?;
            let (declared, chosen) = (before.get_f64(element), after.get_f64(element));
            Some(Difference { output: *output, element, declared, chosen })
        })
    }

    /// Of each of some rows, which are all that the enclosures hold, how many elements these leave open, or hold elsewhere than
    /// where they are declared; `None` for none.
    pub fn count_undecided(
        &self,
        (kept, rows): (&Enclosures, &Range<usize>),
        declared: &[Tensor],
    ) -> Vec<Option<usize>> {
        let enclosed: Vec<Enclosed> = self.values.iter().map(|value| kept.of(*value)).collect();
        let open = |row: usize| -> usize {
            let of = |(enclosed, declared): (&Enclosed, &Tensor)| {
                let own = span(row - rows.start, rows.len(), enclosed.elements());
                let is_declared = |(at, place): (usize, usize)| match enclosed {
                    Enclosed::Floats(floats) => holds_alone(floats[at], declared.data().get_f64(place)),
                    Enclosed::Integers(integers) => integers[at] == Some(integer(declared, place)),
                };
                own.zip(self.span(row, declared.len())).filter(|places| !is_declared(*places)).count()
            };
            enclosed.iter().zip(declared).map(of).sum()
        };
        rows.clone().map(open).map(|count| (count > 0).then_some(count)).collect()
    }
}

/// Whether an enclosure holds this value and no other. One from -0 to +0 holds two.
fn holds_alone(enclosed: Interval, value: f64) -> bool {
    let is_value = |end: f64| end.to_bits() == value.to_bits();
    is_value(enclosed.lo) && is_value(enclosed.hi) || enclosed.is_nan() && value.is_nan()
}

/// Flat positions of one of so many rows in so many elements.
pub(super) fn span(row: usize, rows: usize, elements: usize) -> Range<usize> {
    let width = elements / rows.max(1);
    row * width..(row + 1) * width
}

/// An element as [`Enclosed::Integers`] holds it.
pub(super) fn integer(tensor: &Tensor, at: usize) -> i64 {
    match tensor.data() {
        Data::U64(values) => values[at] as i64,
        // All others are numbers of f64 or in the range of i64.
        Data::S64(values) => values[at],
        data => data.get_f64(at) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;
    use crate::tensor::DType;

    /// The first difference of two results of one row.
    fn differ(declared: Data, chosen: Data) -> Option<usize> {
        let outcome = Outcome { outputs: vec![0], values: vec![0], rows: 1 };
        let [declared, chosen] = [declared, chosen].map(|data| Tensor::new(&[data.len()], data));
        outcome.difference(0, &[declared], &[chosen]).map(|difference| difference.element)
    }

    #[test]
    fn outcomes_differ_in_bits_but_for_those_of_a_nan() {
        let f32s = |values: [f64; 2]| Data::from_f64s(DType::F32, &values).unwrap();
        assert_eq!(differ(f32s([1.0, 0.0]), f32s([1.0, -0.0])), Some(1));
        assert_eq!(differ(f32s([1.0, f64::NAN]), f32s([1.0, -f64::NAN])), None);
        // f64 does not tell these two integers apart.
        let odd = (1i64 << 53) + 1;
        assert_eq!(differ(Data::S64(vec![7, odd]), Data::S64(vec![7, odd - 1])), Some(1));
        assert_eq!(integer(&Tensor::new(&[1], Data::S64(vec![odd])), 0), odd);
    }

    /// Results of one first extent are told row by row; of several extents all of them are one row.
    #[test]
    fn rows_are_those_that_all_results_have() {
        let rows = |extents: [usize; 3], names: &[&str]| {
            let mut b = Builder::new("rows");
            let x = b.parameter("x", DType::F32, &[2]).unwrap();
            let integers = extents.map(|extent| b.iota(DType::S32, &[extent, 2], 0).unwrap());
            let program = b.finish(&[("x", x), ("i", integers[0]), ("j", integers[1]), ("k", integers[2])]).unwrap();
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            Outcome::new(&program, &names).map(|outcome| (outcome.outputs, outcome.rows))
        };
        assert_eq!(rows([3, 3, 3], &[]), Ok((vec![1, 2, 3], 3)));
        for extents in [[3, 3, 4], [3, 4, 3], [4, 3, 3]] {
            assert_eq!(rows(extents, &[]), Ok((vec![1, 2, 3], 1)), "{extents:?}");
        }
        assert_eq!(rows([3, 4, 3], &["k", "i"]), Ok((vec![1, 3], 3)), "only those that are named");
        assert_eq!(rows([3, 3, 3], &["x"]), Ok((vec![0], 2)));
        assert!(matches!(rows([3, 3, 3], &["i", "l"]), Err(OutcomeError::Unknown { name, .. }) if name == "l"));
    }

    #[test]
    fn an_enclosure_of_both_zeros_holds_no_value_alone() {
        let of = |lo: f64, hi: f64| Interval { lo, hi };
        assert!(holds_alone(of(1.5, 1.5), 1.5) && !holds_alone(of(1.5, 2.0), 1.5));
        assert!(holds_alone(of(-0.0, -0.0), -0.0) && !holds_alone(of(-0.0, -0.0), 0.0));
        assert!(!holds_alone(of(-0.0, 0.0), -0.0) && !holds_alone(of(-0.0, 0.0), 0.0));
        assert!(holds_alone(of(f64::NAN, f64::NAN), f64::NAN) && !holds_alone(of(1.0, 1.0), f64::NAN));
    }
}

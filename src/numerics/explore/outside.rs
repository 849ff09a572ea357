//! What else computed results, held to what is permitted.

use crate::ir::Program;
use crate::oracle::{Enclosed, Enclosure};
use crate::rewrite::Choices;
use crate::tensor::Tensor;

use super::{ExploreError, Settings, allowance, permitted, row_outcome};

/// The program with its choices, and what each of its results may be for `arguments`, all choices at once.
///
/// # Errors
/// If the program cannot be enclosed.
pub fn enclose(
    program: &Program,
    arguments: &[Tensor],
    settings: &Settings,
) -> Result<(Choices, Vec<Enclosed>), ExploreError> {
    let choices = permitted(program, settings);
    let latitudes = allowance::latitudes(&choices, settings);
    let (enclosure, outputs) = (Enclosure::new(&choices.program), choices.program.outputs());
    let kept = enclosure.of(arguments, &latitudes, &outputs)?;
    let enclosed = outputs.iter().map(|output| kept.of(*output)).collect();
    Ok((choices, enclosed))
}

/// Elements of a result that lie outside of what is permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The result's position.
    pub output: usize,
    /// Their flat positions.
    pub elements: Vec<usize>,
    /// How many elements may be anything, so that none of them can lie outside.
    pub unknown: usize,
}

/// Where results that something else computed lie outside of an enclosure; one a result.
pub fn outside(enclosed: &[Enclosed], results: &[Tensor]) -> Vec<Outside> {
    let of = |(output, (enclosed, result)): (usize, (&Enclosed, &Tensor))| {
        let value = |at: usize| result.data().get_f64(at);
        let (elements, unknown) = match enclosed {
            Enclosed::Floats(floats) => {
                // Between two infinite ends lies every number.
                let is_open = |at: usize| {
                    floats[at].is_unknown() || floats[at].lo == f64::NEG_INFINITY && floats[at].hi == f64::INFINITY
                };
                let holds = |at: usize| match floats[at] {
                    x if is_open(at) || x.is_nan() && value(at).is_nan() => true,
                    x => (x.lo..=x.hi).contains(&value(at)),
                };
                let unknown = (0..floats.len()).filter(|at| is_open(*at)).count();
                ((0..result.len()).filter(|at| !holds(*at)).collect(), unknown)
            }
            Enclosed::Integers(integers) => {
                let holds = |at: usize| integers[at].is_none_or(|known| known == row_outcome::integer(result, at));
                let unknown = integers.iter().filter(|known| known.is_none()).count();
                ((0..result.len()).filter(|at| !holds(*at)).collect(), unknown)
            }
        };
        Outside { output, elements, unknown }
    };
    enclosed.iter().zip(results).enumerate().map(of).collect()
}

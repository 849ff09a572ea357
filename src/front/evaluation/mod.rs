//! An imported program as a function of named arrays: [`bind`] finds its arguments, [`evaluate`] runs it on a machine,
//! [`exact`] over the real numbers. [`result_errors`] gives the distances of results from the exact ones, and
//! [`TokenTruth`] the rows with another token than the truth.

mod result_errors;
mod token_rows;

use crate::file::safetensors;
use crate::hlo::Import;
use crate::ir::{Program, Shape};
use crate::machine::{EvalError, Mode};
use crate::name::hint;
use crate::oracle::{Ahead, Demand, Oracle, OracleError, Prepared, TruthTensor};
use crate::run::{TooLarge, World, check_memory};
use crate::subject;
use crate::tensor::{DTYPES, DType, Data, Tensor, Unfit};

pub use result_errors::{Distance, ResultError, WorstElement, result_errors};
pub use token_rows::{TokenKind, TokenRows, TokenTruth, WrongRow, token_results};

/// Why a program cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// An argument that the program takes is not given.
    #[error("{name} is missing, which must be {shape}{or}; there is {has}")]
    MissingArgument {
        /// Its name.
        name: String,
        /// The type and dims that it must have.
        shape: String,
        /// Another name that would do.
        or: String,
        /// The names that are given.
        has: String,
    },
    /// An argument has another type or other dims.
    #[error("{name} is {found}, but the program takes {shape}")]
    ArgumentShape {
        /// Its name.
        name: String,
        /// The type and dims that are given.
        found: String,
        /// The type and dims that it must have.
        shape: String,
    },
    /// An argument has a value that its type has not.
    #[error("{name} is {found} with {value} at {at}, which {dtype} has not")]
    ArgumentValue {
        /// Its name.
        name: String,
        /// The type and dims that are given.
        found: String,
        /// The value.
        value: f64,
        /// Its flat position.
        at: usize,
        /// The type that the program takes.
        dtype: DType,
    },
    /// More arguments are given than the program takes.
    #[error("{name} is more than the program takes: it has {count} arguments")]
    ExtraArgument {
        /// One of those that are too many.
        name: String,
        /// The number that the program takes.
        count: usize,
    },
    /// No result has this name.
    #[error("there is no result `{name}`; {hint}")]
    UnknownResult {
        /// The name.
        name: String,
        /// The nearest one, or all.
        hint: String,
    },
    /// It does not fit in memory.
    #[error(transparent)]
    Memory(#[from] TooLarge),
    /// The machine does not support it.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// The oracle does not support it.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A result is a tuple, which no array holds.
    #[error("{0} has no truth as an array")]
    NoArray(String),
    /// A result neither is nor ranks tokens.
    #[error("result {name} is {shape}, which says nothing of tokens: integers, predicates or floats [rows, tokens] do")]
    NoTokens {
        /// The result's name.
        name: String,
        /// Its type and dims.
        shape: String,
    },
}

/// The program's arguments, in order, from arrays with names. An argument that differs between devices is called
/// `arg0@0`, `arg0@1`, ...; an `arg0` goes to all devices that are given nothing else. The parts of a complex argument
/// are `arg0.real` and `arg0.imag`. A type that safetensors files do not have is given as they have it: s4 as s8.
///
/// # Errors
/// If an argument is missing, has another shape or type, or a value that its type has not, or an `argN` is more than the program takes.
pub fn bind(import: &Import, given: &[(String, Tensor)]) -> Result<Vec<Tensor>, EvaluationError> {
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    let shapes = import.program.entry().parameter_shapes();
    let mut is_taken = vec![false; given.len()];
    let mut tensors = Vec::new();
    for (name, shape) in import.argument_names.iter().zip(&shapes) {
        let of_all = of_all_devices(name);
        let at =
            [Some(name), of_all.as_ref()].into_iter().flatten().find_map(|name| names.iter().position(|n| n == name));
        let missing = || EvaluationError::MissingArgument {
            name: name.clone(),
            shape: shape.to_string(),
            or: of_all.as_ref().map(|all| format!(", or {all} for all devices")).unwrap_or_default(),
            has: if names.is_empty() { "nothing".to_string() } else { names.join(", ") },
        };
        let at = at.ok_or_else(missing)?;
        is_taken[at] = true;
        tensors.push(in_shape(names[at], &given[at].1, shape)?);
    }
    match names.iter().zip(is_taken).find(|(name, is_taken)| name.starts_with("arg") && !is_taken) {
        Some((name, _)) => Err(EvaluationError::ExtraArgument { name: name.to_string(), count: tensors.len() }),
        None => Ok(tensors),
    }
}

/// An argument as the program takes it. Of a type that safetensors files do not have, such as s4, it is given in the wider one in
/// which they have its elements.
fn in_shape(name: &str, tensor: &Tensor, shape: &Shape) -> Result<Tensor, EvaluationError> {
    let found = Shape::array(tensor.dtype(), tensor.dims());
    if found == *shape {
        return Ok(tensor.clone());
    }
    let wrong = || EvaluationError::ArgumentShape {
        name: name.to_string(),
        found: shape_text(tensor),
        shape: shape.to_string(),
    };
    let narrow = shape.dtype().filter(|dtype| found == shape.with_dtype(safetensors::stored_as(*dtype)));
    let dtype = narrow.ok_or_else(wrong)?;
    match tensor.data().exactly(dtype) {
        Ok(data) => Ok(Tensor::new(tensor.dims(), data)),
        Err(Unfit::Kind) => Err(wrong()),
        Err(Unfit::Number(at)) => Err(EvaluationError::ArgumentValue {
            name: name.to_string(),
            found: shape_text(tensor),
            value: tensor.data().get_f64(at),
            at,
            dtype,
        }),
    }
}

/// `arg0.real` of `arg0@1.real`: the name that goes to all devices.
fn of_all_devices(name: &str) -> Option<String> {
    let (argument, device) = name.split_once('@')?;
    let part = device.find('.').map_or("", |at| &device[at..]);
    Some(format!("{argument}{part}"))
}

/// `bf16[8,1024]`.
pub fn shape_text(tensor: &Tensor) -> String {
    Shape::array(tensor.dtype(), tensor.dims()).to_string()
}

/// A result of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedResult {
    /// Its name: `out0`, or `out0@1` of one device.
    pub name: String,
    /// Its elements.
    pub tensor: Tensor,
    /// Elements of a bf16 result, or of one that picks by floats, that change when a float sum takes another order that
    /// HLO permits.
    pub order_sensitive: usize,
    /// Flat positions of elements that the oracle could not decide. The tensor has NaN or zero there.
    pub undecided: Vec<usize>,
}

/// The type to which the real results' floats are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundTo {
    /// This float type.
    Type(DType),
    /// The type of each result.
    Stored,
    /// No type: each float is within 2^-10 of an ulp of its result's own type, as an f64. That is enough to measure errors, and
    /// known sooner than a rounded one.
    Near,
}

impl std::str::FromStr for RoundTo {
    type Err = String;

    fn from_str(name: &str) -> Result<RoundTo, String> {
        let floats = || DTYPES.into_iter().filter(|dtype| dtype.is_float());
        match floats().find(|dtype| dtype.name() == name) {
            Some(dtype) => Ok(RoundTo::Type(dtype)),
            None if name == "stored" => Ok(RoundTo::Stored),
            None if name == "near" => Ok(RoundTo::Near),
            None => {
                let names: Vec<&str> = floats().map(DType::name).collect();
                Err(format!("no float type is called that; there are stored, near, {}", names.join(", ")))
            }
        }
    }
}

/// The results with these names, all if there are none, of `program` in `mode`; `inputs` as [`bind`] gives them.
///
/// # Errors
/// If a name is unknown, or the program is too large or not supported.
pub fn evaluate(
    program: &Program,
    mode: &Mode,
    inputs: &[Tensor],
    names: &[String],
) -> Result<Vec<NamedResult>, EvaluationError> {
    check_memory(program, World::Machine)?;
    let asked = asked(program, names)?;
    let results = subject::evaluate(program, mode, inputs)?;
    let sensitive = subject::order_sensitive(program, mode, inputs, &results)?;
    let all = program.output_names.iter().zip(results).zip(sensitive).zip(asked);
    let asked = all.filter(|(_, is_asked)| *is_asked).map(|(((name, tensor), order_sensitive), _)| NamedResult {
        name: name.clone(),
        tensor,
        order_sensitive,
        undecided: Vec::new(),
    });
    Ok(asked.collect())
}

/// The results with these names, all if there are none, of `program` over the real numbers, floats correctly rounded
/// once; a long pass is announced before it begins.
///
/// # Errors
/// If a name is unknown, or the program is too large or not supported.
pub fn exact(
    program: &Program,
    inputs: &[Tensor],
    names: &[String],
    round_to: RoundTo,
    announce: &mut dyn FnMut(Ahead),
) -> Result<Vec<NamedResult>, EvaluationError> {
    check_memory(program, World::Truth)?;
    let asked = asked(program, names)?;
    let demand = match round_to {
        RoundTo::Type(DType::F64) => Demand::Rounded,
        RoundTo::Type(dtype) => Demand::RoundedTo(dtype),
        RoundTo::Stored => Demand::Stored,
        RoundTo::Near => Demand::Near,
    };
    let demands: Vec<Demand> = asked.iter().map(|is_asked| if *is_asked { demand } else { Demand::None }).collect();
    let truth = Oracle::default().announced_truth(&Prepared::new(program), inputs, &demands, announce)?;
    let dtypes = program.outputs().into_iter().map(|id| program.entry().instructions[id].shape.dtype());
    let results = truth.outputs.into_iter().zip(dtypes).zip(&program.output_names).zip(&asked);
    let results = results.filter(|(_, is_asked)| **is_asked).map(|(((output, dtype), name), _)| {
        let result = match output {
            TruthTensor::Float(float) => {
                let target = match round_to {
                    RoundTo::Type(target) => Some(target),
                    RoundTo::Stored => dtype,
                    RoundTo::Near => Some(DType::F64),
                };
                let data = target.and_then(|target| Data::from_f64s(target, &float.rounded));
                data.map(|data| (Tensor::new(&float.dims, data), float.open))
            }
            TruthTensor::Integer { dims, values } => {
                // Elements that are not known are marked in `undecided`; they are 0 in the array.
                let known: Vec<i64> = values.iter().map(|value| value.unwrap_or(0)).collect();
                let data = dtype.and_then(|dtype| Data::from_i64s(dtype, &known));
                data.map(|data| (Tensor::new(&dims, data), unknown(&values)))
            }
            TruthTensor::Predicate { dims, values } => {
                let known = values.iter().map(|value| value.unwrap_or(false)).collect();
                Some((Tensor::new(&dims, Data::Pred(known)), unknown(&values)))
            }
            TruthTensor::Skipped => None,
        };
        let (tensor, undecided) = result.ok_or_else(|| EvaluationError::NoArray(name.clone()))?;
        Ok(NamedResult { name: name.clone(), tensor, order_sensitive: 0, undecided })
    });
    results.collect()
}

/// For each result, whether it is among those with these names; all are if there are none.
fn asked(program: &Program, names: &[String]) -> Result<Vec<bool>, EvaluationError> {
    let known = &program.output_names;
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        let hint = hint(unknown, known.iter().map(String::as_str));
        return Err(EvaluationError::UnknownResult { name: unknown.clone(), hint });
    }
    Ok(known.iter().map(|name| names.is_empty() || names.contains(name)).collect())
}

/// Positions of the values that are not known.
fn unknown<T>(values: &[Option<T>]) -> Vec<usize> {
    values.iter().enumerate().filter_map(|(at, value)| value.is_none().then_some(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{lower, parse};

    /// exp(log(x)) is x, as no enclosure of it shows: a whole number of it, and which side of x it lies on, stay open.
    #[test]
    fn an_open_element_is_undecided_whatever_its_type() {
        let text = "HloModule open
ENTRY main {
  x = f32[3] parameter(0)
  log = f32[3] log(x)
  same = f32[3] exponential(log)
  whole = s32[3] convert(same)
  above = pred[3] compare(same, x), direction=GT
  ROOT out = (s32[3], pred[3]) tuple(whole, above)
}";
        let import = lower(&parse(text).unwrap()).unwrap();
        let x = Tensor::new(&[3], Data::F32(vec![2.5, 3.0, 7.0]));
        let results = exact(&import.program, &[x], &[], RoundTo::Stored, &mut |_| {}).unwrap();
        let open: Vec<&[usize]> = results.iter().map(|result| &result.undecided[..]).collect();
        assert_eq!(open, [&[1, 2][..], &[0, 1, 2]], "{results:?}");
        assert_eq!(results[0].tensor.data().to_f64s(), [2.0, 0.0, 0.0]);
    }
}

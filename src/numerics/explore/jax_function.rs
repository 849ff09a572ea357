//! A program as a function in Python: calls of `jax.lax`, one line an instruction.

mod lax_names;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::fmt::{Display, Write};

use crate::analysis::{Reducer, Regions};
use crate::ir::{CompareOrder, Computation, GatherDims, Instruction, Op, Precision, Program, Shape, Unary};
use crate::tensor::DType;

use super::numpy_text::{dtype, number, numpy_array};
use lax_names::{binary_name, compare_name, unary_name};

/// An operation without a line of `jax.lax`, by its name and opcode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} ({what}) has no line in JAX here")]
pub struct NoLine {
    /// The instruction.
    pub name: String,
    /// Its opcode, or a type.
    pub what: String,
}

/// A program as the Python function `name(parameters...)`, which gives its results as a tuple. It needs `jnp` and `lax`, and
/// gives the compiler the program's own operations: regions are functions inside, so that nothing is recognised and written
/// otherwise.
///
/// # Errors
/// Names the first operation that has no line: what `jax.lax` does not have as one operation.
pub fn jax_function(program: &Program, name: &str) -> Result<String, NoLine> {
    let writer = Writer { program, regions: Regions::new(program) };
    let entry = program.entry();
    let mut text = String::new();
    // Regions of regions, too: Python looks names up when a function is called.
    let mut open = writer.called_by(entry);
    let mut called = BTreeSet::new();
    while let Some((id, is_loop)) = open.pop() {
        if called.insert((id, is_loop)) {
            open.extend(writer.called_by(&program.computations[id]));
        }
    }
    for (id, is_loop) in called {
        let computation = &program.computations[id];
        text.push_str(&if is_loop { writer.of_loop(id, computation)? } else { writer.region(id, computation)? });
    }
    let body = indented(&writer.body(entry)?);
    // What a region is called stands inside, so that two functions of one file keep apart.
    let parameters = writer.parameters(entry).join(", ");
    Ok(format!("def {name}({parameters}):\n{}{body}", indented(&text)))
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| format!("{all}    {line}\n"))
}

/// Words that Python, a file with these functions or a function of them has a meaning for; beside these what regions are called.
const TAKEN: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "jax", "jnp", "lambda",
    "lax", "nonlocal", "not", "np", "or", "pass", "raise", "return", "try", "while", "with", "yield", "float", "slice",
    "before", "more", "state",
];

/// Prefix of the name of a region's function.
const REGION: &str = "region_";

/// A name for each instruction: a word of Python's, each once.
fn words(computation: &Computation) -> Vec<String> {
    let mut taken: HashSet<String> = TAKEN.iter().map(|word| (*word).to_string()).collect();
    let word = |instruction: &Instruction| {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut word: String = instruction.name.chars().map(plain).collect();
        if word.starts_with(|c: char| c.is_ascii_digit()) || word.starts_with(REGION) || word.is_empty() {
            word.insert(0, '_');
        }
        let more = (2..).map(|n| format!("{word}_{n}"));
        let found = std::iter::once(word.clone()).chain(more).find(|word| taken.insert(word.clone()));
        found.unwrap_or(word)
    };
    computation.instructions.iter().map(word).collect()
}

fn list(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    tuple(&numbers)
}

fn tuple<S: Borrow<str> + Display>(parts: &[S]) -> String {
    if let [one] = parts { format!("({one},)") } else { format!("({})", parts.join(", ")) }
}

struct Writer<'p> {
    program: &'p Program,
    regions: Regions,
}

impl Writer<'_> {
    /// The computations of an operation that become functions with a name, and whether each is a loop's. A sort's
    /// comparator becomes none, and a region of one operation is written where it is used.
    fn functions_of(&self, op: &Op) -> Vec<(usize, bool)> {
        match op {
            Op::Sort { .. } => Vec::new(),
            Op::While { .. } => op.callees().map(|id| (id, true)).collect(),
            op => op.callees().filter(|id| self.short_region(*id).is_none()).map(|id| (id, false)).collect(),
        }
    }

    /// The functions that a computation's operations are given.
    fn called_by(&self, computation: &Computation) -> Vec<(usize, bool)> {
        computation.instructions.iter().flat_map(|instruction| self.functions_of(&instruction.op)).collect()
    }

    /// A region as an expression. A function of its own even where `jax.lax` has the operation, so that JAX does not take it
    /// for a reduction that it writes otherwise.
    fn region_expression(&self, id: usize) -> String {
        self.short_region(id).unwrap_or_else(|| Writer::region_name(id))
    }

    /// A region of one operation of its two operands.
    fn short_region(&self, id: usize) -> Option<String> {
        match self.regions.reducer(id)? {
            Reducer::Binary(binary) if self.program.computations[id].instructions.len() == 3 => {
                Some(format!("lambda x, y: lax.{}(x, y)", binary_name(binary)))
            }
            _ => None,
        }
    }

    fn region_name(id: usize) -> String {
        format!("{REGION}{id}")
    }

    fn parameters(&self, computation: &Computation) -> Vec<String> {
        let words = words(computation);
        let numbered =
            computation.instructions.iter().zip(words).filter_map(|(instruction, word)| match instruction.op {
                Op::Parameter(number) => Some((number, word)),
                _ => None,
            });
        let mut numbered: Vec<(usize, String)> = numbered.collect();
        numbered.sort();
        numbered.into_iter().map(|(_, word)| word).collect()
    }

    /// A region over 2N scalars as JAX takes it: of N accumulated ones and N more, as tuples if N is not 1.
    fn region(&self, id: usize, computation: &Computation) -> Result<String, NoLine> {
        let parameters = self.parameters(computation);
        let (before, more) = parameters.split_at(parameters.len() / 2);
        let name = Writer::region_name(id);
        let (head, unpacked) = match (before, more) {
            ([x], [y]) => (format!("def {name}({x}, {y}):\n"), String::new()),
            _ => {
                let unpack = |words: &[String], from: &str| format!("    {} = {from}\n", words.join(", "));
                (format!("def {name}(before, more):\n"), unpack(before, "before") + &unpack(more, "more"))
            }
        };
        Ok(format!("{head}{unpacked}{}", indented(&self.body(computation)?)))
    }

    fn loop_name(id: usize) -> String {
        format!("{REGION}{id}_of_loop")
    }

    /// Function of a loop, its condition or its body, with the state as one tuple.
    fn of_loop(&self, id: usize, computation: &Computation) -> Result<String, NoLine> {
        let (name, parameters) = (Writer::loop_name(id), tuple(&self.parameters(computation)));
        Ok(format!("def {name}(state):\n    {parameters} = state\n{}", indented(&self.body(computation)?)))
    }

    /// One line an instruction, and the return.
    fn body(&self, computation: &Computation) -> Result<String, NoLine> {
        let words = words(computation);
        let mut text = String::new();
        for (id, instruction) in computation.instructions.iter().enumerate() {
            if matches!(instruction.op, Op::Parameter(_)) {
                continue;
            }
            let operands: Vec<&str> = instruction.operands.iter().map(|operand| words[*operand].as_str()).collect();
            let line = self.line(computation, instruction, &operands);
            let no_line = || NoLine { name: instruction.name.clone(), what: self.described(instruction) };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} = {}", words[id], line.ok_or_else(no_line)?);
        }
        let _ = writeln!(text, "return {}", words[computation.root]);
        Ok(text)
    }

    /// Description of an operation that has no line.
    fn described(&self, instruction: &Instruction) -> String {
        let untyped = instruction.shape.dtype().filter(|of| dtype(*of).is_none());
        match untyped {
            Some(dtype) => format!("{} of {dtype}", instruction.op.opcode()),
            None => instruction.op.opcode().to_string(),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn line(&self, computation: &Computation, instruction: &Instruction, operands: &[&str]) -> Option<String> {
        let all = operands.join(", ");
        let shape_of = |at: usize| &computation.instructions[instruction.operands[at]].shape;
        let dims = instruction.shape.dims();
        let own = || dtype(instruction.shape.dtype()?);
        Some(match &instruction.op {
            Op::Parameter(_) => return None,
            Op::Constant(value) if value.dims().is_empty() => format!("lax.full((), {}, {})", number(value, 0), own()?),
            Op::Constant(value) => format!("jnp.asarray({})", numpy_array(value)?),
            Op::Iota { dim } => format!("lax.broadcasted_iota({}, {}, {dim})", own()?, list(dims)),
            Op::Convert => format!("lax.convert_element_type({all}, {})", own()?),
            Op::BitcastConvert => format!("lax.bitcast_convert_type({all}, {})", own()?),
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                format!("lax.reduce_precision({all}, {exponent_bits}, {mantissa_bits})")
            }
            Op::OptimizationBarrier => format!("lax.optimization_barrier({all})"),
            Op::Copy => all,
            Op::Broadcast { dims: along } => format!("lax.broadcast_in_dim({all}, {}, {})", list(dims), list(along)),
            Op::Reshape => format!("lax.reshape({all}, {})", list(dims)),
            Op::Transpose { permutation } => format!("lax.transpose({all}, {})", list(permutation)),
            Op::Slice { start, limit, stride } => {
                format!("lax.slice({all}, {}, {}, {})", list(start), list(limit), list(stride))
            }
            Op::Concatenate { dim } => format!("lax.concatenate([{all}], {dim})"),
            Op::Pad { low, high, interior } => {
                let edge = |d: usize| format!("({}, {}, {})", low[d], high[d], interior[d]);
                format!("lax.pad({all}, {})", tuple(&(0..low.len()).map(edge).collect::<Vec<_>>()))
            }
            Op::Reverse { dims } => format!("lax.rev({all}, {})", list(dims)),
            Op::DynamicSlice { sizes } => {
                format!("lax.dynamic_slice({}, {}, {})", operands[0], tuple(&operands[1..]), list(sizes))
            }
            Op::DynamicUpdateSlice => {
                format!("lax.dynamic_update_slice({}, {}, {})", operands[0], operands[1], tuple(&operands[2..]))
            }
            Op::Gather(dims) => gather(dims, operands, shape_of(1))?,
            Op::Unary(unary) => match unary {
                Unary::RoundNearestAfz => format!("lax.round({all}, lax.RoundingMethod.AWAY_FROM_ZERO)"),
                Unary::RoundNearestEven => format!("lax.round({all}, lax.RoundingMethod.TO_NEAREST_EVEN)"),
                unary => format!("lax.{}({all})", unary_name(*unary)),
            },
            Op::Binary(binary) => format!("lax.{}({all})", binary_name(*binary)),
            Op::Compare { order: CompareOrder::Total, .. } if shape_of(0).dtype().is_some_and(DType::is_float) => {
                return None;
            }
            Op::Compare { direction, .. } => format!("lax.{}({all})", compare_name(*direction)),
            Op::Select => format!("lax.select({all})"),
            Op::Clamp => format!("lax.clamp({all})"),
            Op::Reduce { dims, to_apply } => {
                let (arrays, inits) = operands.split_at(operands.len() / 2);
                let region = self.region_expression(*to_apply);
                match arrays {
                    [array] => format!("lax.reduce({array}, {}, {region}, {})", inits[0], list(dims)),
                    _ => {
                        let (arrays, inits) = (arrays.join(", "), inits.join(", "));
                        format!("lax.reduce(({arrays}), ({inits}), {region}, {})", list(dims))
                    }
                }
            }
            Op::ReduceWindow { window, to_apply } => {
                let sizes = |of: fn(&crate::ir::WindowDim) -> usize| list(&window.0.iter().map(of).collect::<Vec<_>>());
                let pads: Vec<String> = window.0.iter().map(|w| format!("({}, {})", w.pad_low, w.pad_high)).collect();
                format!(
                    "lax.reduce_window({all}, {}, {}, {}, {}, {}, {})",
                    self.region_expression(*to_apply),
                    sizes(|w| w.size),
                    sizes(|w| w.stride),
                    tuple(&pads),
                    sizes(|w| w.base_dilation),
                    sizes(|w| w.window_dilation)
                )
            }
            Op::Sort { dim, stable, to_apply } => self.sort(*to_apply, operands, (*dim, *stable), shape_of(0))?,
            Op::TopK { k, largest: true } => format!("lax.top_k({all}, {k})"),
            Op::Dot { dims, precision } => {
                let pair = |l: &[usize], r: &[usize]| format!("({}, {})", list(l), list(r));
                let precision = precision.map(|one| match one {
                    Precision::Default => "DEFAULT",
                    Precision::High => "HIGH",
                    Precision::Highest => "HIGHEST",
                });
                format!(
                    "lax.dot_general({all}, ({}, {}), (lax.Precision.{}, lax.Precision.{}), {})",
                    pair(&dims.lhs_contracting, &dims.rhs_contracting),
                    pair(&dims.lhs_batch, &dims.rhs_batch),
                    precision[0],
                    precision[1],
                    own()?
                )
            }
            Op::Tuple => tuple(operands),
            Op::While { condition, body } => {
                let [condition, body] = [condition, body].map(|id| Writer::loop_name(*id));
                format!("lax.while_loop({condition}, {body}, {})", tuple(operands))
            }
            Op::GetTupleElement(index) => format!("{all}[{index}]"),
            // An operation without a line is named to the user.
            _ => return None,
        })
    }

    /// By the first operand, as `lax.sort` orders; a float that is to fall is negated before and behind.
    fn sort(&self, to_apply: usize, operands: &[&str], (dim, stable): (usize, bool), of: &Shape) -> Option<String> {
        let known = self.regions.comparator(to_apply).filter(|known| known.key == 0 && known.ties.is_none())?;
        let stable = if stable { "True" } else { "False" };
        let sorted = |operands: &str| format!("lax.sort({operands}, dimension={dim}, is_stable={stable}, num_keys=1)");
        match (known.descending, operands) {
            (false, [one]) => Some(sorted(one)),
            (false, _) => Some(sorted(&format!("({})", operands.join(", ")))),
            (true, [one]) if of.dtype()?.is_float() => Some(format!("lax.neg({})", sorted(&format!("lax.neg({one})")))),
            (true, [first, rest @ ..]) if of.dtype()?.is_float() => {
                let rest = rest.join(", ");
                let sorted = sorted(&format!("(lax.neg({first}), {rest})"));
                Some(format!("(lambda key, *rest: (lax.neg(key), *rest))(*{sorted})"))
            }
            _ => None,
        }
    }
}

/// A gather whose index vectors lie along the last dim, or are single indices.
fn gather(dims: &GatherDims, operands: &[&str], indices: &Shape) -> Option<String> {
    let rank = indices.dims().len();
    let index = match dims.index_vector_dim {
        last if last == rank => format!("lax.reshape({}, {})", operands[1], list(&[indices.dims(), &[1]].concat())),
        last if last + 1 == rank => operands[1].to_string(),
        _ => return None,
    };
    Some(format!(
        "lax.gather({}, {index}, lax.GatherDimensionNumbers({}, {}, {}, {}, {}), {}, mode=\"promise_in_bounds\")",
        operands[0],
        list(&dims.offset_dims),
        list(&dims.collapsed_slice_dims),
        list(&dims.start_index_map),
        list(&dims.operand_batching_dims),
        list(&dims.start_indices_batching_dims),
        list(&dims.slice_sizes)
    ))
}

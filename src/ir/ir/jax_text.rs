//! Prints a program as HLO text, in the form JAX gives before compilation.

use std::collections::HashSet;
use std::fmt::{Display, Formatter, Result, Write};

use crate::tensor::{DType, Tensor};

use super::op::Op;
use super::program::{Instruction, Program, Shape};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "HloModule {}", self.name)?;
        let computations = accepted(self.computations.iter().map(|computation| &computation.name));
        for (id, computation) in self.computations.iter().enumerate() {
            let entry = if id == self.entry { "ENTRY " } else { "" };
            writeln!(f, "\n{entry}{} {{", computations[id])?;
            let names = accepted(computation.instructions.iter().map(|instruction| &instruction.name));
            for (id, instruction) in computation.instructions.iter().enumerate() {
                let root = if id == computation.root { "ROOT " } else { "" };
                writeln!(f, "  {root}{} = {}", names[id], line(instruction, &names, &computations))?;
            }
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}

/// Names that a reader takes, each once: `fusion.1.add.2` for the `fusion.1/add.2` that inlining makes.
fn accepted<'n>(names: impl Iterator<Item = &'n String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '.' };
    let unique = |name: &String| {
        let plain: String = name.chars().map(plain).collect();
        let numbered = (2..).map(|n| format!("{plain}.{n}"));
        let name = std::iter::once(plain.clone()).chain(numbered).find(|name| taken.insert(name.clone()));
        name.unwrap_or(plain)
    };
    names.map(unique).collect()
}

/// `shape opcode(operands), attributes`, with the names of the values beside it and of all computations.
fn line(instruction: &Instruction, names: &[String], computations: &[String]) -> String {
    let names: Vec<&str> = instruction.operands.iter().map(|o| names[*o].as_str()).collect();
    let operands = match &instruction.op {
        Op::Parameter(number) => number.to_string(),
        Op::Constant(value) => literal(value),
        _ => names.join(", "),
    };
    let opcode = match &instruction.op {
        Op::ApproxTopK(_) | Op::PartialReduce(_) => "custom-call",
        op => op.opcode(),
    };
    let mut text = format!("{} {opcode}({operands})", laid_out(&instruction.shape));
    for (key, value) in attributes(&instruction.op, computations) {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {key}={value}");
    }
    text
}

#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
fn attributes(op: &Op, computations: &[String]) -> Vec<(&'static str, String)> {
    let called = |id: usize| computations[id].clone();
    match op {
        Op::Iota { dim } => vec![("iota_dimension", dim.to_string())],
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            vec![("exponent_bits", exponent_bits.to_string()), ("mantissa_bits", mantissa_bits.to_string())]
        }
        Op::Broadcast { dims } | Op::Reverse { dims } => vec![("dimensions", braces(dims))],
        Op::Transpose { permutation } => vec![("dimensions", braces(permutation))],
        Op::Concatenate { dim } => vec![("dimensions", braces(&[*dim]))],
        Op::Slice { start, limit, stride } => {
            let range = |d: usize| match stride[d] {
                1 => format!("[{}:{}]", start[d], limit[d]),
                step => format!("[{}:{}:{step}]", start[d], limit[d]),
            };
            vec![("slice", format!("{{{}}}", (0..start.len()).map(range).collect::<Vec<_>>().join(", ")))]
        }
        Op::Pad { low, high, interior } => {
            let edge = |d: usize| match interior[d] {
                0 => format!("{}_{}", low[d], high[d]),
                inner => format!("{}_{}_{inner}", low[d], high[d]),
            };
            vec![("padding", (0..low.len()).map(edge).collect::<Vec<_>>().join("x"))]
        }
        Op::DynamicSlice { sizes } => vec![("dynamic_slice_sizes", braces(sizes))],
        Op::Gather(dims) => vec![
            ("offset_dims", braces(&dims.offset_dims)),
            ("collapsed_slice_dims", braces(&dims.collapsed_slice_dims)),
            ("start_index_map", braces(&dims.start_index_map)),
            ("operand_batching_dims", braces(&dims.operand_batching_dims)),
            ("start_indices_batching_dims", braces(&dims.start_indices_batching_dims)),
            ("index_vector_dim", dims.index_vector_dim.to_string()),
            ("slice_sizes", braces(&dims.slice_sizes)),
        ],
        Op::Scatter { dims, to_apply } => vec![
            ("update_window_dims", braces(&dims.update_window_dims)),
            ("inserted_window_dims", braces(&dims.inserted_window_dims)),
            ("scatter_dims_to_operand_dims", braces(&dims.scatter_dims_to_operand_dims)),
            ("input_batching_dims", braces(&dims.input_batching_dims)),
            ("scatter_indices_batching_dims", braces(&dims.scatter_indices_batching_dims)),
            ("index_vector_dim", dims.index_vector_dim.to_string()),
            ("to_apply", called(*to_apply)),
        ],
        Op::Compare { direction, order } => {
            let mut list = vec![("direction", direction.name().to_string())];
            if *order == super::CompareOrder::Total {
                list.push(("type", "TOTALORDER".to_string()));
            }
            list
        }
        Op::Reduce { dims, to_apply } => vec![("dimensions", braces(dims)), ("to_apply", called(*to_apply))],
        Op::ReduceWindow { window, to_apply } => {
            vec![("window", format!("{{{window}}}")), ("to_apply", called(*to_apply))]
        }
        Op::Sort { dim, stable, to_apply } => {
            let mut list = vec![("dimensions", braces(&[*dim]))];
            if *stable {
                list.push(("is_stable", "true".to_string()));
            }
            list.push(("to_apply", called(*to_apply)));
            list
        }
        Op::TopK { k, largest } => vec![("k", k.to_string()), ("largest", largest.to_string())],
        Op::ApproxTopK(a) => {
            let whole = a.reduction_input_size_override.map_or(-1, |n| n as i64);
            let config = format!(
                "{{\"top_k\" : {}, \"reduction_dim\" : {}, \"recall_target\" : {:?}, \"aggregate_to_topk\" : {}, \
                 \"reduction_input_size_override\" : {whole}}}",
                a.k, a.reduction_dim, a.recall_target, a.aggregate_to_topk
            );
            vec![("custom_call_target", "\"ApproxTopK\"".to_string()), ("backend_config", config)]
        }
        Op::PartialReduce(p) => {
            let config = format!(
                "{{\"log2_reduction\": {}, \"reduction_dim\": {}, \"to_apply_type\": \"comparator\", \"top_k\": {}, \
                 \"recall_target\": {:?}}}",
                p.log2_reduction, p.reduction_dim, p.top_k, p.recall_target
            );
            vec![("custom_call_target", "\"PartialReduce\"".to_string()), ("backend_config", config)]
        }
        Op::Dot { dims, precision } => {
            let mut list = Vec::new();
            if !dims.lhs_batch.is_empty() {
                list.push(("lhs_batch_dims", braces(&dims.lhs_batch)));
            }
            list.push(("lhs_contracting_dims", braces(&dims.lhs_contracting)));
            if !dims.rhs_batch.is_empty() {
                list.push(("rhs_batch_dims", braces(&dims.rhs_batch)));
            }
            list.push(("rhs_contracting_dims", braces(&dims.rhs_contracting)));
            if *precision != [super::Precision::Default; 2] {
                list.push(("operand_precision", format!("{{{},{}}}", precision[0].name(), precision[1].name())));
            }
            list
        }
        Op::GetTupleElement(index) => vec![("index", index.to_string())],
        Op::Call { to_apply } => vec![("to_apply", called(*to_apply))],
        Op::While { condition, body } => vec![("condition", called(*condition)), ("body", called(*body))],
        Op::Parameter(_)
        | Op::Constant(_)
        | Op::Convert
        | Op::BitcastConvert
        | Op::OptimizationBarrier
        | Op::Copy
        | Op::Reshape
        | Op::DynamicUpdateSlice
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Select
        | Op::Clamp
        | Op::Tuple
        | Op::Opaque(_) => Vec::new(),
    }
}

/// A shape with the row-major layout that all values here have.
fn laid_out(shape: &Shape) -> String {
    match shape {
        Shape::Array { dims, .. } if dims.is_empty() => shape.to_string(),
        Shape::Array { dims, .. } => {
            let order: Vec<usize> = (0..dims.len()).rev().collect();
            format!("{shape}{}", braces(&order))
        }
        Shape::Tuple(parts) => format!("({})", parts.iter().map(laid_out).collect::<Vec<_>>().join(", ")),
    }
}

fn braces(numbers: &[usize]) -> String {
    format!("{{{}}}", numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// Nested braces, one level a dim.
fn literal(value: &Tensor) -> String {
    fn nest(value: &Tensor, dims: &[usize], offset: usize) -> String {
        let Some((first, rest)) = dims.split_first() else { return element(value, offset) };
        let step: usize = rest.iter().product();
        let parts: Vec<String> = (0..*first).map(|i| nest(value, rest, offset + i * step)).collect();
        format!("{{{}}}", parts.join(", "))
    }
    nest(value, value.dims(), 0)
}

/// `nan`, `-nan`, or with the fraction where that is not the quiet one's: `nan(0x000001)`.
fn nan(dtype: DType, code: u64) -> String {
    let Some(format) = dtype.format() else { return "nan".to_string() };
    let is_negative = format.has_negative_numbers() && code >> (dtype.bits() - 1) & 1 == 1;
    let sign = if is_negative { "-" } else { "" };
    let (fraction, quiet) = ((1 << format.fraction_bits) - 1, format.encode(f64::NAN));
    let digits = format.fraction_bits.div_ceil(4) as usize;
    if (code ^ quiet) & fraction == 0 {
        format!("{sign}nan")
    } else {
        format!("{sign}nan(0x{:0digits$x})", code & fraction)
    }
}

fn element(value: &Tensor, i: usize) -> String {
    let data = value.data();
    match data.dtype() {
        DType::Pred => (data.get_i64(i) != 0).to_string(),
        dtype if dtype.is_float() => match data.get_f64(i) {
            v if v.is_nan() => nan(dtype, data.bits(i)),
            v if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_string(),
            v => format!("{v}"),
        },
        _ => data.get_i64(i).to_string(),
    }
}

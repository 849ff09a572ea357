//! Questions as rows: an operation, its operands by name, and the group of choices that its answer depends on.

use std::fmt::Write as _;

use crate::hlo::{lower_with_libraries, parse};
use crate::ir::{Precision, Program};
use crate::machine::DotSite;
use crate::tensor::{DType, Tensor};

use super::ProbeError;
use super::designed::{self, BIN_COUNT, LOG2_REDUCTION};

/// The operation that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `lax.dot` of f32 or bf16 operands with an f32 result, at this precision.
    Dot(Precision),
    /// A sum over the last dim, in the operand's type.
    SumLast,
    /// A sum over the first dim, in the operand's type.
    SumFirst,
    /// Running sums along the last dim, as one `reduce-window`.
    Scan,
    /// The indices of `approx_max_k(x, 4)`.
    Bins,
    /// The quotient of two arrays.
    Divide,
    /// The larger of two arrays, element by element.
    Maximum,
    /// `x + y`.
    Add,
    /// `(x + y) + z` in the operands' type, converted to f32.
    AddTwice,
    /// `exp`.
    Exponential,
    /// `log`.
    Log,
    /// `tanh`.
    Tanh,
    /// `rsqrt`.
    Rsqrt,
}

impl Operation {
    /// The name in the manifest, which the scripts know.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Dot(Precision::Default) => "dot_default",
            Operation::Dot(Precision::High) => "dot_high",
            Operation::Dot(Precision::Highest) => "dot_highest",
            Operation::SumLast => "sum_last",
            Operation::SumFirst => "sum_first",
            Operation::Scan => "scan",
            Operation::Bins => "bins",
            Operation::Divide => "divide",
            Operation::Maximum => "maximum",
            Operation::Add => "add",
            Operation::AddTwice => "add_twice",
            Operation::Exponential => "exp",
            Operation::Log => "log",
            Operation::Tanh => "tanh",
            Operation::Rsqrt => "rsqrt",
        }
    }
}

/// A group of questions whose answers depend on the chip and on the same refinements of a mode.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// The name, for listings.
    pub name: &'static str,
    /// The keys of a mode that the answers may depend on, beside the chip.
    pub keys: &'static [&'static str],
}

/// All groups.
pub static GROUPS: &[Group] = &[
    Group { name: "matmul", keys: &["precision", "acc", "split", "dsr", "reduce"] },
    Group { name: "sum", keys: &["reduce"] },
    Group { name: "bf16", keys: &["excess", "reduce", "narrow"] },
    Group { name: "scan", keys: &["scan"] },
    Group { name: "approx_max_k", keys: &["bins"] },
    Group { name: "function", keys: &["exp", "rsqrt"] },
];

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// The name of its answer.
    pub name: String,
    /// The name of its group in [`GROUPS`].
    pub group: &'static str,
    /// The operation.
    pub operation: Operation,
    /// The operands: the names under which `inputs.npz` has them, and the arrays.
    pub operands: Vec<(String, Tensor)>,
    /// The type in which the operands are given to the operation; every number of theirs is one of its.
    pub dtype: DType,
}

impl Question {
    /// The program, as HLO text.
    #[expect(clippy::too_many_lines, reason = "one arm for each question")]
    pub fn hlo(&self) -> String {
        let dtype = self.dtype.name();
        let dims = |at: usize| self.operands.get(at).map_or(Vec::new(), |(_, tensor)| tensor.dims().to_vec());
        let of = |dtype: &str, dims: &[usize]| {
            format!("{dtype}[{}]", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
        };
        let first = dims(0);
        let shape = of(dtype, &first);
        let region = format!(
            "sum {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT c = {dtype}[] add(a, b)\n}}\n\n"
        );
        let mut text = format!("HloModule {}\n\n", self.operation.name());
        match self.operation {
            Operation::SumLast | Operation::SumFirst | Operation::Scan => text.push_str(&region),
            Operation::Bins => text.push_str(
                "greater {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  \
                 j = s32[] parameter(3)\n  ROOT g = pred[] compare(a, b), direction=GT\n}\n\n",
            ),
            _ => {}
        }
        text.push_str("ENTRY main {\n");
        for at in 0..self.operands.len() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  x{at} = {} parameter({at})", of(dtype, &dims(at)));
        }
        let root = match self.operation {
            Operation::Dot(precision) => {
                let (sizes, asked) =
                    ([first.first(), dims(1).last()].map(|d| d.copied().unwrap_or(1)), precision.name());
                format!(
                    "  ROOT r = {} dot(x0, x1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, \
                     operand_precision={{{asked},{asked}}}",
                    of("f32", &sizes)
                )
            }
            Operation::SumLast | Operation::SumFirst => {
                let dim = if self.operation == Operation::SumLast { first.len() - 1 } else { 0 };
                let kept: Vec<usize> =
                    first.iter().enumerate().filter(|(at, _)| *at != dim).map(|(_, size)| *size).collect();
                let result = of(dtype, &kept);
                let sum = format!(
                    "  z = {dtype}[] constant(0)\n  s = {result} reduce(x0, z), dimensions={{{dim}}}, to_apply=sum"
                );
                self.as_f32(&sum, "s", &kept)
            }
            Operation::Scan => {
                let n = first.last().copied().unwrap_or(1);
                format!(
                    "  z = {dtype}[] constant(0)\n  ROOT r = {shape} reduce-window(x0, z), \
                     window={{size=1x{n} pad=0_0x{}_0}}, to_apply=sum",
                    n - 1
                )
            }
            Operation::Bins => {
                let [rows, n] = first[..] else { return text };
                let bins = format!("(f32[{rows},{BIN_COUNT}], s32[{rows},{BIN_COUNT}])");
                format!(
                    "  i = s32[{rows},{n}] iota(), iota_dimension=1\n  low = f32[] constant(-inf)\n  none = s32[] constant(-1)\n  \
                     p = {bins} custom-call(x0, i, low, none), custom_call_target=\"PartialReduce\", \
                     called_computations={{greater}}, backend_config={{\"log2_reduction\": {LOG2_REDUCTION}, \
                     \"reduction_dim\": 1, \"to_apply_type\": \"comparator\", \"top_k\": 4, \"recall_target\": 0.950000}}\n  \
                     v = f32[{rows},{BIN_COUNT}] get-tuple-element(p), index=0\n  \
                     w = s32[{rows},{BIN_COUNT}] get-tuple-element(p), index=1\n  \
                     o = {bins} sort(v, w), dimensions={{1}}, to_apply=greater\n  \
                     u = s32[{rows},{BIN_COUNT}] get-tuple-element(o), index=1\n  \
                     ROOT r = s32[{rows},4] slice(u), slice={{[0:{rows}], [0:4]}}"
                )
            }
            Operation::Divide => format!("  ROOT r = {shape} divide(x0, x1)"),
            Operation::Maximum => format!("  ROOT r = {shape} maximum(x0, x1)"),
            Operation::Add => format!("  ROOT r = {shape} add(x0, x1)"),
            Operation::AddTwice => {
                self.as_f32(&format!("  a = {shape} add(x0, x1)\n  s = {shape} add(a, x2)"), "s", &first)
            }
            Operation::Exponential => format!("  ROOT r = {shape} exponential(x0)"),
            Operation::Log => format!("  ROOT r = {shape} log(x0)"),
            Operation::Tanh => format!("  ROOT r = {shape} tanh(x0)"),
            Operation::Rsqrt => format!("  ROOT r = {shape} rsqrt(x0)"),
        };
        text.push_str(&root);
        text.push_str("\n}\n");
        text
    }

    /// Steps whose value `name` is the result, converted to f32.
    fn as_f32(&self, steps: &str, name: &str, dims: &[usize]) -> String {
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        format!("{steps}\n  ROOT r = f32[{}] convert({name})", dims.join(","))
    }

    /// The program.
    ///
    /// # Errors
    /// If the text is no program, which is a defect of this project.
    pub fn program(&self) -> Result<Program, ProbeError> {
        let fail = |why: String| ProbeError::Question { question: self.name.clone(), why };
        let module = parse(&self.hlo()).map_err(|error| fail(error.to_string()))?;
        Ok(lower_with_libraries(&module).map_err(|error| fail(error.to_string()))?.program)
    }

    /// The operands in the type in which the operation takes them.
    pub fn arguments(&self) -> Vec<Tensor> {
        let typed = |(_, tensor): &(String, Tensor)| {
            let data = crate::tensor::Data::from_f32s(self.dtype, tensor.data().to_f32s());
            data.map_or_else(|| tensor.clone(), |data| Tensor::new(tensor.dims(), data))
        };
        self.operands.iter().map(typed).collect()
    }

    /// The dot that it asks for; `None` where it asks for something else.
    pub fn dot(&self) -> Option<DotSite<'static>> {
        let (Operation::Dot(precision), [(_, lhs), (_, rhs)]) = (self.operation, &self.operands[..]) else {
            return None;
        };
        let sizes = [lhs.dims()[0], lhs.dims()[1], rhs.dims()[1]];
        Some(DotSite { precision: [precision; 2], ..DotSite::as_written([Some(self.dtype); 2], sizes) })
    }
}

/// All questions, cheap ones first within a group.
pub fn questions() -> Vec<Question> {
    use Operation::{
        Add, AddTwice, Bins, Divide, Dot, Exponential, Log, Maximum, Rsqrt, Scan, SumFirst, SumLast, Tanh,
    };
    let mut all = Vec::new();
    let mut ask = |name: String, group: &'static str, operation: Operation, dtype: DType, names: &[&str]| {
        let operands = names.iter().filter_map(|name| Some((name.to_string(), designed::input(name)?))).collect();
        all.push(Question { name, group, operation, operands, dtype });
    };
    for precision in [Precision::Default, Precision::High, Precision::Highest] {
        let asked = precision.name();
        for what in ["operands", "ties", "width", "fused", "random32", "random128", "random256", "random1024"] {
            let names = [format!("{what}.lhs"), format!("{what}.rhs")];
            ask(format!("{what}.{asked}"), "matmul", Dot(precision), DType::F32, &names.each_ref().map(String::as_str));
        }
        ask(format!("vector.{asked}"), "matmul", Dot(precision), DType::F32, &["vector.lhs", "vector.rhs"]);
    }
    for k in designed::EXTENTS {
        let names = [format!("order{k}.lhs"), format!("order{k}.rhs")];
        let names = names.each_ref().map(String::as_str);
        ask(format!("order{k}.bf16"), "matmul", Dot(Precision::Default), DType::BF16, &names);
        ask(format!("order{k}.default"), "matmul", Dot(Precision::Default), DType::F32, &names);
        ask(format!("order{k}.highest"), "matmul", Dot(Precision::Highest), DType::F32, &names);
        ask(format!("sum{k}"), "sum", SumLast, DType::F32, &[&format!("masks{k}")]);
    }
    ask("sum_random".to_string(), "sum", SumLast, DType::F32, &["rows"]);
    ask("sum_columns".to_string(), "sum", SumFirst, DType::F32, &["columns"]);
    ask("bf16_sum".to_string(), "bf16", SumLast, DType::BF16, &["bf16_rows"]);
    ask("bf16_add".to_string(), "bf16", AddTwice, DType::BF16, &["bf16_x", "bf16_y", "bf16_z"]);
    ask("scan".to_string(), "scan", Scan, DType::F32, &["scanned"]);
    ask("bins".to_string(), "approx_max_k", Bins, DType::F32, &["ranked"]);
    ask("add_subnormal".to_string(), "function", Add, DType::F32, &["small_x", "small_y"]);
    ask("zero_tie".to_string(), "function", Maximum, DType::F32, &["zeros_x", "zeros_y"]);
    ask("divide".to_string(), "function", Divide, DType::F32, &["numerator", "denominator"]);
    ask("exp".to_string(), "function", Exponential, DType::F32, &["exponents"]);
    ask("log".to_string(), "function", Log, DType::F32, &["denominator"]);
    ask("tanh".to_string(), "function", Tanh, DType::F32, &["exponents"]);
    ask("rsqrt".to_string(), "function", Rsqrt, DType::F32, &["denominator"]);
    all
}

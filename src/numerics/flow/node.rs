//! The values of a flow, each with all that is said of it.

use std::collections::HashMap;

use serde::Serialize;

use crate::analysis::{Analysis, Precision, Reducer, is_cumulative};
use crate::hlo::Import;
use crate::ir::{Binary, Op, Program, Shape, ValueId};
use crate::machine::function_code;

use super::accumulation::{Accumulation, accumulation};
use super::group::Members;
use super::reading_kind::ReadingKind;
use super::uses::{Reader, View, is_passage, is_source};

/// One value of the entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The instruction's name, behind that of its fusion if it is in one: `fusion.1/add.2`.
    pub name: String,
    /// Its HLO opcode; of a custom call, the target.
    pub opcode: &'static str,
    /// The operation in a person's words: `bf16 sum`, `argmax`, `compare GE`.
    pub what: String,
    /// Its dtype and dims, as `bf16[8,1024]`.
    pub shape: String,
    /// The dtype of its first array.
    pub dtype: Option<&'static str>,
    /// The format that all numbers of its first array belong to; `None` for integers.
    pub holds: Option<Precision>,
    /// Whether it is rounded to its dtype because it makes numbers that no operand has.
    pub computes: bool,
    /// Whether it only moves or converts.
    pub passage: bool,
    /// The format to which a conversion or `reduce-precision` rounds, if it drops bits.
    pub rounds_to: Option<Precision>,
    /// The fusion or call of the entry that it is in.
    pub fusion: Option<String>,
    /// `op_name` of its metadata: its place in the user's program.
    pub op_name: Option<String>,
    /// Its line in the file, from 1; 0 if it is in none.
    pub line: u32,
    /// Its column in the file, in characters from 1; 0 if it is in none.
    pub column: u32,
    /// Its part in its group: `softmax denominator`.
    pub role: Option<String>,
    /// The facts of the file about a function's code, in words: the accuracy that is asked of it, and packed code of bf16.
    pub code: Vec<String>,
    /// Its accumulation; `None` for values that are not sums.
    pub accumulation: Option<Accumulation>,
    /// Names of other values with the same meaning, since fusions compute one anew: for the first of them all others,
    /// for each other the first.
    pub copies: Vec<String>,
    /// The other values as it sees them, by its operands.
    pub reads: Vec<Read>,
    /// The readers that see it.
    pub uses: Vec<Use>,
    /// The kind of its operation.
    #[serde(skip)]
    pub(super) kind: ReadingKind,
    /// Whether it has nothing to read: parameters, constants, counters.
    #[serde(skip)]
    pub(super) source: bool,
    /// Its operands, for drawings.
    #[serde(skip)]
    pub(super) operands: Vec<ValueId>,
    /// The first value with the same meaning.
    #[serde(skip)]
    pub(super) meaning: ValueId,
    /// Whether it is made of constants alone: the precision in which these are compared does not matter.
    #[serde(skip)]
    pub(super) constant: bool,
}

/// Another value as a value sees it, through moves and conversions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Read {
    /// The operand through which it sees the other, from 0.
    pub operand: usize,
    /// The other's name.
    pub value: String,
    /// The precision in which it is seen; `None` for integers.
    pub holds: Option<Precision>,
    /// The conversion or value that last dropped bits on the way, as in [`Use::rounded_by`].
    pub rounded_by: Option<String>,
}

/// A reader of a value, with the precision in which it sees the value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Use {
    /// The name of the value that reads it, or of a result (`out0`).
    pub reader: String,
    /// The reader's operation, in a person's words.
    pub what: String,
    /// The reader's part in its group.
    pub role: Option<String>,
    /// The reader's operand through which it sees the value, from 0; `None` for a result.
    pub operand: Option<usize>,
    /// The precision in which it sees the value; `None` for integers.
    pub holds: Option<Precision>,
    /// The conversion that last dropped bits on the way; the value itself or the reader where its own dtype does so.
    pub rounded_by: Option<String>,
    /// The file's conversions on the way, in order.
    pub conversions: Vec<String>,
    /// The kind of the reader's operation.
    #[serde(skip)]
    pub(super) kind: ReadingKind,
}

impl Value {
    /// Whether the listing has a line for it: it makes or picks floats, or reads some.
    pub fn is_listed(&self) -> bool {
        !self.passage
            && !self.source
            && !self.constant
            && (self.holds.is_some() || self.reads.iter().any(|r| r.holds.is_some()))
    }

    /// Whether all its numbers belong to a narrower format than its dtype.
    pub fn is_narrow_in_wide(&self) -> bool {
        match (self.holds, self.dtype) {
            (Some(holds), Some(dtype)) => holds != Precision::ANY && holds.name() != dtype,
            _ => false,
        }
    }
}

#[expect(clippy::too_many_lines, reason = "the parts of one record depend on those before")]
pub(super) fn values(import: &Import, analysis: &Analysis, views: &[Vec<View>], groups: &[Members]) -> Vec<Value> {
    let (program, held, meanings) = (analysis.program, analysis.precisions(), analysis.meanings());
    let instructions = &program.entry().instructions;
    let name = |id: ValueId| instructions[id].name.clone();
    let constant = constants(program);
    let mut copies: HashMap<ValueId, Vec<ValueId>> = HashMap::new();
    let has_copies = |id: ValueId| !is_passage(analysis, id) && !is_source(&instructions[id].op);
    for id in (0..instructions.len()).filter(|id| has_copies(*id)) {
        copies.entry(meanings[id]).or_default().push(id);
    }
    let roles = roles(groups);
    let mut values: Vec<Value> = Vec::with_capacity(instructions.len());
    for (id, instruction) in instructions.iter().enumerate() {
        let origin = import.origins.get(id).cloned().unwrap_or_default();
        let passage = is_passage(analysis, id);
        let operand = instruction.operands.first().and_then(|o| held[*o].first());
        let rounds = matches!(instruction.op, Op::Convert | Op::ReducePrecision { .. }) && passage;
        let same = copies.get(&meanings[id]).filter(|_| has_copies(id)).map_or(&[][..], Vec::as_slice);
        let others = match same {
            [first, others @ ..] if *first == id => others,
            [first, ..] => std::slice::from_ref(first),
            [] => &[],
        };
        values.push(Value {
            name: instruction.name.clone(),
            opcode: instruction.op.opcode(),
            what: what(analysis, id),
            shape: instruction.shape.to_string(),
            dtype: first_dtype(&instruction.shape),
            holds: held[id].first(),
            computes: held[id].computes,
            passage,
            rounds_to: held[id].first().filter(|now| rounds && operand != Some(*now)),
            fusion: origin.within,
            op_name: origin.op_name,
            line: origin.at.line,
            column: origin.at.column,
            role: roles.get(&id).cloned(),
            code: function_code(instruction),
            accumulation: accumulation(analysis, id),
            copies: others.iter().map(|copy| name(*copy)).collect(),
            reads: Vec::new(),
            uses: Vec::new(),
            kind: ReadingKind::of(analysis, id),
            source: is_source(&instruction.op),
            operands: instruction.operands.clone(),
            meaning: meanings[id],
            constant: constant[id],
        });
    }
    for (id, views) in views.iter().enumerate() {
        for view in views {
            let at = |id: ValueId| (values[id].line, values[id].column);
            let reader_id = match view.reader {
                Reader::Value { id, .. } => Some(id),
                Reader::Result(_) => None,
            };
            // An operation whose own types round has no conversion in the file: lowering made one in its place.
            let in_file = |by: ValueId| {
                let made_for = [Some(id), reader_id].into_iter().flatten().find(|owner| at(*owner) == at(by));
                name(made_for.unwrap_or(by))
            };
            let rounded_by = view.rounded_by.map(in_file);
            let written = view.conversions.iter().filter(|c| in_file(**c) == name(**c));
            let conversions: Vec<String> = written.map(|c| name(*c)).collect();
            let (reader, operand) = match view.reader {
                Reader::Value { id, operand } => (name(id), Some(operand)),
                Reader::Result(position) => (program.output_names[position].clone(), None),
            };
            let what = reader_id.map_or("result".to_string(), |reader| values[reader].what.clone());
            let role = reader_id.and_then(|reader| values[reader].role.clone());
            let kind = reader_id.map_or(ReadingKind::Result, |reader| values[reader].kind);
            if let Reader::Value { id: reader, operand } = view.reader {
                let read = Read { operand, value: name(id), holds: view.holds, rounded_by: rounded_by.clone() };
                values[reader].reads.push(read);
            }
            values[id].uses.push(Use { reader, what, role, operand, holds: view.holds, rounded_by, conversions, kind });
        }
    }
    for value in &mut values {
        value.reads.sort_by_key(|read| read.operand);
    }
    values
}

fn first_dtype(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Array { dtype, .. } => Some(dtype.name()),
        Shape::Tuple(parts) => parts.first().and_then(first_dtype),
    }
}

/// For each value, whether it is made of constants alone.
fn constants(program: &Program) -> Vec<bool> {
    let mut constant: Vec<bool> = Vec::new();
    for instruction in &program.entry().instructions {
        let made = match instruction.op {
            Op::Constant(_) => true,
            Op::Parameter(_) | Op::Opaque(_) => false,
            _ => instruction.operands.iter().all(|o| constant[*o]),
        };
        constant.push(made);
    }
    constant
}

/// The role of each value in the first group that it belongs to.
fn roles(groups: &[Members]) -> HashMap<ValueId, String> {
    let mut roles = HashMap::new();
    for group in groups {
        let shape = group.shape.name();
        for (member, role) in &group.values {
            // A group of one value is called by its role alone.
            let alone = group.values.len() == 1 || role.contains(shape);
            let name = || if alone { role.to_string() } else { format!("{shape} {role}") };
            roles.entry(*member).or_insert_with(name);
        }
    }
    roles
}

/// An operation in a person's words.
fn what(analysis: &Analysis, id: ValueId) -> String {
    let program = analysis.program;
    let instruction = &program.entry().instructions[id];
    let opcode = instruction.op.opcode();
    let sum = || accumulation(analysis, id).map_or(String::new(), |a| format!("{} ", a.dtype));
    match &instruction.op {
        Op::Reduce { to_apply, .. } => match analysis.regions.reducer_but_for_rounding(*to_apply) {
            Some(Reducer::Binary(Binary::Add)) => format!("{}sum", sum()),
            Some(Reducer::Binary(binary)) => match binary.name() {
                "maximum" => "max".to_string(),
                "minimum" => "min".to_string(),
                other => format!("reduce {other}"),
            },
            Some(Reducer::ArgMax | Reducer::GreaterKeep) => "argmax".to_string(),
            Some(Reducer::ArgMin) => "argmin".to_string(),
            None => opcode.to_string(),
        },
        Op::ReduceWindow { window, to_apply } => {
            let dims = instruction.operands.first().map_or(&[][..], |o| program.entry().instructions[*o].shape.dims());
            match analysis.regions.reducer_but_for_rounding(*to_apply) {
                Some(Reducer::Binary(Binary::Add)) if is_cumulative(window, dims).is_some() => {
                    format!("{}cumsum", sum())
                }
                Some(Reducer::Binary(Binary::Add)) => format!("{}window sum", sum()),
                Some(Reducer::Binary(Binary::Maximum)) => "window max".to_string(),
                Some(Reducer::Binary(Binary::Minimum)) => "window min".to_string(),
                _ => opcode.to_string(),
            }
        }
        Op::Opaque(opaque) => opaque.name.clone(),
        Op::Compare { direction, .. } => format!("compare {}", direction.name()),
        _ => opcode.to_string(),
    }
}

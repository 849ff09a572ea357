//! The first values of two programs that the other does not compute.

use std::collections::HashSet;
use std::fmt;

use crate::ir::{Binary, Class, Instruction, Op, Precision, Program, Setting, ValueId};
use crate::machine::{Mode, Sketch, Symbol, Traced};
use crate::tensor::DType;

use super::{Comparand, some};

/// A value of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its place in the entry.
    pub value: ValueId,
    /// Its name in the file, behind that of its fusion.
    pub name: String,
    /// `op_name` of its metadata.
    pub op_name: Option<String>,
    /// The operation that computes it, and its shape.
    pub what: String,
}

/// Two values that take one another's place, and why they are not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// In the first and in the second program.
    pub places: [Place; 2],
    /// Difference between the two.
    pub cause: String,
}

impl Meeting {
    /// Both names.
    pub fn names(&self) -> String {
        let [one, other] = &self.places;
        if one.name == other.name { one.name.clone() } else { format!("{} and {}", one.name, other.name) }
    }
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.places;
        write!(f, "{} {}", one.name, one.what)?;
        if let Some(op_name) = &one.op_name {
            write!(f, " ({op_name})")?;
        }
        write!(f, " against {} {}: {}", other.name, other.what, self.cause)
    }
}

/// Values that one program computes, to be looked up.
struct Computed {
    firsts: HashSet<Symbol>,
    ends: HashSet<(Symbol, Symbol)>,
}

impl Computed {
    fn new(sketches: &[Option<Sketch>]) -> Computed {
        let all = || sketches.iter().flatten();
        Computed {
            firsts: all().map(|sketch| sketch.symbols[0]).collect(),
            ends: all().map(|sketch| (sketch.symbols[1], sketch.symbols[2])).collect(),
        }
    }

    /// Whether a value seems to be computed: its first element, or its ends wherever they lie.
    fn has(&self, sketch: &Sketch) -> bool {
        let [first, least, greatest] = sketch.symbols;
        sketch.known || self.firsts.contains(&first) || self.ends.contains(&(least, greatest))
    }
}

/// The first values that part, in both programs; none where no value can be named.
pub fn find(both: &[Comparand; 2], traced: [&Traced; 2], modes: &[Mode; 2], results: &[[usize; 2]]) -> Option<Meeting> {
    let computed = traced.map(|traced| Computed::new(&traced.sketches));
    let frontier = [0, 1].map(|side| {
        let outputs: Vec<usize> = results.iter().map(|result| result[side]).collect();
        frontier(both[side].program, &traced[side].sketches, &computed[1 - side], &outputs)
    });
    let [left, right] = &frontier;
    let likeness = |a: ValueId, b: ValueId| {
        let [x, y] = [instruction(&both[0], a), instruction(&both[1], b)];
        let last = |one: &Comparand, id: ValueId| {
            let name = one.sources.get(id).and_then(|source| source.op_name.clone());
            name.map(|name| name.rsplit('/').next().unwrap_or_default().to_string())
        };
        let named = last(&both[0], a).is_some() && last(&both[0], a) == last(&both[1], b);
        3 * usize::from(x.op.opcode() == y.op.opcode())
            + 2 * usize::from(named)
            + usize::from(x.shape.elements() == y.shape.elements())
    };
    let pairs = left.iter().take(FEW).flat_map(|a| right.iter().take(FEW).map(move |b| (*a, *b)));
    // The first of the likest.
    let (a, b) = pairs.min_by_key(|(a, b)| usize::MAX - likeness(*a, *b))?;
    let cause = cause([instruction(&both[0], a), instruction(&both[1], b)], modes);
    Some(Meeting { places: [place(&both[0], a), place(&both[1], b)], cause })
}

/// Values that are held against each other.
const FEW: usize = 8;

fn instruction<'a>(one: &Comparand<'a>, id: ValueId) -> &'a Instruction {
    &one.program.entry().instructions[id]
}

/// Values on the way to these results that the other program does not compute, although it computes all that they are made
/// of.
fn frontier(program: &Program, sketches: &[Option<Sketch>], other: &Computed, outputs: &[usize]) -> Vec<ValueId> {
    let instructions = &program.entry().instructions;
    let mut read = vec![false; instructions.len()];
    let results = program.outputs();
    outputs.iter().for_each(|output| read[results[*output]] = true);
    for id in (0..instructions.len()).rev() {
        if read[id] {
            instructions[id].operands.iter().for_each(|operand| read[*operand] = true);
        }
    }
    let has = |id: ValueId| match &sketches[id] {
        Some(sketch) => other.has(sketch),
        // A tuple is what it is made of.
        None => true,
    };
    let mut met = Vec::new();
    // Moves make new sketches and no new numbers.
    let mut known = vec![true; instructions.len()];
    for (id, instruction) in instructions.iter().enumerate() {
        let above = instruction.operands.iter().all(|operand| known[*operand]);
        // A part of a sort or a loop is computed where the whole is.
        let of_tuple = |operand: &ValueId| instructions[*operand].op == Op::Tuple;
        let moves = match instruction.op {
            Op::GetTupleElement(_) => instruction.operands.iter().all(of_tuple),
            _ => matches!(instruction.op.class(), Class::Moves | Class::Lists | Class::Source),
        };
        known[id] = above && (moves || has(id));
        if read[id] && above && !moves && !has(id) {
            met.push(id);
        }
    }
    met
}

fn place(one: &Comparand, value: ValueId) -> Place {
    let Instruction { name, op, shape, .. } = instruction(one, value);
    let source = one.sources.get(value);
    Place {
        value,
        name: source.map_or(name.clone(), |source| source.name.clone()),
        op_name: source.and_then(|source| source.op_name.clone()),
        what: format!("{} {shape}", op.opcode()),
    }
}

/// Difference between two operations, as far as they say.
#[expect(clippy::too_many_lines, reason = "one arm for each cause")]
fn cause([a, b]: [&Instruction; 2], modes: &[Mode; 2]) -> String {
    let rounds = |one: &Instruction| match &one.op {
        Op::Convert => Some(format!("a cast to {}", one.shape.dtype().unwrap_or(DType::F32))),
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            Some(format!("a rounding to {exponent_bits} and {mantissa_bits} bits"))
        }
        _ => None,
    };
    if a.op.opcode() != b.op.opcode() {
        // What a TPU's compiler has made of one dot in two files.
        let unit = |one: &Instruction| match one.op {
            Op::Dot { .. } => Some("a dot on the matrix unit"),
            Op::Reduce { .. } => Some("a sum on the vector unit"),
            Op::Binary(Binary::Multiply) => Some("products on the vector unit"),
            _ => None,
        };
        if let (true, Some(one), Some(other)) = (a.on_matrix_unit() || b.on_matrix_unit(), unit(a), unit(b)) {
            return format!("{one} against {other}");
        }
        return match (rounds(a), rounds(b)) {
            (Some(cast), None) => format!("{cast} that the second program does not have"),
            (None, Some(cast)) => format!("{cast} that the first program does not have"),
            _ => format!("{} against {}", a.op.opcode(), b.op.opcode()),
        };
    }
    let dtypes = [a, b].map(|one| one.shape.dtype());
    if dtypes[0] != dtypes[1] {
        let names = dtypes.map(|dtype| dtype.map_or("a tuple", DType::name));
        return match a.op {
            Op::Reduce { .. } => format!("a sum in {} against {}", names[0], names[1]),
            Op::Convert => format!("a cast to {} against {}", names[0], names[1]),
            _ => format!("computed in {} against {}", names[0], names[1]),
        };
    }
    if a.op == b.op && a.settings != b.settings {
        let [one, other] = [a, b].map(|one| in_line(one.settings.as_deref().unwrap_or_default()));
        return format!("{one} against {other}");
    }
    match (&a.op, &b.op) {
        (Op::Dot { precision: p, .. }, Op::Dot { precision: q, .. }) => {
            let [one, other] = [a, b].map(|dot| dot.tiling());
            let k = [one, other].map(|tiling| tiling.and_then(|tiling| tiling.k_block));
            if a.on_matrix_unit() != b.on_matrix_unit() {
                let [one, other] =
                    [a, b].map(|dot| if dot.on_matrix_unit() { "on the matrix unit" } else { "as written" });
                format!("a dot {one} against one {other}")
            } else if p != q {
                let [one, other] = [p, q].map(|operands| operands.map(Precision::name).join(","));
                format!("dot precision {{{one}}} against {{{other}}}")
            } else if k[0] != k[1] {
                let [one, other] = k.map(|k| k.map_or("not at all".to_string(), |k| format!("every {k}")));
                format!("K cut {one} against {other}")
            } else if one.map(|tiling| &tiling.emitter) != other.map(|tiling| &tiling.emitter) {
                let [one, other] = [one, other].map(|tiling| tiling.map_or("none", |tiling| &tiling.emitter));
                format!("emitter {one} against {other}")
            } else if modes[0].chip.name != modes[1].chip.name {
                format!("the matrix unit of {} against that of {}", modes[0].chip.name, modes[1].chip.name)
            } else {
                "products of other numbers, or added in another order".to_string()
            }
        }
        (Op::Reduce { dims: p, .. }, Op::Reduce { dims: q, .. }) => {
            let [one, other] = [p, q].map(|dims| dims.len());
            if a.fusion().is_some() != b.fusion().is_some() || one != other {
                "terms added in another order".to_string()
            } else {
                "other terms, or added in another order".to_string()
            }
        }
        (x, y) if x != y => format!("{} with other attributes", a.op.opcode()),
        _ => format!("{} of other operands", a.op.opcode()),
    }
}

/// Settings of a line: `result_accuracy={mode=highest}`.
fn in_line(settings: &[Setting]) -> String {
    match settings {
        [] => "no setting".to_string(),
        settings => some(&settings.iter().map(ToString::to_string).collect::<Vec<_>>()),
    }
}

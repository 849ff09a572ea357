//! Two recordings of one model's intermediate values, layer by layer: which layer drifts by more than its roundings explain.
//!
//! A *layer* is a recorded value of a program, and a *part* is the program between it and the recorded values before it. Each
//! recording's layer is computed from the inputs that this recording has (`part`), so that a fault is blamed where it is made
//! and not where it is passed on. The part is run in f64 and on the machine; the errors of its operations, each alone, say how
//! far an honest result may be from the one in f64 (`explained`). A layer that is farther is outside (`weigh`).
//!
//! The precision of a recording without a named mode is the most accurate one in which at least half of its layers are honest.

mod checkpoint;
mod drift_table;
mod explained;
mod part;
mod weigh;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ir::{Class, Compare, Op, Program, Shape, Unary, ValueId};
use crate::judge::{self, JudgeError, Pattern, Recording, RecordingError, Verdict};
use crate::machine::{Chip, EvalError, Mode, PRECISIONS};
use crate::metric::relative_rms;
use crate::tensor::{DType, Tensor};

use checkpoint::{Checkpoints, is_argument};
use explained::{Explained, modes, rank};
use part::{Part, PartArgument};
use weigh::Observed;

/// The names of the two recordings, as the answer has them.
pub const SIDES: [&str; 2] = ["A", "B"];

/// Operations of a part up to which a fault in it is looked for.
const MOST_WORK: u128 = 200_000_000;

/// Share of the error from which on a fault is named.
const NAMED: f64 = 0.8;

/// The claims that two recordings are held to.
#[derive(Clone, Default)]
pub struct Settings {
    /// The mode of each recording, if it is named.
    pub modes: [Option<Mode>; 2],
    /// Chips whose modes are tried where none is named; `cpu` and `v5e` if there are none.
    pub chips: Vec<&'static Chip>,
    /// Names of recorded arrays with the results or instructions that they are.
    pub mapping: Vec<(String, String)>,
}

/// Why nothing could be judged.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// A recording cannot be read, or does not fit the program.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The machine does not support the program.
    #[error(transparent)]
    Machine(#[from] EvalError),
    /// A layer of integers could not be judged.
    #[error(transparent)]
    Judge(Box<JudgeError>),
    /// The mapping names a value that the program has not.
    #[error("--map {name}={value}: the program has no result and no instruction `{value}`; {known}")]
    Map {
        /// The recorded array.
        name: String,
        /// The value.
        value: String,
        /// The nearest names.
        known: String,
    },
    /// A recording has no value of the program.
    #[error(
        "{file}: none of its arrays ({has}) is a value of the program; its results are {wanted}; name results or instructions \
        with --map NAME=INSTRUCTION"
    )]
    Nothing {
        /// The file, or `the arrays`.
        file: String,
        /// The names that are there.
        has: String,
        /// The results of the program.
        wanted: String,
    },
    /// No array is a layer.
    #[error("the recordings have arguments of the program alone, and no value that it computes")]
    NoLayer,
    /// Every layer is empty.
    #[error("no recorded layer has an element: there is nothing to judge")]
    NoElement,
}

/// Indices along a dim at which a layer is right, and others at which it is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Along {
    /// The dim, from 0.
    pub dim: usize,
    /// Indices at which the error is explained.
    pub right: Vec<usize>,
    /// The others.
    pub outside: Vec<usize>,
}

/// One recording's layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The answer; *outside* says that this layer itself is wrong, not the layers before it.
    pub verdict: Verdict,
    /// Reasons, a sentence each.
    pub because: Vec<String>,
    /// The mode whose bits they are, or the least accurate one that is permitted.
    pub mode: Option<String>,
    /// The recorded arrays that the layer was computed from; none if it was computed from the program's arguments alone.
    pub judged_from: Vec<String>,
    /// Root mean square of the error of this layer for these inputs, over that of the values.
    pub error: f64,
    /// The same of the error that the roundings of the layer explain.
    pub explained: f64,
    /// The first over the second; `None` where nothing rounds and the values differ.
    pub ratio: Option<f64>,
    /// Rows of the last dim that err by more than their roundings explain.
    pub rows: Vec<usize>,
    /// Flat positions of the first elements that do.
    pub elements: Vec<usize>,
    /// Dims of which some indices are right and others are not.
    pub along: Vec<Along>,
    /// Faults that explain the error, of the first layer outside.
    pub pattern: Vec<Pattern>,
}

/// One value of the program that at least one recording has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// Its name in the first recording that has it.
    pub name: String,
    /// The program's instruction.
    pub instruction: String,
    /// Its type and dims.
    pub shape: String,
    /// Operations between it and the values that it was computed from, by name.
    pub operations: Vec<String>,
    /// Root mean square of the difference of the two recordings, over that of the first; `None` if only one has it.
    pub drift: Option<f64>,
    /// The part of the drift that its inputs bring with them: of the results in f64.
    pub inherited: Option<f64>,
    /// The drift that the roundings of the layer explain, of both recordings together.
    pub explained: Option<f64>,
    /// The layer in the first recording.
    pub a: Option<Side>,
    /// The layer in the second recording.
    pub b: Option<Side>,
}

/// The judgement of two recordings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layers {
    /// In the program's order.
    pub layers: Vec<Layer>,
    /// The least accurate mode that each recording is held to.
    pub modes: [Option<String>; 2],
    /// The first layer of each recording that is outside.
    pub first_outside: [Option<String>; 2],
    /// Arrays that were left out, and parts of the work, and why.
    pub notes: Vec<String>,
}

impl Layers {
    /// The worst verdict of any layer.
    pub fn verdict(&self) -> Verdict {
        Verdict::worst(self.layers.iter().flat_map(|layer| [&layer.a, &layer.b]).flatten().map(|side| side.verdict))
    }
}

/// One recorded layer before the precision of its recording is known.
struct Weighed {
    /// By places of [`PRECISIONS`]: the layer held to that precision; empty where the errors of the part are not followed.
    by_rank: Vec<Option<Side>>,
    /// The part that makes it, its inputs, and the recorded value.
    part: Part,
    inputs: Vec<Tensor>,
    observed: Tensor,
    /// The results in f64; none of integers.
    exact: Vec<f64>,
    /// The recorded arrays that the inputs are.
    judged_from: Vec<String>,
}

impl From<JudgeError> for LayersError {
    fn from(error: JudgeError) -> LayersError {
        LayersError::Judge(Box::new(error))
    }
}

/// Judges the layers of two recordings of `program`, whose arguments are `arguments`.
///
/// # Errors
/// If a recording does not fit the program, or the machine does not support a part of it.
pub fn layers(
    program: &Program,
    arguments: &[Tensor],
    recordings: [&Recording; 2],
    settings: &Settings,
) -> Result<Layers, LayersError> {
    let mut notes = Vec::new();
    let mut sides: Vec<(Checkpoints, BTreeMap<ValueId, Weighed>, usize)> = Vec::new();
    for (side, recording) in recordings.into_iter().enumerate() {
        let found = Checkpoints::read(program, recording, &settings.mapping)?;
        if !found.left_out.is_empty() {
            let names = found.left_out.join(", ");
            notes.push(format!("{}: no value of the program, or one that has another name: {names}", SIDES[side]));
        }
        notes.extend(found.pairing.iter().map(|note| format!("{}: {note}", SIDES[side])));
        let tried = modes(settings, side);
        let mut weighed = BTreeMap::new();
        for id in found.values.keys().copied().filter(|id| !is_argument(program, *id)) {
            weighed.insert(id, weigh(program, arguments, &found, id, &tried)?);
        }
        let rank = precision(&weighed);
        sides.push((found, weighed, rank));
    }
    check_mapping(&settings.mapping, recordings)?;
    let mut ids: Vec<ValueId> = sides.iter().flat_map(|(_, weighed, _)| weighed.keys().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Err(LayersError::NoLayer);
    }
    if ids.iter().all(|id| program.entry().instructions[*id].shape.elements() == 0) {
        return Err(LayersError::NoElement);
    }
    let mut judged = Layers { layers: Vec::new(), modes: [None, None], first_outside: [None, None], notes };
    for id in ids {
        let mut own: Vec<Option<Side>> = Vec::new();
        for (at, (found, weighed, rank)) in sides.iter().enumerate() {
            let Some(layer) = weighed.get(&id) else {
                own.push(None);
                continue;
            };
            let name = &found.values[&id].0;
            let is_first = judged.first_outside[at].is_none();
            let mut side = settle(layer, name, *rank, &settings.modes[at], is_first, &mut judged.notes)?;
            side.judged_from.clone_from(&layer.judged_from);
            if side.verdict == Verdict::Outside && is_first {
                judged.first_outside[at] = Some(name.clone());
            }
            own.push(Some(side));
        }
        judged.layers.push(join(program, id, &sides, own));
    }
    for (at, (found, _, least)) in sides.iter().enumerate() {
        let permitted = modes(settings, at).into_iter().filter(|mode| rank(mode) >= *least);
        judged.modes[at] = permitted.last().map(|mode| mode.to_string());
        if judged.first_outside[at].is_some()
            && let Some(narrow) = found.narrower_type(program)
        {
            let why = "and the program's f32: compare it by the program in its type";
            judged.notes.push(format!("{}: its values are {narrow}, {why}", SIDES[at]));
        }
    }
    Ok(judged)
}

/// Refuses a mapping of an array that neither recording has.
fn check_mapping(mapping: &[(String, String)], recordings: [&Recording; 2]) -> Result<(), LayersError> {
    let names: Vec<&str> = recordings.into_iter().flat_map(Recording::names).collect();
    match mapping.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        Some((name, value)) => {
            let known = crate::name::hint(name, names.iter().copied());
            Err(RecordingError::Map(format!("{name}={value}"), format!("no recording has an array `{name}`; {known}"))
                .into())
        }
        None => Ok(()),
    }
}

/// Weighs one recorded value in each precision.
fn weigh(
    program: &Program,
    arguments: &[Tensor],
    found: &Checkpoints,
    id: ValueId,
    tried: &[Mode],
) -> Result<Weighed, LayersError> {
    let shape_of =
        |(id, (_, tensor)): (&ValueId, &(String, Tensor))| (*id, Shape::array(tensor.dtype(), tensor.dims()));
    let recorded: BTreeMap<ValueId, Shape> = found.values.iter().map(shape_of).collect();
    let part = Part::new(program, id, &recorded);
    let input = |from: &PartArgument| match from {
        PartArgument::Argument(number) => arguments[*number].clone(),
        PartArgument::Recorded(id) => found.values[id].1.clone(),
    };
    let inputs: Vec<Tensor> = part.arguments.iter().map(input).collect();
    let observed = found.values[&id].1.clone();
    let name_of = |from: &PartArgument| match from {
        PartArgument::Recorded(id) => Some(found.values[id].0.clone()),
        PartArgument::Argument(_) => None,
    };
    let judged_from: Vec<String> = part.arguments.iter().filter_map(name_of).collect();
    let mut weighed = Weighed { by_rank: Vec::new(), part, inputs, observed, exact: Vec::new(), judged_from };
    let shape = &program.entry().instructions[id].shape;
    let format = shape.dtype().and_then(DType::format);
    let Some(format) = format.filter(|_| weighed.part.program.double.is_none()) else { return Ok(weighed) };
    let explained = Explained::new(&weighed.part.program, &weighed.inputs, tried)?;
    let values = weighed.observed.data().to_f64s();
    let rounds = weighed.part.operations.iter().any(|id| may_round(&program.entry().instructions[*id].op));
    let seen = Observed { values: &values, dims: shape.dims(), format, rounds };
    weighed.by_rank = (0..PRECISIONS.len()).map(|rank| seen.weigh(&explained, rank)).collect();
    weighed.exact = explained.exact;
    Ok(weighed)
}

/// Whether an operation may give another number than the exact one.
fn may_round(op: &Op) -> bool {
    match op.class() {
        Class::Converts | Class::Combines | Class::Calls => true,
        Class::Elementwise => !matches!(op, Op::Compare { .. } | Op::Select | Op::Clamp),
        Class::Source | Class::Moves | Class::Ranks | Class::Lists => false,
    }
}

/// The place in [`PRECISIONS`] of the most accurate precision in which at least half of the layers that precisions change are
/// honest; the least accurate one if there is none.
fn precision(weighed: &BTreeMap<ValueId, Weighed>) -> usize {
    let is_honest = |side: &Side| side.verdict != Verdict::Outside;
    let changed: Vec<&Weighed> = weighed
        .values()
        .filter(|layer| {
            let mut explained = layer.by_rank.iter().flatten().map(|side| side.explained);
            let first = explained.next();
            explained.any(|other| Some(other) != first)
        })
        .collect();
    let honest = |rank: &usize| {
        let sides = changed.iter().filter_map(|layer| layer.by_rank.get(*rank)?.as_ref());
        sides.filter(|side| is_honest(side)).count()
    };
    (0..PRECISIONS.len())
        .rev()
        .filter(|rank| is_offered(weighed, *rank))
        .find(|rank| 2 * honest(rank) >= changed.len())
        .unwrap_or(0)
}

/// Whether any layer was computed in a precision at least as accurate.
fn is_offered(weighed: &BTreeMap<ValueId, Weighed>, rank: usize) -> bool {
    weighed.values().any(|layer| layer.by_rank.get(rank).is_some_and(Option::is_some))
}

/// The judgement of one recorded layer in the precision of its recording.
fn settle(
    layer: &Weighed,
    name: &str,
    rank: usize,
    named: &Option<Mode>,
    is_first: bool,
    notes: &mut Vec<String>,
) -> Result<Side, LayersError> {
    let (mut rank, mut held) = (rank, None);
    // A layer that no precision of this rank computes is held to the next less accurate one.
    while held.is_none() {
        held = layer.by_rank.get(rank).cloned().flatten();
        match rank.checked_sub(1) {
            Some(less) => rank = less,
            None => break,
        }
    }
    let decision = decision(&layer.part.program);
    let Some(mut side) = held else { return by_judge(layer, name, named.clone(), None) };
    if side.verdict == Verdict::Bits {
        return Ok(side);
    }
    let mode = side.mode.as_ref().and_then(|mode| mode.parse().ok());
    if let Some(decision) = decision {
        side.because = vec![format!("{decision} decides here, so that a small error may become a large one")];
        return by_judge(layer, name, named.clone().or(mode), Some(side));
    }
    if side.verdict != Verdict::Outside {
        return Ok(side);
    }
    let is_named = |one: &Pattern| one.explained > NAMED && one.kind != "everywhere";
    if is_first && judge::work(&layer.part.program) <= MOST_WORK {
        match faults(layer, name, mode) {
            // `along` says where the error is.
            Ok(result) => side.pattern = result.pattern.into_iter().filter(is_named).collect(),
            Err(error) => notes.push(format!("{name}: no fault was looked for: {error}")),
        }
    }
    Ok(side)
}

/// The judgement of a layer by [`judge::judge`], where the error of its part is not followed: integers, f64, decisions.
fn by_judge(layer: &Weighed, name: &str, named: Option<Mode>, side: Option<Side>) -> Result<Side, LayersError> {
    let result = faults(layer, name, named)?;
    let error = result.error.as_ref().map_or(0.0, |error| error.relative_rms);
    let mut side = side.unwrap_or(Side {
        verdict: result.verdict,
        because: Vec::new(),
        mode: None,
        judged_from: Vec::new(),
        error,
        explained: 0.0,
        ratio: result.ratio,
        rows: Vec::new(),
        elements: Vec::new(),
        along: Vec::new(),
        pattern: Vec::new(),
    });
    side.verdict = result.verdict;
    side.because.extend(result.because);
    side.mode = result.modes.first().cloned().or_else(|| result.nearest.map(|nearest| nearest.mode));
    side.elements = result.outside.first;
    side.pattern = result.pattern;
    Ok(side)
}

/// The judgement of a layer as the result of its part.
fn faults(layer: &Weighed, name: &str, mode: Option<Mode>) -> Result<judge::JudgedResult, LayersError> {
    let arrays = vec![(name.to_string(), layer.observed.clone())];
    let recording =
        Recording::of_arrays(arrays).map(vec![(name.to_string(), layer.part.program.output_names[0].clone())]);
    let settings = judge::Settings { mode, ..judge::Settings::default() };
    let mut judged = judge::judge(&layer.part.program, &layer.inputs, &recording, &settings)?;
    match judged.results.pop() {
        Some(result) => Ok(result),
        None => Err(LayersError::NoLayer),
    }
}

/// An operation of a part by which a small error of a float may become a large one: an order or a relation of floats, or floats
/// that become integers.
fn decision(program: &Program) -> Option<&str> {
    let entry = program.entry();
    let decides = |instruction: &&crate::ir::Instruction| {
        let of_float = instruction.operands.iter().any(|operand| {
            let shape = &entry.instructions[*operand].shape;
            shape.dtype().is_some_and(DType::is_float)
        });
        let is_integer = instruction.shape.dtype().is_some_and(|dtype| dtype.is_integer());
        of_float
            && match &instruction.op {
                Op::Compare { direction, .. } => !matches!(direction, Compare::Eq | Compare::Ne),
                Op::Sort { .. } | Op::TopK { .. } => true,
                Op::Convert => is_integer,
                Op::Reduce { .. } => matches!(instruction.shape, Shape::Tuple(_)),
                Op::Unary(
                    Unary::Floor | Unary::Ceil | Unary::RoundNearestAfz | Unary::RoundNearestEven | Unary::Sign,
                ) => true,
                _ => false,
            }
    };
    entry.instructions.iter().find(decides).map(|instruction| instruction.name.as_str())
}

/// A layer of both recordings.
fn join(
    program: &Program,
    id: ValueId,
    sides: &[(Checkpoints, BTreeMap<ValueId, Weighed>, usize)],
    own: Vec<Option<Side>>,
) -> Layer {
    let instructions = &program.entry().instructions;
    let weighed: Vec<Option<&Weighed>> = sides.iter().map(|(_, weighed, _)| weighed.get(&id)).collect();
    let part = weighed.iter().flatten().next().map(|layer| &layer.part);
    let operations = part.map(|part| part.operations.iter().map(|id| instructions[*id].name.clone()).collect());
    let name = sides.iter().find_map(|(found, _, _)| found.values.get(&id)).map(|(name, _)| name.clone());
    let relative = |a: &[f64], b: &[f64]| relative_rms(b.iter().copied().zip(a.iter().copied()));
    let (mut drift, mut inherited) = (None, None);
    if let [Some(a), Some(b)] = weighed[..] {
        drift = Some(relative(&a.observed.data().to_f64s(), &b.observed.data().to_f64s()));
        inherited = (!a.exact.is_empty()).then(|| relative(&a.exact, &b.exact));
    }
    let mut own = own.into_iter();
    let (a, b) = (own.next().flatten(), own.next().flatten());
    let explained = a.as_ref().zip(b.as_ref()).map(|(a, b)| (a.explained.powi(2) + b.explained.powi(2)).sqrt());
    Layer {
        name: name.unwrap_or_default(),
        instruction: instructions[id].name.clone(),
        shape: instructions[id].shape.to_string(),
        operations: operations.unwrap_or_default(),
        drift,
        inherited,
        explained,
        a,
        b,
    }
}

//! What sums are accumulated in.

use serde::Serialize;

use crate::ir::{self, Binary, Op, Program, Reducer, ValueId, reducer_but_for_rounding};

use super::precision::Precision;

/// How a sum is accumulated, as far as the program says it.
///
/// JSON: `dtype` (of each addition), `rounded_to` (a format that each partial sum is rounded to, or null), `terms` (how
/// many numbers go into one sum, at most), `precision` of a dot (`default`, `high`, `highest`; of its less precise operand;
/// null for other sums).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accumulation {
    pub dtype: String,
    pub rounded_to: Option<Precision>,
    pub terms: usize,
    #[serde(serialize_with = "by_name")]
    pub precision: Option<ir::Precision>,
}

fn by_name<S: serde::Serializer>(precision: &Option<ir::Precision>, serializer: S) -> Result<S::Ok, S::Error> {
    precision.map(ir::Precision::name).serialize(serializer)
}

/// The accumulation of a reduction, window sum or dot; `None` for a value that is no sum of floats.
pub fn accumulation(program: &Program, id: ValueId) -> Option<Accumulation> {
    let entry = program.entry();
    let instruction = &entry.instructions[id];
    let dims = entry.instructions[*instruction.operands.first()?].shape.dims();
    match &instruction.op {
        Op::Reduce { dims: along, to_apply } => added(program, *to_apply, along.iter().map(|d| dims[*d]).product()),
        Op::ReduceWindow { window, to_apply } => {
            added(program, *to_apply, window.0.iter().zip(dims).map(|(w, d)| w.size.min(*d)).product())
        }
        Op::Dot { dims: numbers, precision } => {
            let declared = instruction.shape.dtype()?.format().map(Precision::of)?;
            // Narrow products are accumulated in f32 (FACTS 2.3), and the result is rounded once.
            let wide = declared.join(Precision::of(&crate::num::F32));
            let terms = numbers.lhs_contracting.iter().map(|d| dims[*d]).product();
            Some(Accumulation {
                dtype: wide.name().to_string(),
                rounded_to: None,
                terms,
                precision: precision.iter().copied().min(),
            })
        }
        _ => None,
    }
}

fn added(program: &Program, region: usize, terms: usize) -> Option<Accumulation> {
    let region = &program.computations[region];
    if reducer_but_for_rounding(region) != Some(Reducer::Binary(Binary::Add)) {
        return None;
    }
    let add = region.instructions.iter().find(|i| i.op == Op::Binary(Binary::Add))?;
    let dtype = add.shape.dtype()?;
    let sum = Precision::of(dtype.format()?);
    // Conversions between the addition and the region's result round each partial sum.
    let narrowed = region.instructions.iter().filter(|i| i.op == Op::Convert);
    let narrowed = narrowed.filter_map(|i| i.shape.dtype()?.format().map(Precision::of));
    let rounded_to = narrowed.filter(|to| !sum.within(*to)).min_by_key(|to| to.fraction_bits());
    Some(Accumulation { dtype: dtype.name().to_string(), rounded_to, terms, precision: None })
}

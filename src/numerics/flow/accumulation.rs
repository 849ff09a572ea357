//! Accumulation of sums: its type and its roundings.

use serde::Serialize;

use crate::analysis::{Analysis, Precision, Reducer, accumulates_in};
use crate::ir::{self, Binary, Op, ValueId};
use crate::machine::{CHIPS, Chip, DotSite, is_on_vector_unit};
use crate::tensor::DType;

/// The accumulation of a sum, as far as the program says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accumulation {
    /// The type of each addition.
    pub dtype: String,
    /// A narrower format that each partial sum is rounded to.
    pub rounded_to: Option<Precision>,
    /// The most numbers that go into one sum.
    pub terms: usize,
    /// The precision that a dot asks for its less precise operand, by its name in HLO text; `None` for other sums.
    #[serde(serialize_with = "by_name")]
    pub precision: Option<ir::Precision>,
    /// The form in which a TPU takes the f32 operands of a dot, in words; `None` for a dot of others and other sums.
    pub operands: Option<String>,
    /// The tiling of a matmul in a compiled file, in words.
    pub tiling: Option<String>,
}

fn by_name<S: serde::Serializer>(precision: &Option<ir::Precision>, serializer: S) -> Result<S::Ok, S::Error> {
    precision.map(ir::Precision::name).serialize(serializer)
}

/// The accumulation of a reduction, window sum or dot; `None` for a value that is no sum of floats.
pub fn accumulation(analysis: &Analysis, id: ValueId) -> Option<Accumulation> {
    let entry = analysis.program.entry();
    let instruction = &entry.instructions[id];
    let dims = entry.instructions[*instruction.operands.first()?].shape.dims();
    let (region, precision, terms) = match &instruction.op {
        Op::Reduce { dims: along, to_apply } => (Some(*to_apply), None, along.iter().map(|d| dims[*d]).product()),
        Op::ReduceWindow { window, to_apply } => {
            (Some(*to_apply), None, window.0.iter().zip(dims).map(|(w, d)| w.size.min(*d)).product())
        }
        Op::Dot { dims: numbers, precision } => (None, precision.iter().copied().min(), numbers.products(dims)),
        _ => return None,
    };
    let accumulated = accumulates_in(analysis.program, &analysis.regions, instruction)?;
    // The type of each addition. Conversions between it and the region's result round each partial sum.
    let added = match region {
        None => accumulated,
        Some(region) if analysis.regions.reducer_but_for_rounding(region) == Some(Reducer::Binary(Binary::Add)) => {
            let region = &analysis.program.computations[region];
            let add = region.instructions.iter().find(|i| i.op == Op::Binary(Binary::Add))?;
            Precision::of_dtype(add.shape.dtype()?)?
        }
        Some(_) => return None,
    };
    // A region that converts its sum rounds it at each step, whatever type it adds in.
    let rounded_to = Some(accumulated).filter(|to| !added.within(*to));
    let tiling = instruction.tiling().map(|tiling| format!("{} ({tiling})", tiling.cut(terms)));
    let operands = DotSite::within(entry, instruction).and_then(|dot| operands(&dot));
    Some(Accumulation { dtype: added.to_string(), rounded_to, terms, precision, operands, tiling })
}

/// The form in which a TPU takes the f32 operands of a dot (FACTS 2.3). Of a program as written it depends on the unit, and so on the
/// chip.
fn operands(dot: &DotSite) -> Option<String> {
    if !dot.dtypes.contains(&Some(DType::F32)) {
        return None;
    }
    let asked = dot.precision[0].max(dot.precision[1]);
    let how = match asked {
        ir::Precision::Default => "rounded to bf16 (1 pass)",
        ir::Precision::High => "split into 2 bf16 parts (3 passes)",
        ir::Precision::Highest => "split into 3 bf16 parts (6 passes)",
    };
    // A program as written names no chip: all TPUs are told, those that agree together.
    let tpus = CHIPS.iter().filter(|chip| chip.matrix_unit);
    let (vector, matrix): (Vec<&Chip>, Vec<&Chip>) = tpus.partition(|chip| is_on_vector_unit(chip, dot));
    let names = |chips: &[&Chip]| chips.iter().map(|chip| chip.name).collect::<Vec<_>>().join(", ");
    let taken = match (&vector[..], &matrix[..]) {
        _ if dot.on_matrix_unit => format!("the matrix unit takes its f32 operands {how}"),
        ([], _) => format!("a TPU's matrix unit takes its f32 operands {how}"),
        (_, []) => "a TPU's vector unit takes its f32 operands as they are".to_string(),
        (vector, matrix) => format!(
            "the matrix unit of {} takes its f32 operands {how}, the vector unit of {} as they are",
            names(matrix),
            names(vector)
        ),
    };
    Some(format!("precision {}: {taken}", asked.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::{lower, parse};

    /// Behind the edge of a window there are no terms: one of eight elements over a row of five has five.
    #[test]
    fn a_window_has_no_more_terms_than_its_array() {
        let terms = |size: usize, before: usize, after: usize| {
            let text = format!(
                "HloModule m\nby {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\
                 ENTRY e {{\n  x = f32[3,5] parameter(0)\n  o = f32[] constant(0)\n  ROOT r = f32[3,5] reduce-window(x, o), \
                 window={{size=1x{size} pad=0_0x{before}_{after}}}, to_apply=by\n}}\n"
            );
            let program = lower(&parse(&text).unwrap()).unwrap().program;
            accumulation(&Analysis::new(&program), program.entry().root).unwrap().terms
        };
        assert_eq!((terms(3, 1, 1), terms(8, 4, 3)), (3, 5));
    }
}

//! Recognises the regions that programs are made of, so that both worlds can evaluate them without interpreting a
//! region element by element. Recognition is by the region's expression, whatever its names and order.

use super::dot::DotDims;
use super::op::{Binary, Compare, CompareOrder, Op, Window};
use super::program::{Computation, Instruction, ValueId};

/// A reducer `(accumulated..., incoming...) -> ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reducer {
    Binary(Binary),
    /// Over (value, index): the larger value, a NaN before any number, the lower index on ties (`jnp.argmax`).
    ArgMax,
    /// As [`Reducer::ArgMax`] with the smaller value (`jnp.argmin`).
    ArgMin,
    /// Over (value, index): `acc > x ? acc : x`, so the last wins on ties and NaNs (`approx_max_k`, k = 1, FACTS 5.1).
    GreaterKeep,
}

/// A sort comparator over one key; the other operands are carried along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparator {
    /// Which of the sorted operands is the key.
    pub key: usize,
    pub descending: bool,
    pub order: CompareOrder,
    /// Whether -0 counts as +0 and every NaN as one (`jnp.sort`).
    pub canonical: bool,
    /// The operand whose lower value goes first where keys are equal, as the TPU compiler makes a sort stable (FACTS 9).
    pub ties: Option<usize>,
}

/// Whether a region may round floats on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Roundings {
    /// Only widening conversions are looked through.
    Kept,
    /// All conversions between float types are.
    Ignored,
}

/// What a reducing region computes, if it is one of the known ones.
pub fn reducer(region: &Computation) -> Option<Reducer> {
    known_reducer(&express(region, Roundings::Kept))
}

/// [`reducer`] of the region without its conversions between float types: right over the real numbers, and over values
/// that no such conversion changes.
pub fn reducer_but_for_rounding(region: &Computation) -> Option<Reducer> {
    known_reducer(&express(region, Roundings::Ignored))
}

fn known_reducer(expression: &str) -> Option<Reducer> {
    let binaries =
        [Binary::Add, Binary::Multiply, Binary::Maximum, Binary::Minimum, Binary::And, Binary::Or, Binary::Xor];
    if let Some(binary) = binaries.into_iter().find(|b| expression == format!("{}(p0,p1)", b.name())) {
        return Some(Reducer::Binary(binary));
    }
    let extreme = |direction: &str| {
        let better = format!("or({direction}(p0,p2),NE(p0,p0))");
        let earlier = "and(EQ(p0,p2),LT(p1,p3))";
        let index = format!("or({},{})", earlier, better);
        format!("tuple(select({better},p0,p2),select({index},p1,p3))")
    };
    match expression {
        "tuple(select(GT(p0,p2),p0,p2),select(GT(p0,p2),p1,p3))" => Some(Reducer::GreaterKeep),
        e if e == extreme("GT") => Some(Reducer::ArgMax),
        e if e == extreme("LT") => Some(Reducer::ArgMin),
        _ => None,
    }
}

/// What a sort's region orders by, if it is one of the known comparators.
pub fn comparator(region: &Computation) -> Option<Comparator> {
    known_comparator(&express(region, Roundings::Kept), region.parameter_shapes().len() / 2)
}

/// [`comparator`] of the region without its conversions between float types, as [`reducer_but_for_rounding`].
pub fn comparator_but_for_rounding(region: &Computation) -> Option<Comparator> {
    known_comparator(&express(region, Roundings::Ignored), region.parameter_shapes().len() / 2)
}

fn known_comparator(expression: &str, operands: usize) -> Option<Comparator> {
    for key in 0..operands {
        for canonical in [false, true] {
            let sides = [2 * key, 2 * key + 1].map(|p| side(p, canonical));
            for (descending, direction) in [(false, "LT"), (true, "GT")] {
                let exchanged = if descending { "LT" } else { "GT" };
                for (order, suffix, wrap) in [
                    (CompareOrder::Partial, "", None),
                    (CompareOrder::Total, ":TOTALORDER", None),
                    (CompareOrder::Total, "", Some(16)),
                    (CompareOrder::Total, "", Some(32)),
                ] {
                    let [a, b] = sides.clone().map(|side| wrap.map_or(side.clone(), |bits| ordered_bits(&side, bits)));
                    let first = format!("{direction}{suffix}({a},{b})");
                    let second = format!("{direction}{suffix}({b},{a})");
                    // lax.sort of a descending key compares the other way round with the sides exchanged.
                    let plain = [first.clone(), format!("{exchanged}{suffix}({b},{a})")];
                    let found = Comparator { key, descending, order, canonical, ties: None };
                    if plain.iter().any(|e| e == expression) {
                        return Some(found);
                    }
                    let both = if first < second { format!("{first},{second}") } else { format!("{second},{first}") };
                    for ties in (0..operands).filter(|t| *t != key) {
                        let earlier = format!("LT(p{},p{})", 2 * ties, 2 * ties + 1);
                        if expression == format!("select(EQ({both}),{earlier},{first})") {
                            return Some(Comparator { ties: Some(ties), ..found });
                        }
                    }
                }
            }
        }
    }
    None
}

/// A parameter of a comparator, as `jnp.sort` prepares it.
fn side(parameter: usize, canonical: bool) -> String {
    let p = format!("p{parameter}");
    match canonical {
        false => p,
        true => format!("select(NE({p},{p}),constant(NaN),select(EQ(constant(0.0),{p}),constant(0.0),{p}))"),
    }
}

/// A float's bits as an integer that orders as the float does: what compilers make of TOTALORDER.
fn ordered_bits(float: &str, bits: u32) -> String {
    let integer = format!("bitcast-convert<s{bits}[]>({float})");
    let mask = (1u64 << (bits - 1)) - 1;
    format!("select(LT({integer},constant(0)),xor({integer},constant({mask})),{integer})")
}

/// A window over all elements up to its own, or from its own on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cumulative {
    pub dim: usize,
    /// Whether it covers the elements from its own on, as with `reverse=True`.
    pub reversed: bool,
}

/// The dim along which a window covers all elements up to its own, as `cumsum` lowers (window n, low padding n - 1).
pub fn is_cumulative(window: &Window, dims: &[usize]) -> Option<usize> {
    cumulative(window, dims).filter(|c| !c.reversed).map(|c| c.dim)
}

/// How a window is cumulative, in either direction (window n, low or high padding n - 1), if it is.
pub fn cumulative(window: &Window, dims: &[usize]) -> Option<Cumulative> {
    let trivial = |d: usize| {
        let w = window.0[d];
        w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.base_dilation == 1
    };
    let (along, w) = window.0.iter().enumerate().find(|(_, w)| w.size > 1)?;
    let others = w.size as i64 - 1;
    let reversed = match (w.pad_low, w.pad_high) {
        (low, 0) if low == others => false,
        (0, high) if high == others => true,
        _ => return None,
    };
    let covers = w.size == dims[along] && (w.stride, w.base_dilation, w.window_dilation) == (1, 1, 1);
    (covers && (0..dims.len()).all(|d| d == along || trivial(d))).then_some(Cumulative { dim: along, reversed })
}

/// A region's value as one expression; operands of commutative operations in alphabetical order.
fn express(region: &Computation, roundings: Roundings) -> String {
    let mut expressions: Vec<String> = Vec::with_capacity(region.instructions.len());
    for instruction in &region.instructions {
        let expression = expression(region, instruction, &expressions, roundings);
        // What no known region reaches needs no telling apart; this bounds the work on regions made to explode.
        let known = expression.filter(|e| e.len() < 4096);
        expressions.push(known.unwrap_or_else(|| format!("other#{}", expressions.len())));
    }
    expressions.swap_remove(region.root)
}

/// One instruction over the expressions before it; `None` if it belongs to no known region.
fn expression(
    region: &Computation,
    instruction: &Instruction,
    before: &[String],
    roundings: Roundings,
) -> Option<String> {
    let mut operands: Vec<&str> = instruction.operands.iter().map(|o| before[*o].as_str()).collect();
    let commutes = match &instruction.op {
        Op::Binary(
            Binary::Subtract
            | Binary::Divide
            | Binary::Remainder
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical,
        ) => false,
        Op::Binary(_) | Op::Compare { direction: Compare::Eq | Compare::Ne, .. } => true,
        _ => false,
    };
    if commutes {
        operands.sort_unstable();
    }
    // Whether this conversion is looked through: a widening one changes no value and no order.
    let seen_through = || {
        let from = region.instructions[*instruction.operands.first()?].shape.dtype()?;
        let (from_format, to) = (from.format()?, instruction.shape.dtype()?.format()?);
        let wider = to.fraction_bits >= from_format.fraction_bits && to.exponent_bits >= from_format.exponent_bits;
        Some(wider || roundings == Roundings::Ignored)
    };
    let name = match &instruction.op {
        Op::Parameter(n) => return Some(format!("p{n}")),
        Op::Constant(value) if value.len() == 1 => {
            let data = value.data();
            return Some(match data.dtype().is_float() {
                true => format!("constant({:?})", data.get_f64(0)),
                false => format!("constant({})", data.get_i64(0)),
            });
        }
        Op::Convert if seen_through() == Some(true) => {
            return operands.first().map(|o| o.to_string());
        }
        Op::Convert => format!("convert<{}>", instruction.shape),
        Op::BitcastConvert => format!("bitcast-convert<{}>", instruction.shape),
        Op::Binary(binary) => binary.name().to_string(),
        Op::Unary(unary) => unary.name().to_string(),
        Op::Compare { direction, order: CompareOrder::Partial } => direction.name().to_string(),
        Op::Compare { direction, order: CompareOrder::Total } => format!("{}:TOTALORDER", direction.name()),
        Op::Select => "select".to_string(),
        Op::Tuple => "tuple".to_string(),
        Op::GetTupleElement(index) => format!("element<{index}>"),
        _ => return None,
    };
    Some(format!("{name}({})", operands.join(",")))
}

/// A dot `[m,k] x [k,n]` of two float parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainMatmul {
    /// The two values.
    pub operands: [ValueId; 2],
    /// Their numbers as parameters.
    pub parameters: [usize; 2],
    /// m, k, n.
    pub sizes: [usize; 3],
}

/// The value as a plain matmul of parameters, if it is one.
pub fn plain_matmul(computation: &Computation, value: ValueId) -> Option<PlainMatmul> {
    let dot = &computation.instructions[value];
    let (Op::Dot { dims, .. }, [lhs, rhs]) = (&dot.op, dot.operands.as_slice()) else { return None };
    let parameter = |operand: ValueId| match computation.instructions[operand].op {
        Op::Parameter(number) => Some(number),
        _ => None,
    };
    let parameters = [parameter(*lhs)?, parameter(*rhs)?];
    let shapes = [*lhs, *rhs].map(|operand| &computation.instructions[operand].shape);
    let ([m, k], [_, n]) = (shapes[0].dims(), shapes[1].dims()) else { return None };
    let floats = shapes.iter().all(|shape| shape.dtype().is_some_and(|dtype| dtype.is_float()));
    (floats && *dims == DotDims::matmul()).then_some(PlainMatmul {
        operands: [*lhs, *rhs],
        parameters,
        sizes: [*m, *k, *n],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Program};
    use crate::program::{PROGRAMS, ProgramSpec};
    use crate::tensor::DType;

    fn program(text: &str) -> Program {
        text.parse::<ProgramSpec>().unwrap().build(64, 2).unwrap()
    }

    /// Every region that a built-in program makes is recognised: none is interpreted element by element.
    #[test]
    fn regions_of_built_in_programs_are_known() {
        for built_in in PROGRAMS {
            let program = program(built_in.name());
            for instruction in &program.entry().instructions {
                let Some(region) = instruction.op.callees().next().map(|id| &program.computations[id]) else {
                    continue;
                };
                let known = match instruction.op {
                    Op::Sort { .. } => comparator(region).is_some(),
                    _ => reducer(region).is_some(),
                };
                assert!(known, "{} in {}", region.name, built_in.name());
            }
        }
    }

    #[test]
    fn sorts_are_told_apart() {
        let comparators = |text: &str| {
            let program = program(text);
            program.computations.iter().filter_map(comparator).collect::<Vec<_>>()
        };
        let jax = Comparator { key: 0, descending: false, order: CompareOrder::Total, canonical: true, ties: None };
        assert_eq!(comparators("sort"), [jax]);
        let top_p = Comparator { key: 0, descending: true, order: CompareOrder::Partial, canonical: false, ties: None };
        assert_eq!(comparators("top_p"), [top_p]);
    }

    #[test]
    fn only_what_it_is_is_recognised() {
        let mut b = Builder::new("regions");
        let subtract = b.binary_region(Binary::Subtract, DType::F32).unwrap();
        let add = b.binary_region(Binary::Add, DType::F32).unwrap();
        let x = b.parameter("x", DType::F32, &[4]).unwrap();
        let program = b.finish(&[("x", x)]).unwrap();
        assert_eq!(reducer(&program.computations[subtract]), None);
        assert_eq!(reducer(&program.computations[add]), Some(Reducer::Binary(Binary::Add)));
    }
}

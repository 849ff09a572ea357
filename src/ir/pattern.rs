//! Recognises the regions that programs are made of, so that both worlds can evaluate them without interpreting a
//! region element by element. Recognition is by the region's expression, whatever its names and order.

use super::op::{Binary, Compare, CompareOrder, Op, Unary, Window};
use super::program::{Computation, ValueId};

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
}

/// What a reducing region computes, if it is one of the known ones.
pub fn reducer(region: &Computation) -> Option<Reducer> {
    let expression = express(region, region.root);
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
        e if e == extreme("GT") => Some(Reducer::ArgMax),
        e if e == extreme("LT") => Some(Reducer::ArgMin),
        e if e == "tuple(select(GT(p0,p2),p0,p2),select(GT(p0,p2),p1,p3))" => Some(Reducer::GreaterKeep),
        _ => None,
    }
}

/// What a sort's region orders by, if it is one of the known comparators.
pub fn comparator(region: &Computation) -> Option<Comparator> {
    let root = &region.instructions[region.root];
    let Op::Compare { direction, order } = &root.op else { return None };
    let descending = match direction {
        Compare::Lt => false,
        Compare::Gt => true,
        _ => return None,
    };
    let sides = [express(region, root.operands[0]), express(region, root.operands[1])];
    for key in 0..region.parameter_shapes().len() / 2 {
        let names = [format!("p{}", 2 * key), format!("p{}", 2 * key + 1)];
        let plain = sides == names;
        let canonical = sides
            == names
                .clone()
                .map(|p| format!("select(NE({p},{p}),constant(NaN),select(EQ(constant(0.0),{p}),constant(0.0),{p}))"));
        // lax.sort of a descending key compares the other way round with the sides exchanged.
        if plain || canonical {
            return Some(Comparator { key, descending, order: *order, canonical });
        }
        let exchanged = [&names[1], &names[0]];
        if sides.iter().eq(exchanged) {
            return Some(Comparator { key, descending: !descending, order: *order, canonical: false });
        }
    }
    None
}

/// The dim along which a window covers all elements up to its own, as `cumsum` lowers (window n, low padding n - 1).
pub fn is_cumulative(window: &Window, dims: &[usize]) -> Option<usize> {
    let trivial = |d: usize| {
        let w = window.0[d];
        w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.base_dilation == 1
    };
    let (along, w) = window.0.iter().enumerate().find(|(_, w)| w.size > 1)?;
    let covers = w.size == dims[along]
        && w.pad_low == w.size as i64 - 1
        && (w.stride, w.pad_high, w.base_dilation, w.window_dilation) == (1, 0, 1, 1);
    (covers && (0..dims.len()).all(|d| d == along || trivial(d))).then_some(along)
}

/// A region's value as one expression; operands of commutative operations in alphabetical order.
fn express(region: &Computation, id: ValueId) -> String {
    let instruction = &region.instructions[id];
    let operands = || instruction.operands.iter().map(|o| express(region, *o)).collect::<Vec<_>>();
    let call = |name: &str, operands: Vec<String>| format!("{name}({})", operands.join(","));
    match &instruction.op {
        Op::Parameter(n) => format!("p{n}"),
        Op::Constant(value) if value.dtype().is_float() && value.len() == 1 => {
            format!("constant({:?})", value.data().get_f64(0))
        }
        Op::Binary(binary) => {
            let mut operands = operands();
            let ordered = matches!(
                binary,
                Binary::Subtract
                    | Binary::Divide
                    | Binary::Remainder
                    | Binary::ShiftLeft
                    | Binary::ShiftRightArithmetic
                    | Binary::ShiftRightLogical
            );
            if !ordered {
                operands.sort();
            }
            call(binary.name(), operands)
        }
        Op::Unary(Unary::Negate) => call("negate", operands()),
        Op::Compare { direction, order: CompareOrder::Partial } => {
            let mut operands = operands();
            if matches!(direction, Compare::Eq | Compare::Ne) {
                operands.sort();
            }
            call(direction.name(), operands)
        }
        Op::Select => call("select", operands()),
        Op::Tuple => call("tuple", operands()),
        // Anything else makes an expression that equals none of the known ones.
        _ => format!("other#{id}"),
    }
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
        let jax = Comparator { key: 0, descending: false, order: CompareOrder::Total, canonical: true };
        assert_eq!(comparators("sort"), [jax]);
        let top_p = Comparator { key: 0, descending: true, order: CompareOrder::Partial, canonical: false };
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

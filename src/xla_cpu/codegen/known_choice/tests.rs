use super::known_columns;
use crate::ir::{Binary, Builder, Compare, Fusion, ShapeError, ValueId};
use crate::tensor::DType;

/// Whether the select between two arrays of these dims is known, by a predicate of their rows and columns.
fn known(dims: [usize; 2], predicate: impl Fn(&mut Builder, [ValueId; 2]) -> Result<ValueId, ShapeError>) -> bool {
    let mut builder = Builder::new("m");
    let [a, b] = ["a", "b"].map(|name| builder.parameter(name, DType::F32, &dims).unwrap());
    let indices = [0, 1].map(|dim| builder.iota(DType::S32, &dims, dim).unwrap());
    let predicate = predicate(&mut builder, indices).unwrap();
    let choice = builder.select(predicate, a, b).unwrap();
    let mut program = builder.finish(&[("r", choice)]).unwrap();
    let entry = program.entry;
    let computation = &mut program.computations[entry];
    (indices[0]..=choice)
        .for_each(|id| computation.instructions[id].record(|compiled| compiled.fusion = Some(Fusion::Compiled(0))));
    let columns = known_columns(computation, &computation.instructions[choice], dims.len() - 1);
    !columns.is_empty() && !columns.contains(&false)
}

/// Index `dim` compared with a number, after it is multiplied by another one.
fn compared(dims: [usize; 2], dim: usize, factor: f64, direction: Compare, with: f64) -> bool {
    known(dims, |builder, indices| {
        let mut number = |value: f64| {
            let constant = builder.constant(DType::S32, value)?;
            builder.splat(constant, &dims)
        };
        let [factor, with] = [number(factor)?, number(with)?];
        let product = builder.binary(Binary::Multiply, indices[dim], factor)?;
        builder.compare(direction, product, with)
    })
}

/// Contractions of XLA behind selects, on a processor with AVX2.
#[test]
fn choices_by_indices_are_known() {
    // By the row, whatever the size.
    assert!(compared([16, 1000], 0, 1.0, Compare::Ge, 5.0));
    // Unrolled, element by element and in registers.
    assert!(compared([16, 26], 1, 1.0, Compare::Ge, 13.0));
    assert!(compared([16, 64], 1, 1.0, Compare::Lt, 32.0));
    assert!(compared([16, 68], 1, 1.0, Compare::Lt, 64.0));
    assert!(!compared([16, 68], 1, 1.0, Compare::Lt, 65.0));
    assert!(!compared([16, 64], 1, 1.0, Compare::Lt, 33.0));
    assert!(!compared([16, 320], 1, 1.0, Compare::Lt, 160.0));
    // Behind a few iterations, and in all.
    assert!(compared([4, 2000], 1, 1.0, Compare::Ne, 0.0));
    assert!(compared([4, 2000], 1, 1.0, Compare::Lt, 7.0));
    assert!(!compared([4, 2000], 1, 1.0, Compare::Lt, 8.0));
    assert!(compared([4, 2000], 1, 3.0, Compare::Le, 5997.0));
    assert!(!compared([4, 2000], 1, 3.0, Compare::Le, 5996.0));
    // Where it wraps nothing is known.
    assert!(!compared([4, 2000], 1, 2e9, Compare::Ge, 0.0));
}

#[test]
fn choices_by_both_indices_and_by_numbers_are_not_known() {
    assert!(!known([16, 12], |builder, [row, column]| builder.compare(Compare::Le, row, column)));
    // Floats that count are known where the loop is unrolled.
    let count = |columns: usize| {
        known([16, columns], |builder, _| {
            let index = builder.iota(DType::F32, &[1, columns], 1)?;
            let index = builder.reshape(index, &[columns])?;
            let index = builder.broadcast(index, &[16, columns], &[1])?;
            let zero = builder.constant(DType::F32, 0.0)?;
            let zero = builder.splat(zero, &[16, columns])?;
            builder.compare(Compare::Ne, index, zero)
        })
    };
    assert_eq!([12, 1000].map(count), [true, false]);
    // Rows end before columns begin.
    let apart = |builder: &mut Builder, [row, column]: [ValueId; 2]| {
        let sixteen = builder.constant(DType::S32, 16.0)?;
        let sixteen = builder.splat(sixteen, &[16, 1000])?;
        let column = builder.binary(Binary::Add, column, sixteen)?;
        builder.compare(Compare::Lt, row, column)
    };
    assert!(known([16, 1000], apart));
    assert!(!known([16, 12], |builder, [row, _]| {
        let numbers = builder.convert(row, DType::F32)?;
        let parameter = builder.parameter("c", DType::F32, &[16, 12])?;
        builder.compare(Compare::Lt, numbers, parameter)
    }));
}

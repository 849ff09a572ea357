//! Operations whose attributes of one type have unequal values, so that no attribute can be read for another: in both worlds, against
//! what jax and numpy compute (`tests/data/unequal.txt`).

use ulpgate::tensor::{Data, Tensor};

use crate::worlds::{both, program};

/// The element that every parameter has at a place.
fn element(parameter: usize, at: usize) -> f32 {
    ((at * at * 7 + at * 5 + parameter * 3) % 19) as f32 - 9.0
}

#[test]
fn no_attribute_stands_for_another() {
    let cases = include_str!("../data/unequal.txt").split("== ").skip(1);
    let mut count = 0;
    for case in cases {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("-> ").unwrap();
        let program = program(text);
        let argument = |(number, shape): (usize, &ulpgate::ir::Shape)| {
            let values = (0..shape.elements()).map(|at| element(number, at)).collect();
            Tensor::new(shape.dims(), Data::F32(values))
        };
        let arguments: Vec<Tensor> = program.entry().parameter_shapes().into_iter().enumerate().map(argument).collect();
        let expected: Vec<f64> = expected.split_whitespace().map(|value| value.parse().unwrap()).collect();
        let [machine, truth] = both("cpu/f32/as-compiled", &program, &arguments);
        assert_eq!(machine, std::slice::from_ref(&expected), "the machine: {name}");
        // Over the real numbers nothing is rounded.
        if !name.starts_with("reduce-precision") {
            assert_eq!(truth, [expected], "the truth: {name}");
        }
        count += 1;
    }
    assert_eq!(count, 78);
}

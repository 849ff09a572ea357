//! Texts that the grammar has room for and no program means: parameters that are not numbered 0, 1, 2, ..., an attribute that stands
//! twice, a layout that no array of these dimensions has. Each is refused with its place.

use proptest::prelude::*;
use proptest::sample::Index;
use ulpgate::hlo::ast::{Instruction, Layout, Module, Operands, Shape};
use ulpgate::hlo::parse;

use super::files::FILES;

/// The error of a line, which begins at line 3, column 3.
fn error(line: &str) -> String {
    let text = format!("HloModule m\ne {{\n  {line}\n}}\n");
    parse(&text).err().map_or_else(|| "none".to_string(), |error| error.to_string())
}

#[test]
fn parameters_are_numbered_from_0_without_gap_or_double() {
    assert_eq!(
        error("x = f32[] parameter(0) y = f32[] parameter(0)"),
        "line 3, column 26: a parameter before this one in its computation has the number 0 too"
    );
    assert_eq!(
        error("x = f32[] parameter(0) y = f32[] parameter(2)"),
        "line 3, column 26: this is parameter 2, and its computation has no parameter 1"
    );
    assert_eq!(
        error("x = f32[] parameter(1)"),
        "line 3, column 3: this is parameter 1, and its computation has no parameter 0"
    );
    let most = u64::MAX;
    assert!(error(&format!("x = f32[] parameter({most})")).contains("has no parameter 0"));
    // In any order, and anew in each computation.
    assert_eq!(error("x = f32[] parameter(1) y = f32[] parameter(0)"), "none");
    let two =
        "HloModule m\nf {\n  x = f32[] parameter(0)\n}\ne {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n}\n";
    assert!(parse(two).is_ok());
    let gap = parse(&two.replacen("parameter(0)", "parameter(3)", 1)).unwrap_err();
    assert_eq!((gap.line, gap.column), (3, 3), "{gap}");
}

#[test]
fn an_attribute_stands_once() {
    let twice = "the attribute \"dimensions\" stands here a second time";
    assert_eq!(
        error("x = f32[2] parameter(0) y = f32[2] reverse(x), dimensions={0}, dimensions={0}"),
        format!("line 3, column 66: {twice}")
    );
    let of = |text: &str| parse(text).unwrap_err().to_string();
    let header = "HloModule m, is_scheduled=true,\n is_scheduled=false\ne { x = f32[] parameter(0) }";
    assert_eq!(of(header), "line 2, column 2: the attribute \"is_scheduled\" stands here a second time");
    let computation = "HloModule m\ne { x = f32[] parameter(0) }, execution_thread=\"a\", execution_thread=\"a\"";
    assert_eq!(of(computation), "line 2, column 53: the attribute \"execution_thread\" stands here a second time");
}

#[test]
fn layouts_are_of_their_arrays() {
    let cases = [
        ("f32[2,3]{0}", 11, "this layout orders 1 dimension, and the array has 2 dimensions"),
        ("f32[2,3]{2,1,0}", 11, "this layout orders 3 dimensions, and the array has 2 dimensions"),
        ("f32[]{0}", 8, "this layout orders 1 dimension, and the array has 0 dimensions"),
        ("f32[2,3]{1,1}", 11, "this layout orders dimension 1 twice"),
        ("f32[2,3]{2,0}", 11, "this layout orders dimension 2, and the array has 2 dimensions, from 0"),
        (
            "f32[2,3]{18446744073709551615,0}",
            11,
            "this layout orders dimension 18446744073709551615, and the array has 2 dimensions, from 0",
        ),
        ("f32[2]{0:T(0)}", 12, "a tile has no size 0"),
        ("f32[2]{0:T(8)(0,2)}", 15, "a tile has no size 0"),
        ("f32[2]{0:T(8,0)}", 12, "a tile has no size 0"),
        ("f32[2]{0:T()}", 12, "a tile's size is a number from 1 or \"*\", not \"\""),
        ("f32[2]{0:T(*,-8)}", 12, "a tile's size is a number from 1 or \"*\", not \"-8\""),
        ("f32[2]{0:T(8,)}", 12, "a tile's size is a number from 1 or \"*\", not \"\""),
        ("f32[2]{0:T(8)S(1)T(8)}", 19, "the part \"T\" of this layout stands here a second time"),
        ("f32[2]{0:S(1)S(2)}", 15, "the part \"S\" of this layout stands here a second time"),
    ];
    for (shape, column, why) in cases {
        // Of an instruction, of an operand, of a tuple, of a signature and of the header.
        let expected = format!("line 3, column {}: {why}", column + 5);
        assert_eq!(error(&format!("x = {shape} parameter(0)")), expected);
        let operand = format!("y = f32[2] parameter(0) x = f32[2] negate({shape} y)");
        assert_eq!(error(&operand), format!("line 3, column {}: {why}", column + 43), "{shape}");
        assert_eq!(
            error(&format!("x = (s32[], {shape}) parameter(0)")),
            format!("line 3, column {}: {why}", column + 13)
        );
        let signature = format!("HloModule m\ne (x: {shape}) -> f32[] {{ x = f32[] parameter(0) }}");
        assert_eq!(parse(&signature).unwrap_err().to_string(), format!("line 2, column {}: {why}", column + 5));
        let header = "HloModule m, entry_computation_layout={(";
        let header = format!("{header}{shape})->f32[]}}\ne {{ x = f32[] parameter(0) }}");
        assert_eq!(parse(&header).unwrap_err().to_string(), format!("line 1, column {}: {why}", column + 39));
    }
    let fine = [
        "f32[2,3]{0,1}",
        "f32[2,3]{:T(8,128)}",
        "f32[]{}",
        "f32[]{:T(128)S(6)}",
        "f32[2]{0:T(8,128)(2,1)S(1)}",
        "f32[2]{0:T(*,128)}",
    ];
    for shape in fine {
        assert_eq!(error(&format!("x = {shape} parameter(0)")), "none", "{shape}");
    }
}

#[test]
fn long_names_are_cut_in_errors() {
    let name = "n".repeat(100_000);
    for line in [
        format!("x = f32[] negate({name})"),
        format!("x = f32[] {name}({name})"),
        format!("{name} = f32[] parameter(0) {name} = f32[] parameter(1)"),
        format!("x = {name}[] parameter(0)"),
        format!("x = {name} parameter(0)"),
        format!("x = f32[] parameter(0), {name}=1, {name}=1"),
        format!("x = f32[] call(), to_apply={name}"),
        format!("x = f32[2]{{0:T({name})}} parameter(0)"),
    ] {
        let error = error(&line);
        assert!(error.len() < 500 && error.contains("more characters"), "{error}");
    }
}

/// All arrays' layouts that order something, of an instruction's type.
fn layouts(shape: &mut Shape) -> Vec<&mut Layout> {
    match shape {
        Shape::Array { layout, .. } => layout.iter_mut().filter(|layout| !layout.minor_to_major.is_empty()).collect(),
        Shape::Tuple(parts) => parts.iter_mut().flat_map(layouts).collect(),
    }
}

/// Makes a module that no compiler writes; whether there was a place for it.
fn spoil(module: &mut Module, how: usize, at: &Index) -> bool {
    let mut all: Vec<&mut Instruction> = module.computations.iter_mut().flat_map(|c| &mut c.instructions).collect();
    let is_place = |instruction: &mut Instruction| match how {
        0 => !instruction.attributes.is_empty(),
        1 => !layouts(&mut instruction.shape).is_empty(),
        _ => matches!(instruction.operands, Operands::Number(_)),
    };
    all.retain_mut(|instruction| is_place(instruction));
    if all.is_empty() {
        return false;
    }
    let at = at.index(all.len());
    let instruction = &mut *all[at];
    match how {
        0 => instruction.attributes.push(instruction.attributes[0].clone()),
        1 => {
            let order = &mut layouts(&mut instruction.shape).remove(0).minor_to_major;
            order.push(order[0]);
        }
        _ => {
            if let Operands::Number(number) = &mut instruction.operands {
                *number += 1000;
            }
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// In every file, at every place.
    #[test]
    fn a_spoiled_file_is_refused(which in any::<Index>(), how in 0..3usize, at in any::<Index>()) {
        let mut module = parse(&FILES[which.index(FILES.len())].1).unwrap();
        prop_assert!(parse(&module.to_string()).is_ok());
        if spoil(&mut module, how, &at) {
            let error = parse(&module.to_string()).unwrap_err();
            let said = ["a second time", "this layout orders", "has no parameter"][how];
            prop_assert!(error.message.contains(said), "{}", error);
        }
    }
}

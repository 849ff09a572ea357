//! Masks that hide other places than the program's.

use crate::ir::{Op, Program, ValueId};
use crate::subject::evaluate;
use crate::tensor::{DType, Data, Tensor};

use super::argument_readings::rows_of;
use super::evidence::{Evidence, Pattern, Runner, budget};
use super::marked::with_operand;

/// Other masks than `shown` [..., rows, columns]: what they do, and the elements that they show.
fn variants(shown: &[bool], dims: &[usize]) -> Vec<(String, Vec<bool>)> {
    let [.., rows, columns] = *dims else { return Vec::new() };
    let matrix = rows * columns;
    let with = |of: &dyn Fn(usize, usize, usize) -> bool| -> Vec<bool> {
        (0..shown.len()).map(|at| of(at / matrix * matrix, at % matrix / columns, at % columns)).collect()
    };
    let at = |start: usize, row: usize, column: usize| shown[start + row * columns + column];
    let mut found: Vec<(String, Vec<bool>)> = Vec::new();
    let mut offer = |does: &str, other: Vec<bool>| found.push((does.to_string(), other));
    offer("hides one place more of a row", with(&|s, row, column| column + 1 < columns && at(s, row, column + 1)));
    offer("shows one place more of a row", with(&|s, row, column| column == 0 || at(s, row, column - 1)));
    offer("hides nothing", vec![true; shown.len()]);
    offer("shows what it should hide, and hides the rest", shown.iter().map(|shown| !shown).collect());
    offer("has each row one place later", with(&|s, row, column| at(s, (row + rows - 1) % rows, column)));
    offer("has each row one place earlier", with(&|s, row, column| at(s, (row + 1) % rows, column)));
    // Alike in each batch: a mask that differs from batch to batch is read as it stands above.
    let is_alike = (0..shown.len()).all(|place| shown[place] == shown[place % matrix]);
    if is_alike {
        for (does, other) in moved_edges(&|row, column| at(0, row, column), [rows, columns]) {
            offer(does, with(&|_, row, column| other[row * columns + column]));
        }
    }
    if rows == columns {
        offer("is transposed", with(&|s, row, column| at(s, column, row)));
    }
    if rows > 1 {
        for width in windows(columns) {
            // The last row's own place is the last column.
            let is_inside =
                |row: usize, column: usize| column + rows <= row + columns && row + columns < column + rows + width;
            let does = format!("hides what is {width} places or more before a row's own");
            offer(&does, with(&|s, row, column| at(s, row, column) && is_inside(row, column)));
            // A window of the program that is missing, or of another width.
            let does = format!("shows the {width} places up to a row's own, and no others");
            offer(&does, with(&|_, row, column| is_inside(row, column)));
        }
        let does = "hides nothing that is up to a row's own place, and all behind it";
        offer(does, with(&|_, row, column| column + rows <= row + columns));
    }
    found.retain(|(_, other)| other != shown);
    found
}

/// Masks whose stretch of shown places begins or ends one place further in each row, as bands do that are told by `<` in the place
/// of `<=`. None where a row shows more than one stretch.
fn moved_edges(shown: &dyn Fn(usize, usize) -> bool, [rows, columns]: [usize; 2]) -> Vec<(&'static str, Vec<bool>)> {
    let stretch = |row: usize| {
        let places: Vec<usize> = (0..columns).filter(|column| shown(row, *column)).collect();
        let (first, last) = (*places.first()?, *places.last()?);
        (last - first + 1 == places.len()).then_some([first, last])
    };
    let Some(stretches) = (0..rows).map(stretch).collect::<Option<Vec<_>>>() else { return Vec::new() };
    let with = |of: &dyn Fn([usize; 2]) -> [usize; 2]| -> Vec<bool> {
        let row = |ends: &[usize; 2]| {
            let [first, last] = of(*ends);
            (0..columns).map(|column| (first..=last).contains(&column)).collect::<Vec<bool>>()
        };
        stretches.iter().flat_map(row).collect()
    };
    vec![
        ("shows the place behind those of each row too", with(&|[first, last]| [first, last + 1])),
        ("shows the place before those of each row too", with(&|[first, last]| [first.saturating_sub(1), last])),
        ("hides the first place of each row's", with(&|[first, last]| [first + usize::from(first < last), last])),
    ]
}

/// Widths of a window that are tried: each of a short row, up to a few places beside the powers of two of a long one.
fn windows(columns: usize) -> Vec<usize> {
    let is_tried = |width: &usize| *width <= 16 || (width - 1).is_power_of_two() || width.is_power_of_two();
    (1..columns).filter(is_tried).collect()
}

/// A mask of the program, the predicate of a `select`, that hides other places: in all rows of the result or in those that stand out.
pub(super) fn masks(evidence: &Evidence) -> Option<Pattern> {
    let program = evidence.ground.program;
    let mut runner = Runner { evidence, left: budget(evidence) };
    let mut best: Option<Pattern> = None;
    let entry = program.entry();
    for (id, instruction) in entry.instructions.iter().enumerate().filter(|(_, i)| i.op == Op::Select) {
        let predicate = instruction.operands[0];
        let dims = entry.instructions[predicate].shape.dims().to_vec();
        if dims.len() < 2 {
            continue;
        }
        let Some(shown) = value_of(evidence, predicate) else { continue };
        let masked = with_operand(program, id, 0);
        for (does, other) in variants(&shown, &dims) {
            let mut arguments = evidence.ground.arguments.to_vec();
            arguments.push(Tensor::new(&dims, Data::Pred(other)));
            let Some(values) = runner.run(&masked, &arguments) else { return best };
            let (mixed, rows) = rows_of(evidence, &values);
            let whole = evidence.least_share(&values);
            // One number of a row is near to anything.
            let of_rows = if evidence.columns() > 1 { evidence.least_share(&mixed) } else { whole };
            // Each row on its own is the more special fault.
            let is_whole = whole > of_rows - 0.01;
            let explained = whole.max(of_rows);
            if best.as_ref().is_none_or(|best| explained > best.explained) {
                let name = &instruction.name;
                let listed: Vec<String> = rows.iter().take(8).map(|row| evidence.line_text(true, *row)).collect();
                let says = match rows.as_slice() {
                    _ if is_whole => format!("the mask of {name} {does}"),
                    [_] => format!("the mask of {name} {does}, in row {}", listed.join("")),
                    _ => format!("the mask of {name} {does}, in {} rows: {}", rows.len(), listed.join(", ")),
                };
                let places = if is_whole { Vec::new() } else { rows.into_iter().take(32).collect() };
                best = Some(Pattern { kind: "mask", says, explained, places, factor: None });
            }
        }
    }
    best
}

/// A predicate of the program's entry for the arguments.
fn value_of(evidence: &Evidence, predicate: ValueId) -> Option<Vec<bool>> {
    let mut program: Program = evidence.ground.program.clone();
    let entry = program.entry;
    program.computations[entry].root = predicate;
    program.output_names = vec!["mask".to_string()];
    let values = evaluate(&program, &evidence.member.mode, evidence.ground.arguments).ok()?;
    let values = values.first().filter(|tensor| tensor.dtype() == DType::Pred)?;
    Some((0..values.len()).map(|at| values.data().get_i64(at) != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows over four places, written out: of two a row sees its own place and the one before.
    #[test]
    fn windows_are_as_wide_as_they_say() {
        let causal: Vec<bool> = (0..16).map(|at| at % 4 <= at / 4).collect();
        let of = |shown: &[bool], does: &str| {
            let found = variants(shown, &[4, 4]);
            let (_, mask) = found.into_iter().find(|(other, _)| *other == does).unwrap();
            mask.chunks(4).map(|row| row.iter().map(|shown| if *shown { 'x' } else { '.' }).collect()).collect()
        };
        let two: Vec<String> = of(&causal, "hides what is 2 places or more before a row's own");
        assert_eq!(two, ["x...", "xx..", ".xx.", "..xx"]);
        let alone: Vec<String> = of(&[true; 16], "shows the 1 places up to a row's own, and no others");
        assert_eq!(alone, ["x...", ".x..", "..x.", "...x"]);
    }

    #[test]
    fn a_band_has_edges_that_move() {
        let band = |row: usize, column: usize| column <= row && row < column + 2;
        let found = moved_edges(&band, [3, 3]);
        let of = |part: &str| found.iter().find(|(does, _)| does.contains(part)).map(|(_, mask)| mask.clone()).unwrap();
        assert_eq!(of("behind"), [true, true, false, true, true, true, false, true, true]);
        assert_eq!(of("before"), [true, false, false, true, true, false, true, true, true]);
        assert_eq!(of("hides"), [true, false, false, false, true, false, false, false, true]);
        assert!(moved_edges(&|_, column| column != 1, [3, 3]).is_empty(), "two stretches");
    }

    #[test]
    fn a_causal_mask_has_the_masks_that_people_write() {
        let causal = [true, false, false, true, true, false, true, true, true];
        let found = variants(&causal, &[3, 3]);
        let of = |does: &str| found.iter().find(|(other, _)| *other == does).map(|(_, mask)| mask.clone()).unwrap();
        let strict = [false, false, false, true, false, false, true, true, false];
        assert_eq!(of("hides one place more of a row"), strict);
        assert_eq!(of("shows one place more of a row"), [true, true, false, true, true, true, true, true, true]);
        assert_eq!(of("is transposed"), [true, true, true, false, true, true, false, false, true]);
        assert!(variants(&[true; 4], &[2, 2]).iter().all(|(does, _)| *does != "hides nothing"));
    }
}

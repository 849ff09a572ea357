//! An independent count of roundings: by the lines of both files, without anything that reads HLO here.

use std::collections::BTreeMap;
use std::fs;

use ulpgate::diff::{Difference, difference, outcomes};
use ulpgate::machine::Mode;

use super::{data, import, inputs_of, text};

/// Counts of the numbers that a file rounds to a type below f32, by type: elements of conversions from a wider type, of
/// `reduce-precision`, and of arithmetic in the type itself.
fn roundings(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line.trim_start().trim_start_matches("ROOT ").split_once(" = ") else { continue };
        let Some((shape, call)) = rest.split_once(' ') else { continue };
        let Some((dtype, dims)) = shape.split_once('[') else { continue };
        types.insert(name.trim_start_matches('%'), dtype);
        let Some((opcode, operands)) = call.split_once('(') else { continue };
        let dims = dims.split_once(']').unwrap().0;
        let elements: usize =
            dims.split(',').filter(|dim| !dim.is_empty()).map(|dim| dim.parse::<usize>().unwrap()).product();
        let operand = operands.split([',', ')']).next().unwrap().rsplit(' ').next().unwrap().trim_start_matches('%');
        let from = types.get(operand).copied().unwrap_or_default();
        let is_narrow = matches!(dtype, "bf16" | "f16" | "f8e4m3fn" | "f8e5m2");
        let to = match opcode {
            "convert" if is_narrow && from != dtype && from.starts_with(['f', 'b']) => dtype.to_string(),
            "reduce-precision" => {
                call.split("exponent_bits=").nth(1).unwrap().split(", metadata").next().unwrap().to_string()
            }
            "add" | "subtract" | "multiply" | "divide" | "exponential" | "log" | "tanh" | "rsqrt" | "sqrt"
            | "logistic" | "power" | "dot" | "convolution"
                if is_narrow =>
            {
                dtype.to_string()
            }
            _ => continue,
        };
        *counts.entry(to).or_insert(0) += elements;
    }
    counts
}

#[test]
fn roundings_are_counted_in_lines() {
    let text = "ENTRY %main {\n  %x = f32[2,3]{1,0} parameter(0)\n  %n = bf16[2,3]{1,0:T(8,128)} convert(%x), metadata={}\n  %w = \
                f32[2,3] convert(%n)\n  ROOT r = bf16[6] add(a, b)\n  p = f32[4]{0} reduce-precision(w), exponent_bits=8, \
                mantissa_bits=7, metadata={}\n}\n";
    let expected = [("8, mantissa_bits=7".to_string(), 4), ("bf16".to_string(), 12)];
    assert_eq!(roundings(text), BTreeMap::from(expected));
}

/// Two files give the same bits if one rounds fewer numbers than the other and no line says so.
#[test]
fn silence_about_fewer_roundings_is_right() {
    let (mut counted, mut run) = (0, 0);
    for chip in ["cpu", "tpu/v4", "tpu/v5e", "tpu/v6e", "tpu/tpu7x"] {
        let mode: Mode = match chip.strip_prefix("tpu/") {
            Some(generation) => format!("{generation}/default/as-compiled"),
            None => "xla-cpu/default/as-compiled".to_string(),
        }
        .parse()
        .unwrap();
        for entry in fs::read_dir(data().join(chip)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let Some(program) = file.strip_suffix(".excess_off.hlo") else { continue };
            let texts = ["excess_off", "excess_on"].map(|which| text(&format!("{chip}/{program}.{which}")));
            let [off, on] = texts.each_ref().map(|text| roundings(text));
            let [one, other] = texts.each_ref().map(|text| import(text));
            let found = difference(&one, &other, Some(mode.chip)).unwrap();
            counted += usize::from(off != on);
            if off == on || found != Difference::default() {
                continue;
            }
            run += 1;
            let changed =
                outcomes(&one, &other, [&mode, &mode], &inputs_of(&format!("cpu/{program}")), None, &mut |_| {})
                    .unwrap();
            assert!(changed.is_empty(), "{chip}/{program}: {off:?} {on:?} {changed:?}");
        }
    }
    assert!(counted > 50 && run > 0, "{counted} pairs with other roundings, {run} silent ones run");
}

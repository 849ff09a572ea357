//! A result that differs has a change upstream of it.

use std::path::Path;

use ulpgate::diff::{Outcome, difference, outcomes};
use ulpgate::file::safetensors;
use ulpgate::hlo::{Import, lower, parse};
use ulpgate::machine::Mode;

use super::{lines, of_texts};

/// Two results that share nothing, two of one sum, one of a loop, and one that nothing else touches.
const SEVERAL: &str = "HloModule m
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  c = f32[4] get-tuple-element(s), index=1
  inner = f32[4] exponential(c)
  ROOT t = (s32[], f32[4]) tuple(next, inner)
}
condition {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT p = pred[] compare(i, three), direction=LT
}
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  left = f32[4] exponential(x)
  right = f32[4] exponential(y)
  n = f32[4] negate(x)
  twice = f32[4] multiply(left, x)
  other = f32[4] add(left, y)
  zero = s32[] constant(0)
  start = (s32[], f32[4]) tuple(zero, n)
  loop = (s32[], f32[4]) while(start), condition=condition, body=body
  last = f32[4] get-tuple-element(loop), index=1
  ROOT r = (f32[4], f32[4], f32[4], f32[4], f32[4]) tuple(twice, right, other, last, n)
}
";

#[test]
fn a_change_reaches_the_results_below_it_alone() {
    let edits: [(&str, &str, [bool; 5]); 6] = [
        ("right = f32[4] exponential(y)", "right = f32[4] tanh(y)", [false, true, false, false, false]),
        ("left = f32[4] exponential(x)", "left = f32[4] tanh(x)", [true, false, true, false, false]),
        ("other = f32[4] add(left, y)", "other = f32[4] subtract(left, y)", [false, false, true, false, false]),
        ("inner = f32[4] exponential(c)", "inner = f32[4] tanh(c)", [false, false, false, true, false]),
        ("three = s32[] constant(3)", "three = s32[] constant(4)", [false, false, false, true, false]),
        (
            "right = f32[4] exponential(y)",
            "b = bf16[4] convert(y)\n  z = f32[4] convert(b)\n  right = f32[4] exponential(z)",
            [false, true, false, false, false],
        ),
    ];
    for (from, to, reached) in edits {
        let edited = SEVERAL.replace(from, to);
        assert_ne!(edited, SEVERAL);
        for found in [of_texts(SEVERAL, &edited), of_texts(&edited, SEVERAL)] {
            assert!(!found.decides_nothing(), "{to}");
            // What is told of y, a rounding for one reader, may reach what else is made of y.
            let is_wider = to.contains("bf16");
            for (result, (got, due)) in found.reached.iter().zip(reached).enumerate() {
                assert!(
                    *got == due || is_wider && *got && [1, 2].contains(&result),
                    "{to}: {result}: {:?}",
                    lines(&found)
                );
            }
        }
    }
    assert!(of_texts(SEVERAL, SEVERAL).reached.is_empty());
    // An attribute that the machine does not follow reaches nothing.
    let attribute = SEVERAL.replace("right = f32[4] exponential(y)", "right = f32[4] exponential(y), colour=red");
    assert_eq!(of_texts(SEVERAL, &attribute).reached, [false; 5]);
}

/// One value that two fusions compute: the change is told once, of the first.
#[test]
fn a_change_of_a_value_reaches_the_results_of_all_its_copies() {
    let text = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  s = f32[4] add(x, y)\n  \
                b = bf16[4] convert(s)\n  w = f32[4] convert(b)\n  t = f32[4] add(x, y)\n  c = bf16[4] convert(t)\n  \
                v = f32[4] convert(c)\n  e = f32[4] exponential(w)\n  f = f32[4] tanh(v)\n  ROOT r = (f32[4], f32[4]) tuple(e, f)\n}\n";
    let wide = text.replace("exponential(w)", "exponential(s)").replace("tanh(v)", "tanh(t)");
    for found in [of_texts(text, &wide), of_texts(&wide, text)] {
        assert_eq!(found.reached, [true, true], "{:?}", lines(&found));
    }
}

fn import(path: &Path) -> Option<Import> {
    lower(&parse(&std::fs::read_to_string(path).ok()?).ok()?).ok()
}

/// Of all dumps that have inputs, no result differs that nothing told reaches.
#[test]
fn every_result_that_differs_has_a_change_upstream() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (mut differing, mut reached) = (0, 0);
    for folder in ["hlo/cpu", "hlo_more"] {
        let mut names: Vec<String> = std::fs::read_dir(data.join(folder))
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().to_str()?.strip_suffix(".inputs.safetensors").map(str::to_string)
            })
            .collect();
        names.sort();
        for name in names {
            let files: Vec<(String, Import)> = ["before", "excess_off", "excess_on"]
                .into_iter()
                .filter_map(|which| {
                    let file = data.join(folder).join(format!("{name}.{which}.hlo"));
                    Some((which.to_string(), import(&file)?))
                })
                .collect();
            let given = safetensors::read(&data.join(folder).join(format!("{name}.inputs.safetensors"))).unwrap();
            for chip in ["xla-cpu", "v5e"] {
                let mode: Mode = format!("{chip}/default/as-compiled").parse().unwrap();
                for (one, before) in &files {
                    let Ok(inputs) = ulpgate::evaluation::bind(before, &given) else { continue };
                    if inputs.iter().map(|tensor| tensor.len()).sum::<usize>() > 1 << 16 {
                        continue;
                    }
                    for (other, after) in files.iter().filter(|(other, _)| other > one) {
                        let Ok(found) = difference(before, after, Some(mode.chip)) else { continue };
                        let Ok(told) = outcomes(before, after, [&mode, &mode], &inputs, None, &mut |_| {}) else {
                            continue;
                        };
                        let which: Vec<usize> =
                            told.iter().filter(|o: &&Outcome| o.differing > 0).map(|o| o.result).collect();
                        let open = found.first_unreached(which.iter().copied());
                        assert_eq!(open, None, "{name}: {one} against {other} on {chip}: {:?}", lines(&found));
                        differing += which.len();
                        reached += found.reached.iter().filter(|reached| **reached).count();
                    }
                }
            }
        }
    }
    assert!(differing > 20 && reached >= differing, "{differing} {reached}");
}

//! Flipped tokens: the share of each operation, and what turns them back.

use std::path::Path;

use ulpgate::file::safetensors;
use ulpgate::hlo::{Sources, parse};
use ulpgate::ir::{Class, Op, Program};
use ulpgate::machine::{LocalErrors, Mode};
use ulpgate::rewrite::keep_wide;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};
use ulpgate::why::{Explanation, Operation, ProgramOnMachine, Undone, explain, find_flips, tops, undo};

use crate::worlds::program;

const CPU: &str = "cpu/f32/as-compiled";

/// The explanations of all flipped rows of the first result, with what turned them back.
#[track_caller]
fn explained(program: &Program, mode: &str, arguments: &[Tensor]) -> Vec<(Explanation, Undone)> {
    let mode: Mode = mode.parse().unwrap();
    let setting = ProgramOnMachine { program, mode: &mode, scores: 0 };
    let tops = tops(program, 0, arguments, &mut |_| {}).unwrap();
    let found = find_flips(&setting, arguments, &tops).unwrap();
    assert_eq!(found.undecided, 0);
    let all = explain(&setting, arguments, &found.flips).unwrap();
    all.into_iter().map(|one| (one.clone(), undo(&setting, arguments, &one, 12).unwrap())).collect()
}

fn name(program: &Program, (computation, id): Operation) -> &str {
    &program.computations[computation].instructions[id].name
}

/// The names of the lines and what they change, in order.
fn lines<'p>(program: &'p Program, explanation: &Explanation) -> Vec<(&'p str, f64)> {
    let operation = |line: &ulpgate::why::Line| (line.place.computation, line.place.instruction);
    explanation.lines.iter().map(|line| (name(program, operation(line)), line.change)).collect()
}

fn bf16s(dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(dims, Data::from_f64s(DType::BF16, values).unwrap())
}

/// Ten operations that round, nine of them nothing: the sum is stored as bf16.
const ONE_CULPRIT: &str = "HloModule m

ENTRY e {
  x = bf16[1,2]{1,0} parameter(0)
  two = bf16[] constant(2)
  twos = bf16[1,2]{1,0} broadcast(two), dimensions={}
  quarter = bf16[] constant(0.25)
  quarters = bf16[1,2]{1,0} broadcast(quarter), dimensions={}
  large = bf16[1,2]{1,0} constant({ { 2, 0 } })
  doubled = bf16[1,2]{1,0} multiply(x, twos)
  again = bf16[1,2]{1,0} multiply(doubled, twos)
  less = bf16[1,2]{1,0} multiply(again, quarters)
  negated = bf16[1,2]{1,0} negate(less)
  back = bf16[1,2]{1,0} negate(negated)
  moved = bf16[1,2]{1,0} add(back, large)
  wide = f32[1,2]{1,0} convert(moved)
  widequarters = f32[1,2]{1,0} convert(quarters)
  quartered = f32[1,2]{1,0} multiply(wide, widequarters)
  largest = f32[1,2]{1,0} maximum(quartered, widequarters)
  ROOT out = f32[1,2]{1,0} divide(largest, widequarters)
}
";

#[test]
fn the_one_rounding_that_matters_is_found_and_turned_back() {
    let program = program(ONE_CULPRIT);
    // 2 + 1.0078125 is rounded to 3, the second column's: a tie, of which the first is named, as in truth.
    assert!(explained(&program, CPU, &[bf16s(&[1, 2], &[1.0078125, 3.0])]).is_empty());
    // 2 + 0.99609375 is rounded to 3 as well, but in truth it is less.
    let found = explained(&program, CPU, &[bf16s(&[1, 2], &[0.99609375, 3.0])]);
    let [(explanation, undone)] = &found[..] else { panic!("{found:?}") };
    assert_eq!([explanation.flip.exact, explanation.flip.emitted], [1, 0]);
    assert_eq!([explanation.exact_margin, explanation.machine_margin], [0.00390625, 0.0]);
    assert_eq!(lines(&program, explanation), [("moved", -0.00390625)]);
    let kept = &undone.fewest.as_ref().unwrap().kept;
    assert_eq!(kept.iter().map(|operation| name(&program, *operation)).collect::<Vec<_>>(), ["moved"]);
    let [trial] = &undone.trials[..] else { panic!("{undone:?}") };
    assert_eq!((trial.emitted, trial.margin, trial.expected), (1, 0.00390625, 0.00390625));
}

/// A rounding that is left out may fall due at the next operation: then the run says that nothing is won.
#[test]
fn a_rounding_that_only_moves_on_turns_nothing_back() {
    let text = ONE_CULPRIT.replace(
        "wide = f32[1,2]{1,0} convert(moved)",
        "next = bf16[1,2]{1,0} multiply(moved, twos)
  wide = f32[1,2]{1,0} convert(next)",
    );
    let program = program(&text);
    let found = explained(&program, CPU, &[bf16s(&[1, 2], &[0.99609375, 3.0])]);
    let [(explanation, undone)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(lines(&program, explanation), [("moved", -0.0078125)]);
    let [trial] = &undone.trials[..] else { panic!("{undone:?}") };
    assert_eq!((trial.emitted, trial.margin, trial.expected), (0, 0.0, 0.0078125));
    assert_eq!(undone.fewest, None);
}

/// Of linear operations behind the errors the shares add up to the whole.
#[test]
fn shares_of_a_linear_program_are_the_whole() {
    let program = program(
        "HloModule m

ENTRY e {
  x = bf16[4,8]{1,0} parameter(0)
  a = bf16[8,8]{1,0} parameter(1)
  b = bf16[8,5]{1,0} parameter(2)
  h = bf16[4,8]{1,0} dot(x, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = bf16[4,8]{1,0} add(h, x)
  n = bf16[4,8]{1,0} subtract(s, h)
  t = bf16[4,8]{1,0} add(n, s)
  ROOT out = bf16[4,5]{1,0} dot(t, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
",
    );
    let drawn = |count: usize, step: f64| (0..count).map(|i| (i as f64 * step).sin()).collect::<Vec<f64>>();
    let mut flipped = 0;
    for draw in 0..60 {
        let step = 1.3 + 0.37 * f64::from(draw);
        // Columns of b that nearly agree, so that tokens flip.
        let near = |i: usize| (i / 5) as f64 * step + 0.004 * (i % 5) as f64;
        let b: Vec<f64> = (0..40).map(|i| near(i).cos()).collect();
        let arguments = [bf16s(&[4, 8], &drawn(32, step)), bf16s(&[8, 8], &drawn(64, 2.0 * step)), bf16s(&[8, 5], &b)];
        for (explanation, undone) in explained(&program, CPU, &arguments) {
            let (sum, whole) = (explanation.sum(), explanation.whole());
            assert!((sum - whole).abs() < 1e-12, "{sum} and {whole}");
            assert!(whole < 0.0 && !undone.trials.is_empty(), "{undone:?}");
            flipped += 1;
        }
    }
    assert!(flipped > 20, "{flipped}");
}

/// One trip of a loop adds what bf16 rounds away: the line names it.
#[test]
fn a_trip_of_a_loop_is_named() {
    let program = program(
        "HloModule m

body {
  state = (s32[], bf16[1,2]{1,0}, bf16[4,1,2]{2,1,0}) parameter(0)
  at = s32[] get-tuple-element(state), index=0
  x = bf16[1,2]{1,0} get-tuple-element(state), index=1
  all = bf16[4,1,2]{2,1,0} get-tuple-element(state), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(at, one)
  own = bf16[1,1,2]{2,1,0} dynamic-slice(all, at, zero, zero), dynamic_slice_sizes={1,1,2}
  flat = bf16[1,2]{1,0} reshape(own)
  sum = bf16[1,2]{1,0} add(x, flat)
  ROOT new = (s32[], bf16[1,2]{1,0}, bf16[4,1,2]{2,1,0}) tuple(next, sum, all)
}

condition {
  state = (s32[], bf16[1,2]{1,0}, bf16[4,1,2]{2,1,0}) parameter(0)
  at = s32[] get-tuple-element(state), index=0
  four = s32[] constant(4)
  ROOT more = pred[] compare(at, four), direction=LT
}

ENTRY e {
  x = bf16[1,2]{1,0} parameter(0)
  all = bf16[4,1,2]{2,1,0} parameter(1)
  zero = s32[] constant(0)
  state = (s32[], bf16[1,2]{1,0}, bf16[4,1,2]{2,1,0}) tuple(zero, x, all)
  done = (s32[], bf16[1,2]{1,0}, bf16[4,1,2]{2,1,0}) while(state), condition=condition, body=body
  ROOT out = bf16[1,2]{1,0} get-tuple-element(done), index=1
}
",
    );
    // Trip 2 adds 0.0078125 to the second column's 2 and loses it.
    let all = bf16s(&[4, 1, 2], &[0.5, 0.5, 0.5, 0.5, 0.0, 0.00390625, 1.0, 1.0]);
    let found = explained(&program, CPU, &[bf16s(&[1, 2], &[1.0, 1.0]), all]);
    let [(explanation, undone)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(lines(&program, explanation), [("sum", -0.00390625)]);
    let path = &explanation.lines[0].place.path;
    assert_eq!(path.iter().map(|(_, trip)| *trip).collect::<Vec<_>>(), [Some(2)]);
    // The state of the loop, its start and its result are f32 then.
    assert_eq!(undone.trials.len(), 1);
    assert_eq!((undone.trials[0].emitted, undone.trials[0].margin), (1, 0.00390625));
}

/// A value that is no float has no error, and a float's bits are those of its declared type in f64 as well.
#[test]
fn bits_are_read_in_the_declared_type() {
    let program = program(
        "HloModule m

ENTRY e {
  x = f32[3]{0} parameter(0)
  third = f32[] constant(0.33333334)
  thirds = f32[3]{0} broadcast(third), dimensions={}
  product = f32[3]{0} multiply(x, thirds)
  bits = u32[3]{0} bitcast-convert(product)
  one = u32[] constant(1)
  ones = u32[3]{0} broadcast(one), dimensions={}
  up = u32[3]{0} add(bits, ones)
  ROOT next = f32[3]{0} bitcast-convert(up)
}
",
    );
    let x = [1.0f32, 5.0, 7.25];
    let errors =
        LocalErrors::new(&program, &CPU.parse::<Mode>().unwrap(), &[Tensor::new(&[3], Data::F32(x.to_vec()))], 0);
    let errors = errors.unwrap();
    let next: Vec<f64> = x.iter().map(|x| f64::from((x * 0.333_333_34_f32).next_up())).collect();
    assert_eq!((&errors.on_machine, &errors.in_f64), (&next, &next));
    assert_eq!(errors.errors.len(), 1, "only the product rounds");
    let (without, effects) = errors.effects(<[f64]>::to_vec).unwrap();
    assert_eq!((without, &effects[..]), (next.clone(), &[next][..]));
}

/// Any operations of any of the dumps may be kept wide: what comes of it is a program.
#[test]
fn what_is_kept_wide_in_dumps_is_a_program() {
    let mut count = 0;
    for folder in ["hlo_more", "language_model", "language_model/cpu", "language_model/tpu/v5e"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder);
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "hlo")) {
            let program = program(&std::fs::read_to_string(&path).unwrap());
            let all: Vec<Operation> = (0..program.computations.len())
                .filter(|c| !program.computations[*c].takes_scalars() || *c == program.entry)
                .flat_map(|c| (0..program.computations[c].instructions.len()).map(move |id| (c, id)))
                .filter(|(c, id)| {
                    let instruction = &program.computations[*c].instructions[*id];
                    let class = instruction.op.class();
                    instruction.shape.dtype().is_some_and(DType::is_float)
                        && matches!(class, Class::Elementwise | Class::Combines | Class::Converts)
                })
                .collect();
            // All of them, every third, and each of a few alone.
            let thirds = all.iter().copied().step_by(3).collect();
            let alone = all.iter().copied().step_by(9).map(|one| vec![one]);
            for kept in [all.clone(), thirds].into_iter().chain(alone) {
                let wide = keep_wide(&program, &kept.iter().copied().collect());
                let wide = wide.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
                assert_eq!(wide.outputs().len(), program.outputs().len());
                count += 1;
            }
            assert_eq!(keep_wide(&program, &[].into()).unwrap(), program, "{}", path.display());
        }
    }
    assert!(count > 100, "{count}");
}

/// A flip of the committed decoder, as compiled for v5e: of 64 positions one, whose shares are nearly linear.
#[test]
fn a_flip_of_a_decoder_is_explained_and_turned_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/language_model");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let text = read("tpu/v5e/prefill.excess_on.hlo");
    let module = parse(&text).unwrap();
    let (program, truth) = (program(&text), program(&read("prefill.before.hlo")));
    let weights = safetensors::read(&folder.join("decoder.safetensors")).unwrap();
    let tokens = safetensors::read_one(&folder.join("tokens.safetensors"), "held_out").unwrap();
    let mut arguments = vec![tokens.rows(64..128)];
    for parameter in 1..12 {
        let mut all = program.entry().instructions.iter();
        let own = all.find(|i| i.op == Op::Parameter(parameter)).unwrap().name.split('.').next().unwrap();
        arguments.push(weights.iter().find(|(name, _)| name == own).unwrap().1.clone());
    }
    let mode: Mode = "v5e/default/as-compiled".parse().unwrap();
    let program = subject::compile(&program, &mode);
    let setting = ProgramOnMachine { program: &program, mode: &mode, scores: 0 };
    let tops = tops(&truth, 0, &arguments, &mut |_| {}).unwrap();
    let found = find_flips(&setting, &arguments, &tops).unwrap();
    assert_eq!(
        found.flips.iter().map(|flip| (flip.row, flip.exact, flip.emitted)).collect::<Vec<_>>(),
        [(55, 115, 173)]
    );
    let explained = explain(&setting, &arguments, &found.flips).unwrap();
    let explanation = &explained[0];
    let linear = explanation.sum() / explanation.whole();
    assert!((0.95..1.05).contains(&linear), "{linear}");
    // Four layers, and what comes behind them.
    let trips = explanation.lines.iter().map(|line| line.place.path.first().and_then(|(_, trip)| *trip));
    let trips: std::collections::BTreeSet<_> = trips.collect();
    assert_eq!(trips.into_iter().collect::<Vec<_>>(), [None, Some(0), Some(1), Some(2), Some(3)]);
    let undone = undo(&setting, &arguments, explanation, 12).unwrap();
    let fewest = undone.fewest.unwrap();
    assert!(fewest.is_explained(115) && fewest.margin > 0.0, "{fewest:?}");
    // Each line has its place in the user's program.
    let sources = Sources::new(&module);
    let top = &explanation.lines[0].place;
    let fusion = name(&program, (top.computation, top.instruction)).split('/').next().unwrap();
    let top = sources.instruction(fusion).unwrap();
    assert_eq!(sources.place(top).unwrap(), "decoder.py:47 in rope");
}

/// Runs `hlo why` on [`ONE_CULPRIT`] with two more rows; the exit code and what it prints.
fn run(name: &str, rows: &[f64], arguments: &[&str]) -> (i32, String, String) {
    let place = |what: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hlo_why-{name}.{what}"));
    let (file, inputs) = (place("hlo"), place("safetensors"));
    std::fs::write(&file, ONE_CULPRIT).unwrap();
    safetensors::write(&inputs, &[("points".to_string(), bf16s(&[rows.len() / 2, 2], rows))]).unwrap();
    let [file, inputs] = [file.to_str().unwrap(), inputs.to_str().unwrap()];
    let given = ["hlo", "why", file, "--inputs", inputs, "--bind", "x=points", "--mode", CPU];
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(given).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ran.status.code().unwrap(), text(ran.stdout), text(ran.stderr))
}

#[test]
fn the_command_says_why_or_why_not() {
    let rows = [1.0, 1.0, 0.99609375, 3.0, 0.5, 1.0];
    let (code, out, _) = run("one", &rows, &["--windows", "3", "--row", "1", "--keep", "moved", "--keep", "quartered"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.starts_with("1 of 3 rows name another token than the truth\nrow 1: token 1 in truth, 0 on the machine\n")
    );
    for line in [
        "   100.0 %   -0.003906     3.906e-3     -  moved add bf16[1,2]\n",
        "  run with moved kept wide: token 1, margin 0.003906 (0.003906 by the table): turned back\n",
        "    moved add bf16[1,2] -> as f32[1,2], and read so\n",
        "kept wide `moved`, 1 operations: 0 of 3 rows\n",
        "kept wide `quartered`, 1 operations: 1 of 3 rows\n",
        "Next: --keep moved counts the flips of all rows",
    ] {
        assert!(out.contains(line), "{line}{out}");
    }
    let (_, out, _) = run("next", &rows, &["--windows", "3"]);
    assert!(out.contains("Next: the same command with --row 1 says which operations flipped that row"), "{out}");
    let (code, out, _) = run("json", &rows, &["--windows", "3", "--every", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &value["explained"][0]["fewest"]), (1, &serde_json::json!(["moved"])), "{out}");
    assert_eq!(run("none", &rows, &[]).0, 0);
    for (arguments, why) in [
        (["--windows", "4"], "has 3 rows; 4 windows of 1 are asked for"),
        (["--row", "0"], "row 0 is not flipped; of 1 rows none is"),
        (["--keep", "norm"], "no operation has `norm`"),
        (["--scores", "logits"], "there is no result `logits`"),
    ] {
        let (code, _, err) = run(arguments[0].trim_start_matches('-'), &rows, &arguments);
        assert!(code == 2 && err.contains(why), "{arguments:?}: {err}");
    }
}

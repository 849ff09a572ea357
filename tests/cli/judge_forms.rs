//! The forms of files and further arguments that `ulpgate judge` takes.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, Ran};

const PROGRAM: &str = "HloModule m, entry_computation_layout={(f32[4,8]{1,0}, f32[8,2]{1,0})->f32[4,2]{1,0}}
ENTRY main {
  x.1 = f32[4,8]{1,0} parameter(0)
  w.1 = f32[8,2]{1,0} parameter(1)
  ROOT y = f32[4,2]{1,0} dot(x.1, w.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
";

/// The same as a compiler may make it: one half of the products after the other.
const COMPILED: &str = "HloModule m, is_scheduled=true, entry_computation_layout={(f32[4,8]{1,0}, f32[8,2]{1,0})->f32[4,2]{1,0}}
ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  w = f32[8,2]{1,0} parameter(1)
  x0 = f32[4,4]{1,0} slice(x), slice={[0:4], [0:4]}
  x1 = f32[4,4]{1,0} slice(x), slice={[0:4], [4:8]}
  w0 = f32[4,2]{1,0} slice(w), slice={[0:4], [0:2]}
  w1 = f32[4,2]{1,0} slice(w), slice={[4:8], [0:2]}
  y0 = f32[4,2]{1,0} dot(x0, w0), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
  y1 = f32[4,2]{1,0} dot(x1, w1), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
  ROOT y = f32[4,2]{1,0} add(y0, y1)
}
";

fn tensor(dims: [usize; 2], values: &[f32]) -> Tensor {
    Tensor::new(&dims, Data::F32(values.to_vec()))
}

fn x() -> Vec<f32> {
    (0..32).map(|at| ((at * 7919) % 1009) as f32 / 503.0 - 1.0).collect()
}

fn w() -> Vec<f32> {
    (0..16).map(|at| ((at * 31 + 5) % 97) as f32 / 41.0 - 1.0).collect()
}

/// The product, each sum from left to right.
fn product() -> Vec<f32> {
    let (x, w) = (x(), w());
    (0..8).map(|at| (0..8).fold(0.0, |sum, k| sum + x[at / 2 * 8 + k] * w[k * 2 + at % 2])).collect()
}

/// An array as `numpy.save` writes it.
fn npy(dims: [usize; 2], values: &[f32]) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", dims[0], dims[1]);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(118u16.to_le_bytes());
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn folder() -> Folder {
    let folder = Folder::new(&[]);
    folder.write("m.hlo", PROGRAM);
    folder.write("compiled.hlo", COMPILED);
    // By the names of the parameters, without the number behind them.
    let inputs = [("x".to_string(), tensor([4, 8], &x())), ("w".to_string(), tensor([8, 2], &w()))];
    safetensors::write(&folder.path("inputs.safetensors"), &inputs).unwrap();
    folder
}

fn run(folder: &Folder, code: i32, results: &str, more: &[&str]) -> Ran {
    let mut arguments = vec!["judge", results, "--program", "m.hlo", "--inputs", "inputs.safetensors", "--chip", "v5e"];
    arguments.extend(more);
    folder.exits(code, &arguments)
}

#[test]
fn judge_reads_safetensors_and_npy() {
    let folder = folder();
    let mut wrong = product();
    wrong[3] += 0.5;
    for (values, code, word) in [(product(), 0, ""), (wrong, 1, "OUTSIDE")] {
        let array = [("out0".to_string(), tensor([4, 2], &values))];
        safetensors::write(&folder.path("y.safetensors"), &array).unwrap();
        fs::write(folder.path("y.npy"), npy([4, 2], &values)).unwrap();
        for file in ["y.safetensors", "y.npy"] {
            let said = run(&folder, code, file, &[]).out;
            assert!(said.contains(word) && said.contains("f32[4,2]"), "{file}: {said}");
        }
    }
    fs::write(folder.path("y.npy"), npy([2, 4], &product())).unwrap();
    assert!(run(&folder, 2, "y.npy", &[]).err.contains("y is f32[2,4], but the program has f32[4,2]"));
    assert!(run(&folder, 2, "y.txt", &[]).err.contains("no .safetensors, .npz or .npy file"));
}

/// A reader with a GPU is told what to name; one who named a chip is not.
#[test]
fn judge_says_that_the_nearest_of_all_chips_is_no_gpu() {
    let folder = folder();
    // Honest: every element one unit in the last place off.
    let values: Vec<f32> = product().iter().map(|value| value.next_up()).collect();
    fs::write(folder.path("y.npy"), npy([4, 2], &values)).unwrap();
    let told = "none of these is a GPU; results of a GPU are held to `--mode cpu/highest/off`";
    let all = folder.ran(&["judge", "y.npy", "--program", "m.hlo", "--inputs", "inputs.safetensors"]).out;
    assert!(all.contains("nearest: ") && all.contains(told), "{all}");
    for more in [["--chip", "v5e"], ["--mode", "v5e/highest/off"]] {
        let arguments =
            [&["judge", "y.npy", "--program", "m.hlo", "--inputs", "inputs.safetensors"][..], &more].concat();
        let one = folder.ran(&arguments).out;
        assert!(one.contains("nearest: ") && !one.contains("GPU"), "{one}");
    }
}

/// The compiled file is run as it stands, and named where its bits are those of the result.
#[test]
fn judge_names_the_compiled_file() {
    let folder = folder();
    let made = ["hlo", "eval", "compiled.hlo", "--inputs", "arguments.safetensors", "--out", "y.safetensors"];
    let inputs = [("arg0".to_string(), tensor([4, 8], &x())), ("arg1".to_string(), tensor([8, 2], &w()))];
    safetensors::write(&folder.path("arguments.safetensors"), &inputs).unwrap();
    folder.exits(0, &made);
    let said = run(&folder, 0, "y.safetensors", &["--compiled", "compiled.hlo"]).out;
    assert!(said.contains("of the compiled file"), "{said}");
    folder.write("narrow.hlo", "HloModule n, is_scheduled=true\nENTRY main { ROOT x = f32[4,8]{1,0} parameter(0) }");
    let err = run(&folder, 2, "y.safetensors", &["--compiled", "narrow.hlo"]).err;
    assert!(
        err.contains("narrow.hlo: the compiled program takes and gives f32[4,8], f32[4,8], and the program"),
        "{err}"
    );
}

/// Tokens are held to the scores that were recorded beside them.
#[test]
fn judge_holds_tokens_to_recorded_scores() {
    let folder = Folder::new(&[]);
    folder.write(
        "m.hlo",
        "HloModule head\nbetter { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) \
        j = s32[] parameter(3) g = pred[] compare(a, b), direction=GE v = f32[] select(g, a, b) \
        k = s32[] select(g, i, j) ROOT r = (f32[], s32[]) tuple(v, k) }\n\
        ENTRY main { x = f32[4,8] parameter(0) at = s32[4,8] iota(), iota_dimension=1 \
        least = f32[] constant(-inf) zero = s32[] constant(0) \
        best = (f32[4], s32[4]) reduce(x, at, least, zero), dimensions={1}, to_apply=better \
        ROOT token = s32[4] get-tuple-element(best), index=1 }",
    );
    let inputs = [("x".to_string(), tensor([4, 8], &x()))];
    safetensors::write(&folder.path("inputs.safetensors"), &inputs).unwrap();
    let best = |row: &[f32]| (0..8).fold(0, |best, at| if row[at] > row[best] { at } else { best }) as i32;
    let tokens: Vec<i32> = x().chunks(8).map(best).collect();
    let mut scores = x();
    for (edit, code, word) in [(0.0, 0, "BITS"), (9.0, 1, "1 token is not the largest of the scores beside")] {
        scores[8 + (tokens[1] as usize + 1) % 8] += edit;
        let arrays = [
            ("logits".to_string(), tensor([4, 8], &scores)),
            ("token".to_string(), Tensor::new(&[4], Data::S32(tokens.clone()))),
        ];
        safetensors::write(&folder.path("y.safetensors"), &arrays).unwrap();
        let more = ["--map", "token=out0", "--tokens", "token", "--scores", "logits"];
        let said = run(&folder, code, "y.safetensors", &more).out;
        assert!(said.contains(word), "{said}");
    }
    // A token that no place of its row is.
    let beyond: Vec<i32> = [&tokens[..3], &[99]].concat();
    let arrays =
        [("logits".to_string(), tensor([4, 8], &x())), ("token".to_string(), Tensor::new(&[4], Data::S32(beyond)))];
    safetensors::write(&folder.path("beyond.safetensors"), &arrays).unwrap();
    let said = run(&folder, 1, "beyond.safetensors", &["--map", "token=out0", "--scores", "logits"]).out;
    assert!(
        said.contains("1 token is not the largest of the scores beside; element [3] is behind by inf ulp"),
        "{said}"
    );
    let more = ["--map", "token=out0", "--scores", "none"];
    assert!(run(&folder, 2, "y.safetensors", &more).err.contains("no array is called `none`; there are logits, token"));
}

/// A setting that no result follows, a result that two arrays claim to be, and results without an element: nothing of these is judged,
/// and nothing passes.
#[test]
fn judge_refuses_settings_that_decide_nothing() {
    let folder = folder();
    let y = tensor([4, 2], &product());
    // One array more than the program takes: which of them are its arguments is not known.
    let three = [
        ("p".to_string(), tensor([4, 8], &x())),
        ("q".to_string(), tensor([8, 2], &w())),
        ("r".to_string(), y.clone()),
    ];
    safetensors::write(&folder.path("three.safetensors"), &three).unwrap();
    let judging =
        ["judge", "three.safetensors", "--program", "m.hlo", "--inputs", "three.safetensors", "--map", "r=out0"];
    assert!(folder.exits(2, &judging).err.contains("is missing, which must be f32[4,8]; there is p, q, r"));
    let arrays = [("out0".to_string(), y.clone()), ("other".to_string(), y)];
    safetensors::write(&folder.path("y.safetensors"), &arrays).unwrap();
    run(&folder, 0, "y.safetensors", &["--map", "other=out0"]);
    for map in [["out0=out0", "other=out0"], ["other=out0", "other=out0"]] {
        let err = run(&folder, 2, "y.safetensors", &["--map", map[0], "--map", map[1]]).err;
        assert!(err.contains(&format!("--map {}: {} is given as well", map[1], map[0])), "{err}");
    }
    let err = run(&folder, 2, "y.safetensors", &["--scores", "other"]).err;
    assert!(err.contains("--scores: no recorded result is of tokens"), "{err}");
    folder.write("m.hlo", &PROGRAM.replace("f32[4,", "f32[0,"));
    let none = |columns: usize| Tensor::new(&[0, columns], Data::F32(Vec::new()));
    let inputs = [("x".to_string(), none(8)), ("w".to_string(), tensor([8, 2], &w()))];
    safetensors::write(&folder.path("inputs.safetensors"), &inputs).unwrap();
    safetensors::write(&folder.path("y.safetensors"), &[("out0".to_string(), none(2))]).unwrap();
    assert!(run(&folder, 2, "y.safetensors", &[]).err.contains("there is nothing to judge"));
    let layers = ["layers", "y.safetensors", "y.safetensors", "--program", "m.hlo", "--inputs", "inputs.safetensors"];
    assert!(folder.exits(2, &layers).err.contains("there is nothing to judge"));
}

/// The name of an array is of one line: behind its end another verdict could stand.
#[test]
fn names_of_arrays_are_told_on_one_line() {
    let folder = folder();
    let mut wrong = product();
    wrong[3] += 0.5;
    let array = [("out0 f32[4,2]: BITS\nout1".to_string(), tensor([4, 2], &wrong))];
    safetensors::write(&folder.path("y.safetensors"), &array).unwrap();
    let said = run(&folder, 1, "y.safetensors", &[]).out;
    assert!(said.starts_with("out0 (out0 f32[4,2]: BITS\\u000aout1) f32[4,2]: OUTSIDE\n"), "{said}");
    let both = ["layers", "y.safetensors", "y.safetensors", "--program", "m.hlo", "--inputs", "inputs.safetensors"];
    let named = [("out0".to_string(), tensor([4, 2], &wrong)), array[0].clone()];
    safetensors::write(&folder.path("y.safetensors"), &named).unwrap();
    let said = folder.exits(1, &both).out;
    assert!(said.contains("BITS\\u000aout1") && !said.contains("\nout1"), "{said}");
}

/// Answers of `ulpgate probe` name their modes here as well.
#[test]
fn judge_names_the_modes_of_answers() {
    let folder = Folder::new(&[]);
    let answers = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/probe/jax_cpu.npz");
    let [own, judged] = [["probe", "--answers", answers], ["judge", answers, "--probe"]].map(|arguments| {
        let ran = folder.exits(1, &arguments);
        assert!(ran.out.contains("questions answered"), "{}", ran.out);
        ran.out
    });
    assert_eq!(own, judged);
    assert!(folder.exits(2, &["judge", answers]).err.contains("--program"));
    assert!(folder.exits(2, &["judge", answers, "--probe", "--tokens", "x"]).err.contains("cannot be used with"));
}

/// A file of 6 GiB, of which one small array is a result, in an address space of 2 GB: the others are not read.
#[cfg(target_os = "linux")]
#[test]
fn judge_reads_one_array_of_a_file_that_memory_has_no_room_for() {
    const LATER: u64 = 6 << 30;
    let folder = folder();
    let values: Vec<u8> = product().iter().flat_map(|value| value.to_le_bytes()).collect();
    let end = 32 + LATER;
    let header = format!(
        r#"{{"out0":{{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]}},"later":{{"dtype":"F32","shape":[{}],"data_offsets":[32,{end}]}}}}"#,
        LATER / 4
    );
    let mut file = File::create(folder.path("large.safetensors")).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.write_all(&values).unwrap();
    file.set_len(8 + header.len() as u64 + end).unwrap();
    let command =
        "ulimit -v 2000000; exec \"$0\" judge large.safetensors --program m.hlo --inputs inputs.safetensors --chip v5e";
    let output = Command::new("sh")
        .args(["-c", command, env!("CARGO_BIN_EXE_ulpgate")])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A file of another format is read, and its reader says what it is: no built-in program is called that.
#[test]
fn a_file_that_holds_stablehlo_is_told_as_that() {
    let folder = folder();
    fs::write(folder.path("y.npy"), npy([4, 2], &product())).unwrap();
    folder.write("m.mlir", "module @m { func.func public @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> { return %arg0 : tensor<4x8xf32> } }");
    let err = folder.exits(2, &["judge", "y.npy", "--program", "m.mlir", "--inputs", "inputs.safetensors"]).err;
    assert!(err.contains("m.mlir") && err.contains("StableHLO") && !err.contains("unknown program"), "{err}");
}

/// Integers at the end of all have neither a sum nor a successor: the searches for other arguments say what they find all the same.
#[test]
fn arguments_at_the_end_of_all_integers_are_judged() {
    let folder = folder();
    folder.write("m.hlo", "HloModule m\nENTRY e {\n  q = s64[16] parameter(0)\n  ROOT y = f32[16] convert(q)\n}\n");
    let numbers = (0..16).map(|at| i64::MAX - at % 2).collect();
    safetensors::write(
        &folder.path("inputs.safetensors"),
        &[("q".to_string(), Tensor::new(&[16], Data::S64(numbers)))],
    )
    .unwrap();
    let wrong = (0..16).map(|at| ((at * 7919) % 1009 - 500) as f32 * 1e16).collect();
    let wrong = Tensor::new(&[16], Data::F32(wrong));
    safetensors::write(&folder.path("y.safetensors"), &[("out0".to_string(), wrong)]).unwrap();
    assert!(run(&folder, 1, "y.safetensors", &[]).out.contains("OUTSIDE"));
}

/// A safetensors file has its arrays by their names: of two results of one shape a position would exchange them unseen.
#[test]
fn arrays_that_are_sorted_by_name_have_no_position() {
    let folder = folder();
    let text = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  n = f32[4] negate(x)\n  ROOT r = (f32[4], f32[4]) tuple(x, n)\n}\n";
    folder.write("m.hlo", text);
    let of = |sign: f32| Tensor::new(&[4], Data::F32([1.0, 2.0, 3.0, 4.0].map(|x| sign * x).to_vec()));
    let write = |name: &str, arrays: &[(&str, f32)]| {
        let named: Vec<(String, Tensor)> = arrays.iter().map(|(name, sign)| (name.to_string(), of(*sign))).collect();
        safetensors::write(&folder.path(name), &named).unwrap();
    };
    write("inputs.safetensors", &[("x", 1.0)]);
    // The first result is called p, and the second n.
    write("y.safetensors", &[("n", -1.0), ("p", 1.0)]);
    let err = run(&folder, 2, "y.safetensors", &[]).err;
    assert!(err.contains("its arrays (n, p)") && err.contains("--map n=out0 --map p=out1"), "{err}");
    let mapped = run(&folder, 0, "y.safetensors", &["--map", "p=out0", "--map", "n=out1"]).out;
    assert_eq!(mapped.matches(": BITS").count(), 2, "{mapped}");
    // So it is with arguments.
    folder.write("m.hlo", "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT r = f32[4] subtract(x, y)\n}\n");
    write("inputs.safetensors", &[("first", 1.0), ("another", -1.0)]);
    let err = run(&folder, 2, "y.safetensors", &["--map", "p=out0"]).err;
    assert!(err.contains("its arrays (") && err.contains("naming them arg0 to arg1"), "{err}");
}

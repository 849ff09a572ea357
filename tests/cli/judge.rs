//! Results from elsewhere, with a key: honest ones in other orders and precisions, and faulty ones.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use serde::Deserialize;
use serde_json::Value;
use ulpgate::file::npz;
use ulpgate::hlo::{lower_with_libraries, parse};
use ulpgate::judge::{Judged, JudgedResult, Recording, Settings, Verdict, bind, judge, judge_each};
use ulpgate::subject::evaluate;
use ulpgate::tensor::{Data, Tensor};

use super::schema::Schema;
use super::{Folder, Ran};

/// A recording of `tests/data/judge`.
#[derive(Deserialize)]
pub struct Case {
    pub program: String,
    pub array: String,
    pub outside: bool,
    pub what: String,
    pub mode: Option<String>,
}

/// A file of `tests/data/judge`.
pub fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/judge")).join(name)
}

/// All of them.
pub fn cases() -> Vec<Case> {
    serde_json::from_str(&std::fs::read_to_string(file("key.json")).unwrap()).unwrap()
}

/// Judgements by the name of the recording.
type ByArray = BTreeMap<String, Judged>;

/// The judgement of one. What is known of a program is computed once, for all recordings of it that the key has.
pub fn judged(case: &Case) -> Judged {
    static KNOWN: Mutex<BTreeMap<String, Arc<OnceLock<ByArray>>>> = Mutex::new(BTreeMap::new());
    let alike: Vec<String> = cases()
        .into_iter()
        .filter(|one| one.program == case.program && one.mode == case.mode)
        .map(|one| one.array)
        .collect();
    if !alike.contains(&case.array) {
        return judged_at_once(case, std::slice::from_ref(&case.array)).remove(&case.array).unwrap();
    }
    let known = KNOWN.lock().unwrap().entry(format!("{} {:?}", case.program, case.mode)).or_default().clone();
    known.get_or_init(|| judged_at_once(case, &alike))[&case.array].clone()
}

/// The judgements of these arrays of a case's program, held to its mode.
fn judged_at_once(case: &Case, arrays: &[String]) -> ByArray {
    let text = std::fs::read_to_string(file(&format!("{}.hlo", case.program))).unwrap();
    let import = lower_with_libraries(&parse(&text).unwrap()).unwrap();
    let inputs = Recording::open(&file(&format!("{}.inputs.npz", case.program))).unwrap();
    let arguments = bind(&import.program, &import.argument_names, &[inputs]).unwrap();
    let recording = |array: &String| {
        let all = Recording::open(&file(&format!("{}.results.npz", case.program))).unwrap();
        all.map(vec![(array.clone(), "out0".to_string())])
    };
    let recordings: Vec<Recording> = arrays.iter().map(recording).collect();
    let settings = Settings { mode: case.mode.as_ref().map(|mode| mode.parse().unwrap()), ..Settings::default() };
    let all = judge_each(&import.program, &arguments, &recordings, &settings).unwrap();
    arrays.iter().cloned().zip(all).collect()
}

/// A precision below the named one is outside although it is a mode's own bits; one above conforms.
#[test]
fn the_named_mode_restricts_what_is_permitted() {
    let of = |array: &str, mode: Option<&str>| {
        let mode = mode.map(str::to_string);
        judged(&Case {
            program: "matmul_f32".to_string(),
            array: array.to_string(),
            outside: false,
            what: String::new(),
            mode,
        })
    };
    let (highest, default) = (Some("v5e/highest/off"), Some("v5e/default/off"));
    assert_ne!(of("h_one", None).verdict(), Verdict::Outside);
    assert_ne!(of("h_one", default).verdict(), Verdict::Outside);
    assert_eq!(of("h_one", highest).verdict(), Verdict::Outside);
    assert_ne!(of("h_f64", default).verdict(), Verdict::Outside);
    // An honest result errs about as much as the mode that it is of, a more accurate one far less.
    let ratio = |array, mode| of(array, mode).results.remove(0).ratio.unwrap();
    assert!((0.3..3.0).contains(&ratio("h_pair", highest)), "{}", ratio("h_pair", highest));
}

/// Of a large matmul a block is judged in every mode and all elements by the mode that explains it: a fault anywhere is seen.
#[test]
fn a_large_matmul_is_judged_by_a_block_and_by_all_elements() {
    let text = "HloModule large\nENTRY main { x = f32[96,100] parameter(0) y = f32[100,80] parameter(1) \
        ROOT z = f32[96,80] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let drawn = |dims: [usize; 2], salt: usize| {
        let value = |at: usize| ((at + salt) * 7919 % 1009) as f32 / 503.0 - 1.0 + (at * 31 % 97) as f32 * 1e-4;
        Tensor::new(&dims, Data::F32((0..dims[0] * dims[1]).map(value).collect()))
    };
    let arguments = [drawn([96, 100], 1), drawn([100, 80], 5)];
    let judged = |values: Vec<f32>, block_from: Option<u128>| {
        let recording = Recording::of_arrays(vec![("out0".to_string(), Tensor::new(&[96, 80], Data::F32(values)))]);
        let mode = Some("v5e/highest/off".parse().unwrap());
        let settings = Settings { mode, block_from, ..Settings::default() };
        judge(&import.program, &arguments, &recording, &settings).unwrap().results.remove(0)
    };
    let run =
        |mode: &str| evaluate(&import.program, &mode.parse().unwrap(), &arguments).unwrap().remove(0).data().to_f32s();
    let is_sampled =
        |one: &JudgedResult| one.because.iter().any(|why| why.contains("64 rows and 64 columns were judged"));
    let own = judged(run("v5e/highest/off"), Some(1000));
    assert!(own.verdict == Verdict::Bits && is_sampled(&own) && own.shape == "f32[96,80]", "{own:?}");
    // Sums from right to left, in f32: no mode's own bits, and honest.
    let [x, y] = arguments.each_ref().map(|tensor| tensor.data().to_f32s());
    let sum = |at: usize| (0..100).rev().fold(0f32, |sum, k| sum + x[at / 80 * 100 + k] * y[k * 80 + at % 80]);
    let honest: Vec<f32> = (0..96 * 80).map(sum).collect();
    let found = judged(honest.clone(), Some(1000));
    assert!(found.verdict == Verdict::Conforming && is_sampled(&found), "{found:?}");
    let nearest = found.nearest.unwrap();
    assert_eq!(nearest.differences.of, 96 * 80);
    assert!(!["exact", "pairwise", "high"].iter().any(|slow| nearest.mode.contains(slow)), "{}", nearest.mode);
    let whole = judged(honest.clone(), None);
    assert!(whole.verdict != Verdict::Outside && !is_sampled(&whole), "{whole:?}");
    // Neither row 2 nor column 4 is of the block: one element there, and a factor of the row.
    let mut one = honest.clone();
    one[164] += 0.01;
    let mut row = honest.clone();
    row[160..240].iter_mut().for_each(|value| *value *= 1.0005);
    for faulty in [one, row] {
        let found = judged(faulty, Some(1000));
        assert!(found.verdict == Verdict::Outside && !is_sampled(&found), "{found:?}");
    }
    assert_eq!(judged(run("v5e/default/off"), Some(1000)).verdict, Verdict::Outside);
}

/// Of one number some term of the sum explains any difference: that is no fault.
#[test]
fn a_sum_in_another_order_has_no_fault_that_a_fit_alone_shows() {
    let text = "HloModule sum\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n\
        ENTRY main { x = f32[768] parameter(0) zero = f32[] constant(0) \
        ROOT z = f32[] reduce(x, zero), dimensions={0}, to_apply=add }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let values: Vec<f32> = (0..768).map(|at| (at * 7919 % 1009) as f32 / 503.0 - 0.9).collect();
    let arguments = [Tensor::new(&[768], Data::F32(values.clone()))];
    let mut conforming = 0;
    for lanes in [3, 5, 7, 11, 13, 24] {
        let lane = |at: usize| values.iter().skip(at).step_by(lanes).fold(0f32, |sum, x| sum + x);
        let sum = (0..lanes).map(lane).fold(0f32, |sum, x| sum + x);
        let recording = Recording::of_arrays(vec![("out0".to_string(), Tensor::new(&[], Data::F32(vec![sum])))]);
        let found = judge(&import.program, &arguments, &recording, &Settings::default()).unwrap();
        assert_ne!(found.verdict(), Verdict::Outside, "{lanes} lanes: {found:?}");
        conforming += usize::from(found.verdict() == Verdict::Conforming);
    }
    assert!(conforming > 1, "{conforming}");
}

/// The sum of a product whose operands have eleven bits, as those of TF32, is between the precisions of a TPU. Of one number some
/// term explains any difference.
#[test]
fn one_number_between_the_modes_has_no_fault_that_a_fit_alone_shows() {
    let text = "HloModule loss\nadd { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n\
        ENTRY main { x = f32[16,64] parameter(0) y = f32[64,16] parameter(1) zero = f32[] constant(0) \
        product = f32[16,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} \
        ROOT z = f32[] reduce(product, zero), dimensions={0,1}, to_apply=add }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let drawn = |salt: usize| -> Vec<f32> {
        (0..1024).map(|at| ((at + salt) * 7919 % 1009) as f32 / 503.0 - 0.9 + (at * 31 % 97) as f32 * 1e-4).collect()
    };
    let (x, y) = (drawn(1), drawn(5));
    let arguments = [(&x, [16, 64]), (&y, [64, 16])].map(|(v, dims)| Tensor::new(&dims, Data::F32(v.clone())));
    let tf32 = |v: f32| f32::from_bits((v.to_bits() + 0xfff + (v.to_bits() >> 13 & 1)) & !0x1fff);
    let sum = (0..256).fold(0f32, |sum, at| {
        sum + (0..64).fold(0f32, |sum, k| sum + tf32(x[at / 16 * 64 + k]) * tf32(y[k * 16 + at % 16]))
    });
    let recording = Recording::of_arrays(vec![("out0".to_string(), Tensor::new(&[], Data::F32(vec![sum])))]);
    let found = judge(&import.program, &arguments, &recording, &Settings::default()).unwrap();
    assert_eq!(found.verdict(), Verdict::Conforming, "{found:?}");
    assert!(found.results[0].because.iter().any(|why| why.contains("permitted mode")), "{found:?}");
}

fn run(folder: &Folder, code: i32, more: &[&str]) -> Ran {
    let (program, inputs) = (file("matmul_f32.hlo"), file("matmul_f32.inputs.npz"));
    let results = file("matmul_f32.results.npz");
    let mut arguments = vec!["judge", results.to_str().unwrap(), "--program", program.to_str().unwrap()];
    arguments.extend(["--inputs", inputs.to_str().unwrap()]);
    arguments.extend(more);
    folder.exits(code, &arguments)
}

/// Figures have their unit in words, and a place is an index.
#[test]
fn lines_say_figures_in_words() {
    let case = cases().into_iter().find(|case| case.array == "x_blas_drop").unwrap();
    let text = judged(&case).lines().join("\n");
    for says in [
        " times that of two orders of sums; 128 of 128 elements differ",
        " times that mode's; absolute at most ",
        " in 99 %; largest ",
        " at [4,13]",
        ": over 128 outputs a factor shows from 1 + ",
        "; so does one missing product of K",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
}

/// Raw bytes of a type that the program does not have are refused by the array's name, the file's once.
#[test]
fn raw_bytes_of_another_type_are_refused() {
    let folder = Folder::new(&[]);
    let program = "HloModule m\nENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] add(x, x) }\n";
    folder.write("m.hlo", program);
    let x = Tensor::new(&[2], Data::F32(vec![1.0, 2.0]));
    let archive = npz::write(&[("x".to_string(), x)]).unwrap();
    std::fs::write(folder.path("in.npz"), archive).unwrap();
    std::fs::write(folder.path("out.npy"), raw_array()).unwrap();
    let err = folder.exits(2, &["judge", "out.npy", "--program", "m.hlo", "--inputs", "in.npz"]).err;
    assert!(err.contains("|V2 (raw bytes, as NumPy saves the types of ml_dtypes; f32 is asked for)"), "{err}");
    assert_eq!(err.matches("out.npy").count(), 1, "{err}");
}

/// Dims of one element may be there or not, in inputs and results; other dims are refused.
#[test]
fn dims_of_one_element_are_no_other_shape() {
    let folder = Folder::new(&[]);
    folder.write("m.hlo", "HloModule m\nENTRY main { x = f32[1,2,3] parameter(0) ROOT y = f32[1,2,3] add(x, x) }\n");
    let array = |dims: &[usize]| Tensor::new(dims, Data::F32((1..7).map(|v| v as f32).collect()));
    let doubled = |dims: &[usize]| Tensor::new(dims, Data::F32((1..7).map(|v| 2.0 * v as f32).collect()));
    let save = |name: &str, key: &str, tensor: Tensor| {
        std::fs::write(folder.path(name), npz::write(&[(key.to_string(), tensor)]).unwrap()).unwrap();
    };
    let judge = ["judge", "out.npz", "--program", "m.hlo", "--inputs", "in.npz"];
    for dims in [&[2, 3][..], &[2, 1, 3], &[1, 2, 3, 1]] {
        save("in.npz", "x", array(dims));
        save("out.npz", "out0", doubled(dims));
        assert!(folder.exits(0, &judge).out.starts_with("out0 f32[1,2,3]: BITS"), "{dims:?}");
    }
    save("out.npz", "out0", doubled(&[3, 2]));
    let err = folder.exits(2, &judge).err;
    assert!(err.contains("out0 is f32[3,2], but the program has f32[1,2,3]"), "{err}");
}

/// Two elements of two raw bytes, as `numpy.save` writes them.
fn raw_array() -> Vec<u8> {
    let header = format!("{:<117}\n", "{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }");
    [b"\x93NUMPY\x01\x00".as_slice(), &118u16.to_le_bytes(), header.as_bytes(), &[0x80, 0x3f, 0, 0x40]].concat()
}

#[test]
fn exit_codes_and_json_say_the_verdict() {
    let folder = Folder::new(&[]);
    let schema = Schema::new(include_str!("../../docs/schema/judge.json"));
    for (array, code, verdict) in [("h_seq", 0, "conforming"), ("x_blas_drop", 1, "outside")] {
        let mapping = format!("{array}=out0");
        let said = run(&folder, code, &["--map", &mapping, "--json"]).out;
        let mut said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(schema.errors(&said), Vec::<String>::new(), "{said}");
        assert!([verdict, "bits"].contains(&said["verdict"].as_str().unwrap()), "{said}");
        said["results"][0]["more"] = Value::Null;
        assert!(!schema.errors(&said).is_empty());
    }
    let told = run(&folder, 1, &["--map", "x_blas_drop=out0", "--junit", "judged.xml", "--github"]).out;
    assert!(
        told.contains("OUTSIDE")
            && told.contains("term 21 of the 64 of dot_general.1 is dropped")
            && told.contains("::error file="),
        "{told}"
    );
    assert!(folder.read("judged.xml").contains("<failure"));
    let unnamed = run(&folder, 2, &[]).err;
    assert!(unnamed.contains("none of its arrays") && unnamed.matches("results.npz").count() == 1, "{unnamed}");
    assert!(run(&folder, 2, &["--map", "nothing=out0"]).err.contains("has no array `nothing`"));
    assert!(run(&folder, 2, &["--map", "h_seq=out7"]).err.contains("the program has no result `out7`"));
    assert!(run(&folder, 2, &["--map", "h_seq=out0", "--tokens", "out0"]).err.contains("tokens are integers"));
}

/// Several recordings of one program are judged as each by itself, in their order.
#[test]
fn recordings_judged_together_are_judged_as_alone() {
    let text = "HloModule sums\nENTRY main { x = f32[4,6] parameter(0) y = f32[6,4] parameter(1) \
        ROOT z = f32[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let drawn = |salt: usize| (0..24).map(|at| ((at + salt) * 7919 % 1009) as f32 / 503.0 - 0.9).collect();
    let arguments = [([4, 6], 1), ([6, 4], 5)].map(|(dims, salt)| Tensor::new(&dims, Data::F32(drawn(salt))));
    let of_mode = |mode: &str| evaluate(&import.program, &mode.parse().unwrap(), &arguments).unwrap().remove(0);
    let (own, coarse) = (of_mode("v5e/highest/off"), of_mode("v5e/default/off"));
    let missing = Tensor::new(&[4, 4], Data::F32(vec![0.0; 16]));
    let recordings = [own, coarse, missing].map(|tensor| Recording::of_arrays(vec![("out0".to_string(), tensor)]));
    let settings = Settings { mode: Some("v5e/highest/off".parse().unwrap()), ..Settings::default() };
    let alone = |recording| judge(&import.program, &arguments, recording, &settings).unwrap();
    let together = judge_each(&import.program, &arguments, &recordings, &settings).unwrap();
    assert_eq!(together, recordings.iter().map(alone).collect::<Vec<_>>());
    let verdicts: Vec<Verdict> = together.iter().map(Judged::verdict).collect();
    assert_eq!(verdicts, [Verdict::Bits, Verdict::Outside, Verdict::Outside]);
}

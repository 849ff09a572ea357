//! Modes named by their answers: emulated ones, and real machines whose answers are committed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use ulpgate::probe::{
    Answers, Candidate, EmulatedAnswers, FILES, GROUPS, Identified, Question, QuestionArithmetic, arithmetic,
    candidates, identify, measure, questions,
};

/// A part of a mode with its value.
type Values = Vec<(&'static str, &'static str)>;

/// The questions of a group.
fn of_group(group: &str) -> Vec<Question> {
    questions().into_iter().filter(|question| question.group == group).collect()
}

/// The bits of the answers of every mode of a group, in the order of its questions, with the arithmetic that each meets.
fn answers_of(group: &str, emulated: &mut EmulatedAnswers) -> Vec<(Candidate, Vec<Vec<u64>>, Vec<QuestionArithmetic>)> {
    let group = GROUPS.iter().find(|row| row.name == group).unwrap();
    let asked = of_group(group.name);
    let mut seen: HashMap<Vec<QuestionArithmetic>, Vec<Vec<u64>>> = HashMap::new();
    let mut all = Vec::new();
    for candidate in candidates(group).unwrap() {
        let met: Vec<QuestionArithmetic> = asked.iter().map(|question| arithmetic(question, &candidate.mode)).collect();
        let bits = seen.entry(met.clone()).or_insert_with(|| {
            let answer = |question: &Question| {
                let data = emulated.answer(question, &candidate.mode).unwrap().clone();
                (0..data.len()).map(|at| data.data().bits(at)).collect()
            };
            asked.iter().map(answer).collect()
        });
        all.push((candidate, bits.clone(), met));
    }
    all
}

/// Matmuls of another arithmetic have other answers, pair by pair.
#[test]
fn every_two_arithmetics_of_a_matmul_are_told_apart() {
    let mut classes: BTreeMap<Vec<Vec<u64>>, HashMap<Vec<QuestionArithmetic>, String>> = BTreeMap::new();
    for (candidate, bits, met) in answers_of("matmul", &mut EmulatedAnswers::default()) {
        classes.entry(bits).or_default().entry(met).or_insert_with(|| candidate.mode.to_string());
    }
    let mut alike: Vec<Vec<&String>> = Vec::new();
    for arithmetics in classes.values().filter(|arithmetics| arithmetics.len() > 1) {
        alike.push(arithmetics.values().collect());
    }
    // One chain is the same whatever the blocks, a chip whose block holds all products has no other order in `block`, and
    // units of plain f32 differ in subnormals alone, which the question of a vector has not.
    let is_one_chain = |mode: &&String| mode.contains("acc=chain") || mode.contains("cpu/");
    let unexplained: Vec<&Vec<&String>> = alike.iter().filter(|class| !class.iter().any(is_one_chain)).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    assert_eq!(alike.len(), 43, "of {} classes so many hold several arithmetics: {alike:?}", classes.len());
    assert!(classes.len() > 150, "{}", classes.len());
}

/// The parts of a mode that the answers of a group tell: all but those of docs/probe.md, "What no answer can tell".
fn told(group: &str, values: &Values) -> Vec<&'static str> {
    let value = |key: &str| values.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| *value);
    match group {
        "sum" => vec![value("reduce")],
        "scan" => vec![value("scan")],
        // 1024 elements are one group of chunks, in which strided and interleaved bins are the same.
        "approx_max_k" => vec![if value("bins") == "interleaved" { "strided" } else { value("bins") }],
        // These policies treat one addition alike, and the order shows where each addition rounds.
        "bf16" => {
            let excess = value("excess");
            let excess = if ["as-compiled", "gpu"].contains(&excess) { "off" } else { excess };
            vec![excess, value("narrow"), if value("narrow") == "bf16" { value("reduce") } else { "" }]
        }
        "function" => {
            let (chip, exp) = (value("chip"), value("exp"));
            let errs = ["seeded", "worst"].contains(&exp);
            // Functions that err by published bounds do so by those of the chip's generation. No bounds are published for a CPU's.
            let (unit, exp) = match chip {
                "cpu" | "xla-cpu" => (chip, if errs { "cr" } else { exp }),
                "v5p" | "v6e" | "tpu7x" if errs => (chip, exp),
                "v6e" | "tpu7x" => ("v6e", exp),
                _ => ("v2", exp),
            };
            vec![unit, exp, if exp == "xla" { value("rsqrt") } else { "" }]
        }
        _ => panic!("{group}"),
    }
}

/// Every mode of every chip, group by group: two of them have the same answers where they are the same in what answers tell, and only
/// there. Matmuls are told apart above.
#[test]
fn every_mode_is_told_from_all_others() {
    let mut emulated = EmulatedAnswers::default();
    let mut modes = 0;
    for group in GROUPS.iter().filter(|group| group.name != "matmul") {
        let (mut by_answers, mut by_parts) = (BTreeMap::new(), BTreeMap::new());
        for (candidate, bits, _) in answers_of(group.name, &mut emulated) {
            let parts = told(group.name, &candidate.values);
            let mode = candidate.mode.to_string();
            let other = by_answers.entry(bits.clone()).or_insert_with(|| (parts.clone(), mode.clone()));
            assert_eq!(other.0, parts, "{}: {mode} and {} have the same answers", group.name, other.1);
            let other = by_parts.entry(parts).or_insert_with(|| (bits.clone(), mode.clone()));
            assert!(other.0 == bits, "{}: {mode} and {} have other answers", group.name, other.1);
            modes += 1;
        }
    }
    assert!(modes > 400, "{modes}");
}

/// All questions at once: a mode's own answers name that mode, whatever is not told apart with it, and nothing else.
#[test]
fn a_mode_is_named_by_its_own_answers() {
    let asked = questions();
    let mut emulated = EmulatedAnswers::default();
    for (text, values, open) in [
        ("v5e/default/off", vec![("chip", "v5e"), ("acc", "block")], vec!["chip", "precision"]),
        ("v6e/highest/off+acc=pairwise", vec![("chip", "v6e"), ("precision", "highest"), ("acc", "pairwise")], vec![]),
        ("tpu7x/high/off+split=rne", vec![("chip", "tpu7x"), ("precision", "high"), ("split", "rne")], vec![]),
        ("v3/default/tpu+acc=trunc", vec![("chip", "v3"), ("acc", "trunc")], vec![]),
        ("v4/default/off+acc=exact+bins=contiguous", vec![("acc", "exact"), ("bins", "contiguous")], vec![]),
        ("cpu/f32/off", vec![("chip", "cpu"), ("reduce", "chain")], vec!["precision"]),
        ("xla-cpu/default/cpu", vec![("chip", "xla-cpu"), ("exp", "xla"), ("scan", "blocked16")], vec!["precision"]),
    ] {
        let answers = Answers::of(&text.parse().unwrap(), &asked).unwrap();
        let Identified { patterns, open: left, .. } = identify(&answers, &asked, &mut emulated).unwrap();
        assert!(patterns.iter().any(|pattern| pattern.holds(&values)), "{text}: {patterns:?}");
        // No other value of what answers tell.
        for (key, value) in values.iter().filter(|(key, _)| *key != "chip" && *key != "acc") {
            let all: BTreeSet<&str> = patterns.iter().flat_map(|pattern| pattern.values(key)).collect();
            assert_eq!(all, BTreeSet::from([*value]), "{text}: {key}");
        }
        if let Some(("acc", own @ ("pairwise" | "exact" | "trunc"))) = values.iter().find(|(key, _)| *key == "acc") {
            let all: BTreeSet<&str> = patterns.iter().flat_map(|pattern| pattern.values("acc")).collect();
            assert_eq!(all, BTreeSet::from([*own]), "{text}");
        }
        for key in open.iter().filter(|key| **key != "chip" && **key != "precision" || text.starts_with("cpu")) {
            assert!(left.contains(key), "{text}: {key} of {left:?}");
        }
    }
}

/// The value of a property.
fn measured(answers: &Answers, of: &str, property: &str) -> String {
    let found = measure(answers).into_iter().find(|row| row.of == of && row.property == property);
    found.unwrap_or_else(|| panic!("{of}: {property}")).value
}

/// Properties of operations, each with the beginning of its value.
#[track_caller]
fn are_measured(answers: &Answers, rows: &[(&str, &str, &str)]) {
    for (of, property, value) in rows {
        let found = measured(answers, of, property);
        assert!(found.starts_with(value), "{of}, {property}: {found}");
    }
}

/// Properties are read off emulated answers as the modes have them.
#[test]
fn properties_are_those_of_the_mode() {
    let asked = questions();
    let block = "blocks of 128, each from zero (one addition after the other), joined in order";
    for (mode, of, property, value) in [
        ("v5e/default/off", "matmul f32 default", "operand bits", "8"),
        ("v5e/default/off", "matmul f32 default", "operand rounding", "to nearest even"),
        ("v5e/default/off", "matmul f32 high", "operand bits", "16"),
        ("v5e/default/off", "matmul f32 highest", "operand bits", "24"),
        ("v5e/default/off", "matmul f32 highest", "accumulator bits", "24"),
        ("v5e/default/off", "matmul f32 highest", "accumulator rounding", "to nearest even"),
        ("v5e/default/off+acc=trunc", "matmul f32 default", "accumulator rounding", "toward zero"),
        ("v5e/default/off", "matmul bf16", "order at K = 1024", block),
        ("v5e/default/off+acc=trunc", "matmul bf16", "order at K = 1024", block),
        ("v5e/default/off", "add f32", "subnormals", "flushed to zero"),
        ("v5e/default/off", "maximum f32", "tie of zeros", "the second of -0 and +0"),
        ("cpu/f32/off", "matmul f32 highest", "products", "rounded before they are added"),
        ("cpu/f32/off", "matmul f32 highest", "subnormal operands", "kept"),
        ("cpu/f32/off", "matmul f32 highest", "subnormal products", "kept"),
        ("cpu/f32/off", "sum f32", "order of 1024", "one addition after the other over all of K"),
        (
            "xla-cpu/default/off",
            "matmul f32 highest",
            "products",
            "join the sum unrounded: fused multiply-adds, in the order of K",
        ),
        (
            "xla-cpu/default/off",
            "sum f32",
            "order of 1024",
            "blocks of 32, each from zero (one addition after the other)",
        ),
    ] {
        let answers = Answers::of(&mode.parse().unwrap(), &asked).unwrap();
        assert!(measured(&answers, of, property).starts_with(value), "{mode}: {}", measured(&answers, of, property));
    }
}

/// XLA:CPU of jax 0.10.2 on x86-64 with AVX-512 and AMX: the emulated XLA:CPU gives what is not a dot or a sum that
/// XLA leaves to a library; of these the order is read.
#[test]
fn xla_on_a_cpu_is_named() {
    let asked = questions();
    let answers = Answers::read(Path::new("tests/data/probe/jax_cpu.npz"), &asked).unwrap();
    assert_eq!(answers.about, "jax 0.10.2 on cpu");
    let identified = identify(&answers, &asked, &mut EmulatedAnswers::default()).unwrap();
    let group = |name: &str| identified.groups.iter().find(|outcome| outcome.group.name == name).unwrap();
    let chips = group("function").patterns.iter().flat_map(|pattern| pattern.values("chip"));
    assert_eq!(chips.collect::<BTreeSet<_>>(), BTreeSet::from(["xla-cpu"]));
    assert!(group("scan").patterns[0].values("scan") == ["blocked16"]);
    assert!(group("bf16").patterns[0].values("excess").contains(&"cpu"));
    assert!(group("bf16").patterns[0].values("narrow") == ["bf16"]);
    are_measured(
        &answers,
        &[
            ("matmul f32 default", "operand bits", "24"),
            ("matmul f32 default", "subnormal operands", "taken for zero"),
            ("matmul f32 default", "accumulator bits", "24"),
            ("matmul f32 default", "products", "join the sum unrounded: fused multiply-adds, in the order of K"),
            ("matmul f32 default", "order at K = 32", "4 lanes, neighbours joined"),
            ("matmul f32 default", "order at K = 256", "one addition after the other over all of K"),
            (
                "matmul bf16",
                "order at K = 256",
                "blocks of 32, each from zero (even and odd terms apart), joined in order",
            ),
            ("sum f32", "order of 1024", "16 lanes, fours in each and their sums the same way, joined by halving"),
        ],
    );
}

/// PyTorch 2.15.0 on the same processor: chains of fused multiply-adds with K cut, sums in four accumulators of eight lanes.
#[test]
fn pytorch_on_a_cpu_is_measured() {
    let asked = questions();
    let answers = Answers::read(Path::new("tests/data/probe/torch_cpu.npz"), &asked).unwrap();
    assert!(answers.about.starts_with("torch 2.15.0"), "{}", answers.about);
    let identified = identify(&answers, &asked, &mut EmulatedAnswers::default()).unwrap();
    assert!(identified.patterns.is_empty(), "{:?}", identified.patterns);
    are_measured(
        &answers,
        &[
            ("matmul f32 highest", "operand bits", "24"),
            ("matmul f32 highest", "accumulator bits", "24"),
            ("matmul f32 highest", "subnormal operands", "kept"),
            ("matmul f32 highest", "products", "join the sum unrounded: fused multiply-adds, in the order of K"),
            ("matmul f32 highest", "order at K = 256", "one addition after the other over all of K"),
            (
                "matmul f32 highest",
                "order at K = 1024",
                "blocks of 384 and the rest in two halves, each from zero, joined in order, as GotoBLAS cuts K",
            ),
            ("sum f32", "order of 32", "8 lanes, joined in order"),
            (
                "sum f32",
                "order of 1024",
                "4 accumulators of 8 lanes, anew after 16 vectors, joined in order, then the lanes",
            ),
            ("add f32", "subnormals", "kept"),
        ],
    );
}

/// The same PyTorch on an AMD EPYC: other kernels, which do not fuse products and additions and cut K at other places.
#[test]
fn pytorch_on_another_cpu_is_measured() {
    let answers = Answers::read(Path::new("tests/data/probe/torch_amd.npz"), &questions()).unwrap();
    assert!(answers.about.starts_with("torch 2.15.0"), "{}", answers.about);
    let blocks =
        |size: usize| format!("blocks of {size}, each from zero (one addition after the other), joined in order");
    are_measured(
        &answers,
        &[
            ("matmul f32 default", "products", "rounded before they are added"),
            ("matmul f32 default", "order at K = 1024", &blocks(512)),
            ("matmul f32 highest", "order at K = 256", &blocks(128)),
            ("matmul f32 highest", "order at K = 1024", &blocks(192)),
        ],
    );
}

/// XLA:GPU of jax 0.11.2 on an NVIDIA H200. The matrix unit takes 8 products of TF32 or 16 of bf16 at once, aligned to the largest and
/// cut two bits below f32's last one, as MMA-Sim (arXiv 2511.10909) has it of Hopper. `high` is TF32 there.
#[test]
fn xla_on_an_h200_is_measured() {
    let asked = questions();
    let answers = Answers::read(Path::new("tests/data/probe/jax_h200.npz"), &asked).unwrap();
    assert_eq!(answers.about, "jax 0.11.2 on NVIDIA H200");
    let identified = identify(&answers, &asked, &mut EmulatedAnswers::default()).unwrap();
    let group = |name: &str| identified.groups.iter().find(|outcome| outcome.group.name == name).unwrap();
    assert!(group("scan").patterns[0].values("scan") == ["blocked16"]);
    assert!(group("bf16").patterns[0].values("excess").contains(&"gpu"));
    assert!(group("matmul").patterns.is_empty() && group("sum").patterns.is_empty());
    let aligned = |stretch: usize| {
        format!(
            "stretches of {stretch} that go on from the sum so far (one sum of terms that are aligned to the largest and cut)"
        )
    };
    let (eight, sixteen) = (aligned(8), aligned(16));
    are_measured(
        &answers,
        &[
            ("matmul f32 default", "operand bits", "11"),
            ("matmul f32 default", "accumulator bits", "26"),
            ("matmul f32 default", "accumulator rounding", "small terms are cut at the accumulator's last bit"),
            ("matmul f32 default", "subnormal operands", "kept"),
            ("matmul f32 default", "order at K = 32", eight.as_str()),
            ("matmul f32 default", "order at K = 1024", &eight),
            ("matmul f32 high", "operand bits", "11"),
            ("matmul f32 highest", "operand bits", "24"),
            ("matmul f32 highest", "order at K = 1024", "one addition after the other over all of K"),
            ("matmul bf16", "order at K = 32", &sixteen),
            ("matmul bf16", "order at K = 1024", &sixteen),
            (
                "sum f32",
                "order of 256",
                "32 threads that take 2 adjacent terms in turn (one sum), joined by halving in warps",
            ),
            (
                "sum f32",
                "order of 1024",
                "64 threads that take 2 adjacent terms in turn (one sum), joined by halving in warps",
            ),
            ("add f32", "subnormals", "kept"),
        ],
    );
}

/// PyTorch 2.11 on the same H200: cuBLAS cuts K of TF32 matmuls, and sums take four adjacent terms a thread.
#[test]
fn pytorch_on_an_h200_is_measured() {
    let asked = questions();
    let answers = Answers::read(Path::new("tests/data/probe/torch_h200.npz"), &asked).unwrap();
    assert_eq!(answers.about, "torch 2.11.0+cu130 on NVIDIA H200");
    are_measured(
        &answers,
        &[
            ("matmul f32 default", "operand bits", "11"),
            (
                "matmul f32 default",
                "order at K = 1024",
                "blocks of 32, each from zero in stretches of 8 (aligned to the largest and cut), joined in order",
            ),
            ("matmul f32 highest", "products", "join the sum unrounded: fused multiply-adds, in the order of K"),
            ("matmul f32 highest", "order at K = 1024", "blocks of 32, each from zero (one addition after the other)"),
            (
                "sum f32",
                "order of 1024",
                "32 threads that take 4 adjacent terms in turn (a sum for each of them, joined in order), joined by halving in \
             warps",
            ),
        ],
    );
}

fn ulpgate(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).current_dir(folder.path()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

/// From the folder to the name of a mode, by the command line.
#[test]
fn a_folder_goes_out_and_answers_come_back() {
    let folder = TempDir::new().unwrap();
    assert_eq!(ulpgate(&folder, &["probe", "--out", "asked"]).0, Some(0));
    let size = |name: &&str| std::fs::metadata(folder.path().join("asked").join(name)).unwrap().len();
    assert!(FILES.iter().map(size).sum::<u64>() < 64 * 1024);
    let asked = questions();
    // Those of one group, so that it is named at once.
    let mut answers = Answers::of(&"v5e/default/off+reduce=chain".parse().unwrap(), &of_group("sum")).unwrap();
    let write =
        |name: &str, answers: &Answers| std::fs::write(folder.path().join(name), answers.to_npz().unwrap()).unwrap();
    write("answers.npz", &answers);
    let (code, out, err) = ulpgate(&folder, &["probe", "--answers", "answers.npz"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(
        out.starts_with(&format!("6 of {} questions answered by v5e/default/off+reduce=chain\n", asked.len())),
        "{out}"
    );
    assert!(out.contains("+reduce=chain"), "{out}");
    let json: serde_json::Value =
        serde_json::from_str(&ulpgate(&folder, &["probe", "--answers", "answers.npz", "--json"]).1).unwrap();
    assert_eq!(json["groups"][1]["answered"], 6);
    assert_eq!(json["modes"][0]["values"]["reduce"], serde_json::json!(["chain"]));
    // A sum that no mode gives.
    let sum = answers.tensors.get_mut("sum32").unwrap();
    *sum = ulpgate::tensor::Tensor::new(sum.dims(), ulpgate::tensor::Data::F32(vec![0.5; sum.len()]));
    write("answers.npz", &answers);
    let (code, out, _) = ulpgate(&folder, &["probe", "--answers", "answers.npz"]);
    assert_eq!(code, Some(1));
    assert!(out.contains("modes: none gives every answer") && out.contains("nearest, but for sum32:"), "{out}");
}

#[test]
fn files_that_are_no_answers_are_refused() {
    let folder = TempDir::new().unwrap();
    let refused = |name: &str, bytes: &[u8], why: &str| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let (code, out, err) = ulpgate(&folder, &["probe", "--answers", name]);
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(err.contains(name) && err.contains(why), "{err}");
    };
    refused("text.npz", b"no archive", "not a npz file");
    let mut answers = Answers::of(&"cpu/f32/off".parse().unwrap(), &of_group("scan")).unwrap();
    let scan = answers.tensors["scan"].clone();
    answers.tensors.insert("scam".to_string(), scan.clone());
    refused("name.npz", &answers.to_npz().unwrap(), "no question is called `scam`; did you mean `scan`");
    answers.tensors = BTreeMap::from([("scan".to_string(), scan.rows(0..1))]);
    refused("dims.npz", &answers.to_npz().unwrap(), "has dims [1, 300], and its question has [2, 300]");
    let whole = ulpgate::tensor::Data::from_i64s(ulpgate::tensor::DType::S32, &[1; 600]).unwrap();
    answers.tensors = BTreeMap::from([("scan".to_string(), ulpgate::tensor::Tensor::new(&[2, 300], whole))]);
    refused("type.npz", &answers.to_npz().unwrap(), "is of s32, and its question's of f32");
    answers.tensors.clear();
    refused("empty.npz", &answers.to_npz().unwrap(), "it has no answer");
    assert_eq!(ulpgate(&folder, &["probe"]).0, Some(2));
}

//! Intermediate values of one model from two frameworks: honest ports are silent, and a fault is named where it is made.

use std::path::PathBuf;

use serde_json::Value;
use ulpgate::file::safetensors;
use ulpgate::hlo::{lower_with_libraries, parse};
use ulpgate::ir::Program;
use ulpgate::judge::{self, Recording, Verdict};
use ulpgate::layers::{Layers, Settings, layers};
use ulpgate::subject::evaluate;
use ulpgate::tensor::{DType, Data, Tensor};

use super::schema::Schema;
use super::{Folder, Ran};

fn file(name: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/layers")).join(name);
    path.to_str().unwrap().to_string()
}

/// Runs `ulpgate layers` on two recordings of `tests/data/layers` of this type.
fn run(folder: &Folder, code: i32, dtype: &str, [a, b]: [&str; 2], more: &[&str]) -> Ran {
    let [a, b] = [a, b].map(|name| file(&format!("{name}.npz")));
    let (program, names, tokens) = (file(&format!("model.{dtype}.hlo")), file("names.json"), file("tokens.npz"));
    let weights = file("../language_model/decoder.safetensors");
    let mut arguments = vec!["layers", &a, &b, "--program", &program, "--map", &names, "--inputs", &tokens];
    arguments.extend(["--inputs", &weights]);
    arguments.extend(more);
    folder.exits(code, &arguments)
}

/// The names of the layers of a recording with this verdict.
fn with_verdict(said: &Value, side: &str, verdict: &str) -> Vec<String> {
    let of = |layer: &&Value| layer[side]["verdict"] == verdict;
    let name = |layer: &Value| layer["name"].as_str().unwrap().to_string();
    said["layers"].as_array().unwrap().iter().filter(of).map(name).collect()
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

/// The port to PyTorch and JAX itself, in f32 and in bf16: their drift is explained in every layer.
#[test]
fn an_honest_port_is_silent() {
    let folder = Folder::new(&[]);
    let schema = Schema::new(include_str!("../../docs/schema/layers.json"));
    for dtype in ["f32", "bf16"] {
        let pair = [format!("jax.{dtype}"), format!("torch.{dtype}")];
        let mut said = json(&run(&folder, 0, dtype, [&pair[0], &pair[1]], &["--json"]));
        assert_eq!(schema.errors(&said), Vec::<String>::new(), "{said}");
        assert_eq!(said["layers"].as_array().unwrap().len(), 13);
        for layer in said["layers"].as_array().unwrap() {
            let [drift, inherited, explained] =
                ["drift", "inherited", "explained"].map(|figure| layer[figure].as_f64().unwrap());
            assert!(drift <= 3.0 * explained.hypot(inherited), "{layer}");
            // Each layer is computed from what its own recording has before it.
            let from = layer["a"]["judged_from"].as_array().unwrap();
            assert_eq!(from.is_empty(), layer["name"] == "layer0.attention_norm", "{layer}");
        }
        said["layers"][0]["more"] = Value::Null;
        assert!(!schema.errors(&said).is_empty());
    }
}

/// Rope that pairs neighbours changes queries and keys alone: all that follows from them is computed from them, and honest.
#[test]
fn a_wrong_rope_is_named_where_it_is_made() {
    let folder = Folder::new(&[]);
    for dtype in ["f32", "bf16"] {
        let pair = [format!("jax.{dtype}"), format!("rope.{dtype}")];
        let said = json(&run(&folder, 1, dtype, [&pair[0], &pair[1]], &["--json"]));
        let mut outside = with_verdict(&said, "b", "outside");
        outside.sort();
        assert_eq!(outside, ["layer0.key", "layer0.query", "layer1.key", "layer1.query"], "{said}");
        assert_eq!(with_verdict(&said, "a", "outside"), Vec::<String>::new());
        assert!(said["first_outside"]["b"].as_str().unwrap().starts_with("layer0."));
        // A rope turns nothing at position 0.
        let query = said["layers"].as_array().unwrap().iter().find(|layer| layer["name"] == "layer0.query").unwrap();
        assert_eq!(query["b"]["along"][0]["right"], serde_json::json!([0]), "{query}");
    }
    let told = run(&folder, 1, "f32", ["jax.f32", "rope.f32"], &[]).out;
    assert!(told.contains("OUTSIDE") && told.contains("dim 0: right at 1 of 6 indices, 0"), "{told}");
    assert!(told.contains("A: no layer is outside") && told.contains("B: first outside is layer0."), "{told}");
}

/// Norms in float16 of an f32 model err by 2^-11 where f32's roundings explain 2^-24.
#[test]
fn norms_in_f16_are_named() {
    let folder = Folder::new(&[]);
    let said = json(&run(&folder, 1, "f32", ["jax.f32", "norm.f32"], &["--json"]));
    let mut outside = with_verdict(&said, "b", "outside");
    outside.sort();
    let norms = ["layer0.attention_norm", "layer0.mlp_norm", "layer1.attention_norm", "layer1.mlp_norm", "logits"];
    assert_eq!(outside, norms, "{said}");
    assert_eq!(said["first_outside"]["b"], "layer0.attention_norm");
}

/// A recording in f32 of a program in bf16 is more accurate than its roundings explain; the reverse is outside.
#[test]
fn a_wider_recording_conforms() {
    let folder = Folder::new(&[]);
    let said = json(&run(&folder, 0, "bf16", ["jax.f32", "torch.bf16"], &["--json"]));
    let ratios = said["layers"].as_array().unwrap().iter().map(|layer| layer["a"]["ratio"].as_f64().unwrap());
    assert!(ratios.fold(0.0, f64::max) < 0.1, "{said}");
    let told = run(&folder, 1, "f32", ["jax.f32", "torch.bf16"], &[]).out;
    assert!(told.contains("note: B: its values are bf16, and the program's f32"), "{told}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new(&[]);
    let err = |more: &[&str]| run(&folder, 2, "f32", ["jax.f32", "torch.f32"], more).err;
    assert!(err(&["--map", "logits=dot_genera.1"]).contains("--map logits is given twice"));
    assert!(err(&["--map", "lgits=out12"]).contains("no recording has an array `lgits`"));
    assert!(err(&["--map", "logits"]).contains("it has the form"));
    assert!(err(&["--map", "none.json"]).contains("failed to read it"));
    folder.write("twice.json", r#"{"logits": "out0", "logits": "dot_general.1"}"#);
    assert!(err(&["--map", "twice.json"]).contains("it names \"logits\" twice"));
    let [jax, program] = [file("jax.f32.npz"), file("model.f32.hlo")];
    let [tokens, weights] = [file("tokens.npz"), file("../language_model/decoder.safetensors")];
    let mut arguments = vec!["layers", &tokens, &jax, "--program", &program, "--inputs", &weights];
    assert!(folder.exits(2, &arguments).err.contains("(tokens) is missing"));
    arguments.extend(["--inputs", &tokens, "--map", "tokens=dot_genera.37"]);
    let err = folder.exits(2, &arguments).err;
    assert!(err.contains("no result and no instruction `dot_genera.37`; did you mean `dot_general.37`?"), "{err}");
    arguments.truncate(9);
    let names = [("other".to_string(), Tensor::new(&[1], Data::F32(vec![1.0])))];
    safetensors::write(&folder.path("other.safetensors"), &names).unwrap();
    arguments[1] = "other.safetensors";
    assert!(folder.exits(2, &arguments).err.contains("none of its arrays (other) is a value of the program"));
}

const TWO_DOTS: &str = "HloModule two\nENTRY main { x = f32[8,64] parameter(0) w = f32[64,64] parameter(1) \
    h = f32[8,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} t = f32[8,64] tanh(h) \
    s = f32[8,64] multiply(t, x) ROOT y = f32[8,64] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";

fn two_dots() -> (Program, [Tensor; 2]) {
    let program = lower_with_libraries(&parse(TWO_DOTS).unwrap()).unwrap().program;
    let drawn = |rows: usize, salt: usize| {
        let value = |at: usize| ((at + salt) * 7919 % 1009) as f32 / 503.0 - 1.0 + (at * 31 % 97) as f32 * 1e-4;
        Tensor::new(&[rows, 64], Data::F32((0..rows * 64).map(value).collect()))
    };
    (program, [drawn(8, 3), drawn(64, 11)])
}

/// The values of `h`, `s` and `y` in a mode.
fn values(program: &Program, arguments: &[Tensor], mode: &str) -> Vec<(String, Tensor)> {
    let entry = program.entry();
    let each = ["h", "s", "y"].map(|name| {
        let mut part = program.clone();
        let id = entry.instructions.iter().position(|i| i.name == name).unwrap();
        part.computations[program.entry].root = id;
        part.output_names = vec![name.to_string()];
        (name.to_string(), evaluate(&part, &mode.parse().unwrap(), arguments).unwrap().remove(0))
    });
    each.to_vec()
}

fn judged(of: [&[(String, Tensor)]; 2], modes: [Option<&str>; 2]) -> Layers {
    let (program, arguments) = two_dots();
    let recordings = of.map(|arrays| Recording::of_arrays(arrays.to_vec()));
    let modes = modes.map(|mode| mode.map(|mode| mode.parse().unwrap()));
    let settings = Settings { modes, ..Settings::default() };
    layers(&program, &arguments, [&recordings[0], &recordings[1]], &settings).unwrap()
}

/// One bf16 pass in all layers is a precision; in one of three it is a fault; and none of `highest`.
#[test]
fn the_precision_of_a_recording_is_that_of_most_layers() {
    let (program, arguments) = two_dots();
    let [wide, narrow] = ["cpu/highest/off", "v5e/default/off"].map(|mode| values(&program, &arguments, mode));
    let honest = judged([&wide, &narrow], [None, None]);
    assert!(matches!(honest.verdict(), Verdict::Bits | Verdict::Conforming), "{honest:?}");
    assert_eq!(honest.modes[1].as_deref(), Some("v5e/default/off"), "{honest:?}");
    let named = judged([&wide, &narrow], [None, Some("v5e/highest/off")]);
    assert_eq!(named.first_outside, [None, Some("h".to_string())], "{named:?}");
    let mut mixed = wide.clone();
    mixed[2] = narrow[2].clone();
    let mixed = judged([&wide, &mixed], [None, None]);
    // `y` of one pass has an honest `s` before it in neither recording; half of two dots in f32 decide.
    assert_eq!(mixed.first_outside, [None, Some("y".to_string())], "{mixed:?}");
}

/// One wrong row, one wrong element, a NaN and an exact layer: each is seen although the whole hardly errs.
#[test]
fn a_single_row_or_element_is_seen() {
    let (program, arguments) = two_dots();
    let right = values(&program, &arguments, "cpu/highest/off");
    let of = |edit: &dyn Fn(&mut Vec<f32>)| {
        let mut wrong = right.clone();
        let mut numbers = wrong[1].1.data().to_f32s();
        edit(&mut numbers);
        wrong[1].1 = Tensor::new(&[8, 64], Data::F32(numbers));
        let found = judged([&right, &wrong], [None, None]);
        assert_eq!(found.first_outside, [None, Some("s".to_string())], "{found:?}");
        found.layers[1].b.clone().unwrap()
    };
    let row = of(&|numbers| numbers[128..192].iter_mut().for_each(|value| *value *= 1.0 + 1e-5));
    assert_eq!(row.along[0].outside, [2], "{row:?}");
    let element = of(&|numbers| numbers[70] += 1e-4);
    assert_eq!(element.elements, [70], "{element:?}");
    assert!(of(&|numbers| numbers[3] = f32::NAN).because[0].contains("element 3 is NaN"));
}

/// Values in bf16 of a program in f32, and tokens: those follow from the scores that were recorded.
#[test]
fn integers_are_judged_by_the_scores_before_them() {
    let text = "HloModule head\nbetter { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) \
        j = s32[] parameter(3) more = pred[] compare(a, b), direction=GT nan = pred[] compare(a, a), direction=NE \
        g = pred[] or(more, nan) tie = pred[] compare(a, b), direction=EQ lower = pred[] compare(i, j), direction=LT \
        earlier = pred[] and(tie, lower) first = pred[] or(earlier, g) v = f32[] select(g, a, b) \
        k = s32[] select(first, i, j) ROOT r = (f32[], s32[]) tuple(v, k) }\n\
        ENTRY main { x = f32[4,8] parameter(0) two = f32[] constant(2) twos = f32[4,8] broadcast(two), dimensions={} \
        scores = f32[4,8] multiply(x, twos) at = s32[4,8] iota(), iota_dimension=1 \
        least = f32[] constant(-inf) zero = s32[] constant(0) \
        best = (f32[4], s32[4]) reduce(scores, at, least, zero), dimensions={1}, to_apply=better \
        ROOT token = s32[4] get-tuple-element(best), index=1 }";
    let program = lower_with_libraries(&parse(text).unwrap()).unwrap().program;
    let x: Vec<f32> = (0..32).map(|at| (at * 13 % 29) as f32).collect();
    let scores: Vec<f32> = x.iter().map(|value| value * 2.0).collect();
    let best = |row: &[f32]| (0..8).fold(0, |best, at| if row[at] > row[best] { at } else { best }) as i32;
    let right: Vec<i32> = scores.chunks(8).map(best).collect();
    let recorded = |tokens: Vec<i32>| {
        Recording::of_arrays(vec![
            ("scores".to_string(), Tensor::new(&[4, 8], Data::F32(scores.clone()))),
            (
                "token".to_string(),
                Tensor::new(
                    &[4],
                    Data::from_i64s(DType::S32, &tokens.iter().map(|t| i64::from(*t)).collect::<Vec<_>>()).unwrap(),
                ),
            ),
        ])
    };
    let mut wrong = right.clone();
    wrong[2] = (wrong[2] + 1) % 8;
    let (a, b) = (recorded(right), recorded(wrong));
    let arguments = [Tensor::new(&[4, 8], Data::F32(x))];
    let mapping = vec![("token".to_string(), "out0".to_string())];
    let settings = Settings { mapping, ..Settings::default() };
    let found = layers(&program, &arguments, [&a, &b], &settings).unwrap();
    let [a, b] = [&found.layers[1].a, &found.layers[1].b].map(|side| side.clone().unwrap());
    assert_eq!(a.verdict, Verdict::Bits, "{found:?}");
    assert!(matches!(b.verdict, Verdict::Outside | Verdict::Unknown), "{found:?}");
    assert_eq!(b.judged_from, ["scores"], "{found:?}");
}

/// A gather rounds nothing: a value that differs in its last bit is no honest one.
#[test]
fn a_gather_explains_nothing() {
    let text = "HloModule pick\nENTRY main { x = f32[2,3] parameter(0) r = f32[3,2] transpose(x), dimensions={1,0} \
        ROOT y = f32[3,2] multiply(r, r) }";
    let program = lower_with_libraries(&parse(text).unwrap()).unwrap().program;
    let x = [0.1f32, 0.2, 0.3, 0.4, 0.5, 0.6];
    let moved = [0.1f32, 0.4, 0.2, 0.5, 0.3, 0.6];
    let recorded = |moved: [f32; 6]| {
        let tensor = |values: Vec<f32>| Tensor::new(&[3, 2], Data::F32(values));
        let squares = moved.iter().map(|value| value * value).collect();
        let arrays = [("r", tensor(moved.to_vec())), ("y", tensor(squares))];
        Recording::of_arrays(arrays.map(|(name, tensor)| (name.to_string(), tensor)).to_vec())
    };
    let mut wrong = moved;
    wrong[3] = wrong[3].next_up();
    let arguments = [Tensor::new(&[2, 3], Data::F32(x.to_vec()))];
    let found = layers(&program, &arguments, [&recorded(moved), &recorded(wrong)], &Settings::default()).unwrap();
    assert_eq!(found.first_outside, [None, Some("r".to_string())], "{found:?}");
    assert_eq!(found.layers[1].b.as_ref().unwrap().verdict, Verdict::Bits, "{found:?}");
}

/// A floor of a sum that another order of additions brings to the other side of an integer.
#[test]
fn a_decision_is_left_to_judge() {
    let text = "HloModule floors\nENTRY main { x = f32[4,3] parameter(0) w = f32[3] parameter(1) \
        s = f32[4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} ROOT y = f32[4] floor(s) }";
    let program = lower_with_libraries(&parse(text).unwrap()).unwrap().program;
    // The sum of row 0 is 1 - 2^-26: above 1 - 2^-24, and rounded to 1 in any order but for one that rounds 0.5 - 2^-26 first.
    let tiny = -(2f32.powi(-26));
    let x = vec![0.5, 0.5, tiny, 0.25, 0.25, 0.25, 2.5, 0.25, 0.125, 3.0, 0.5, 0.25];
    let arguments = [Tensor::new(&[4, 3], Data::F32(x)), Tensor::new(&[3], Data::F32(vec![1.0; 3]))];
    let recorded =
        |floors: [f32; 4]| Recording::of_arrays(vec![("y".to_string(), Tensor::new(&[4], Data::F32(floors.to_vec())))]);
    let judged = |floors| {
        let (a, b) = (recorded([0.0, 0.0, 2.0, 3.0]), recorded(floors));
        layers(&program, &arguments, [&a, &b], &Settings::default()).unwrap()
    };
    let honest = judged([1.0, 0.0, 2.0, 3.0]);
    assert!(honest.first_outside == [None, None], "{honest:?}");
    let wrong = judged([1.0, 0.0, 1.0, 3.0]);
    assert_eq!(wrong.first_outside, [None, Some("y".to_string())], "{wrong:?}");
}

/// Arrays of which no name fits are taken in their order, and both commands say so; with names or a mapping there is nothing to say.
#[test]
fn arrays_that_only_their_order_pairs_are_told() {
    let text = "HloModule two\nENTRY main { x = f32[4] parameter(0) y = f32[4] parameter(1) \
        s = f32[4] add(x, y) p = f32[4] multiply(x, y) ROOT t = (f32[4], f32[4]) tuple(s, p) }";
    let program = lower_with_libraries(&parse(text).unwrap()).unwrap().program;
    let drawn = |at: f32| Tensor::new(&[4], Data::F32((0..4u8).map(|i| at + f32::from(i) * 0.37).collect()));
    let arguments = [drawn(0.3), drawn(1.1)];
    let results = evaluate(&program, &"v5e/highest/off".parse().unwrap(), &arguments).unwrap();
    let recorded = |names: [&str; 2]| {
        Recording::of_arrays(
            names.iter().zip(&results).map(|(name, result)| (name.to_string(), result.clone())).collect(),
        )
    };
    let notes = |recording: &Recording| {
        let judged = judge::judge(&program, &arguments, recording, &judge::Settings::default()).unwrap();
        let layered = layers(&program, &arguments, [recording, recording], &Settings::default()).unwrap();
        assert!(judged.results.iter().all(|one| one.verdict == Verdict::Bits), "{judged:?}");
        [judged.notes, layered.notes].map(|notes| notes.join("\n"))
    };
    let note =
        "no name of the arrays fits, so its arrays are taken in their order: sum=out0, product=out1; --map NAME=RESULT";
    for told in notes(&recorded(["sum", "product"])) {
        assert!(told.contains(note), "{told}");
    }
    let named = notes(&recorded(["out0", "out1"]));
    assert!(named.iter().all(|told| !told.contains("order")), "{named:?}");
    let mapped =
        recorded(["sum", "product"]).map(vec![("product".into(), "out1".into()), ("sum".into(), "out0".into())]);
    let judged = judge::judge(&program, &arguments, &mapped, &judge::Settings::default()).unwrap();
    assert!(judged.notes.iter().all(|told| !told.contains("order")), "{:?}", judged.notes);
}

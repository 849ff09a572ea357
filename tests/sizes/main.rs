//! Programs whose arrays no machine holds: every command's library entry computes, or refuses in words, within a budget and at once.

mod hostile;

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use ulpgate::budget;
use ulpgate::diff::difference;
use ulpgate::evaluation::{RoundTo, evaluate, exact};
use ulpgate::explore::{Settings as Explored, explore};
use ulpgate::file::{npy, npz, safetensors};
use ulpgate::flow;
use ulpgate::hlo::{Import, lower_with_libraries, lower_with_opaque, parse};
use ulpgate::ir::{Binary, Program, Shape, Unary};
use ulpgate::judge::Recording;
use ulpgate::machine::{Mode, find_chip};
use ulpgate::same::{self, compare};
use ulpgate::tensor::{DType, Data, Tensor};

use hostile::Hostile;

/// The memory for all arrays of a step: nothing takes long that fits in it.
const BUDGET: u64 = 1 << 14;

/// The time for one question, on a machine that is loaded, in a debug build.
const LONG: Duration = Duration::from_secs(10);

/// Sets the budget, which is one for the process, until the test ends.
fn limited(limit: Option<u64>) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    budget::set_limit(limit);
    guard
}

/// Arguments of ones, if they are small.
fn arguments(program: &Program) -> Option<Vec<Tensor>> {
    let argument = |shape: &Shape| {
        let count = shape.dims().iter().try_fold(1usize, |count, extent| count.checked_mul(*extent))?;
        let dtype = shape.dtype().filter(|_| count <= 1 << 16)?;
        let data = match dtype {
            float if float.is_float() => Data::from_f64s(float, &vec![1.5; count]),
            DType::Pred => Some(Data::Pred(vec![true; count])),
            integer => Data::from_i64s(integer, &vec![1; count]),
        };
        Some(Tensor::new(shape.dims(), data?))
    };
    program.entry().parameter_shapes().into_iter().map(argument).collect()
}

fn mode(name: &str) -> Mode {
    name.parse().unwrap()
}

/// Every question that a command asks of one program; what each says, where it refuses.
fn ask(text: &str) -> Vec<(&'static str, Option<String>)> {
    let mut said = Vec::new();
    let mut tell = |what: &'static str, error: Option<String>| said.push((what, error));
    let module = match parse(text) {
        Ok(module) => module,
        Err(error) => return vec![("parse", Some(error.to_string()))],
    };
    let read = |lower: fn(&ulpgate::hlo::ast::Module) -> Result<Import, ulpgate::hlo::LowerError>| lower(&module);
    match read(lower_with_opaque) {
        Ok(import) => {
            let modes = flow::compilers(None, false).unwrap();
            let shown = flow::flow(&import, false, &modes);
            tell("show", (flow::text(&shown, true).is_empty()).then(|| "nothing is shown".to_string()));
            for chip in [None, find_chip("xla-cpu")] {
                tell("diff", difference(&import, &import, chip).err().map(|error| error.to_string()));
            }
            let mut settings = same::Settings::new(&mode("v5e/default/as-compiled+acc=tiled"));
            settings.patience = Duration::from_millis(100);
            tell("same", compare(&import, &import, &settings).err().map(|error| error.to_string()));
        }
        Err(error) => tell("lower", Some(error.to_string())),
    }
    let import = match read(lower_with_libraries) {
        Ok(import) => import,
        Err(error) => {
            tell("lower", Some(error.to_string()));
            return said;
        }
    };
    let Some(given) = arguments(&import.program) else { return said };
    for name in ["v5e/default/as-compiled", "xla-cpu/default/as-compiled", "cpu/f32/off"] {
        tell("eval", evaluate(&import.program, &mode(name), &given, &[]).err().map(|error| error.to_string()));
    }
    let truth = exact(&import.program, &given, &[], RoundTo::Stored, &mut |_| {});
    tell("eval --exact", truth.err().map(|error| error.to_string()));
    let explored = explore(&import.program, &given, &[], &Explored::new(mode("v5e/default/off")));
    tell("explore", explored.err().map(|error| error.to_string()));
    said
}

#[test]
fn no_program_is_too_large_to_be_refused() {
    let _one = limited(Some(BUDGET));
    // A part of a name has its programs tried in all shapes.
    let only = std::env::var("ULPGATE_HOSTILE").unwrap_or_default();
    let programs: Vec<Hostile> = hostile::programs(!only.is_empty());
    let wrong: Vec<String> = programs
        .par_iter()
        .filter(|program| program.name.contains(&only))
        .filter_map(|Hostile { name, text }| {
            let begun = Instant::now();
            match catch_unwind(AssertUnwindSafe(|| ask(text))) {
                Err(_) => Some(format!("{name} panics\n{text}")),
                Ok(said) if begun.elapsed() > LONG => Some(format!("{name} takes {:?}: {said:?}", begun.elapsed())),
                Ok(said) => said.iter().find_map(|(what, error)| {
                    let error = error.as_ref()?;
                    let is_bug = error.is_empty() || error.contains("please report") || error.contains("overflow");
                    is_bug.then(|| format!("{name}, {what}: {error}"))
                }),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), programs.len(), wrong.join("\n"));
}

/// Those that fit are computed, and those that do not are refused with the instruction and the bytes.
#[test]
fn what_fits_is_computed_and_the_rest_is_told_with_its_bytes() {
    let _one = limited(Some(BUDGET));
    let programs = hostile::programs(false);
    let small =
        programs.iter().filter(|program| program.name.contains("-3-")).take(40).map(|program| ask(&program.text));
    let computed: BTreeSet<&str> = small.flatten().filter(|(_, error)| error.is_none()).map(|(what, _)| what).collect();
    for what in ["show", "diff", "same", "eval", "eval --exact"] {
        assert!(computed.contains(what), "{what}: {computed:?}");
    }
}

/// The answers about a program of a few lines, behind a scalar `z`.
fn said_of(lines: &str) -> Vec<(&'static str, Option<String>)> {
    let _one = limited(Some(BUDGET));
    ask(&format!(
        "HloModule m\n\nadd {{ a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }}\n\n\
                  ENTRY e {{\n  z = f32[] parameter(0)\n  {lines}\n}}\n"
    ))
}

/// The errors of those who evaluate, each of which must be there.
#[track_caller]
fn refusals(lines: &str) -> Vec<String> {
    let said = said_of(lines);
    let evaluated = said.into_iter().filter(|(what, _)| what.starts_with("eval"));
    let errors: Vec<String> =
        evaluated.map(|(what, error)| error.unwrap_or_else(|| panic!("{what} computes {lines}"))).collect();
    assert_eq!(errors.len(), 4, "{lines}");
    errors
}

#[test]
fn a_refusal_names_the_instruction_and_the_bytes() {
    let errors = refusals(
        "w = f32[1000000,1000]{1,0} broadcast(z), dimensions={}\n  ROOT r = f32[1000000,1000]{1,0} exponential(w)",
    );
    for (error, bytes) in errors.iter().zip(["8000000004", "8000000004", "8000000004", "32000000004"]) {
        assert!(error.starts_with("r (exponential, f32[1000000,1000]), with its operands"), "{error}");
        assert!(error.contains(&format!("({bytes} bytes) and 16.0 KiB are allowed")), "{error}");
    }
}

/// Calls that double at each of 21 levels, of a computation that lays out nothing.
#[test]
fn calls_that_double_at_each_level_are_refused() {
    let calls = ["call(TO), to_apply=BELOW", "fusion(TO), kind=kLoop, calls=BELOW"];
    calls.par_iter().for_each(|call| {
        let mut text = "HloModule m\nf0 { ROOT a = f32[] parameter(0) }\n".to_string();
        for level in 1..22 {
            let call = |to: &str| call.replace("TO", to).replace("BELOW", &format!("f{}", level - 1));
            text += &format!(
                "f{level} {{ a = f32[] parameter(0)\n b = f32[] {}\n ROOT c = f32[] {} }}\n",
                call("a"),
                call("b")
            );
        }
        text += &format!(
            "ENTRY e {{ x = f32[] parameter(0)\n ROOT r = f32[] {} }}\n",
            call.replace("TO", "x").replace("BELOW", "f21")
        );
        let error = lower_with_opaque(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("calls make more than 1048576 instructions"), "{call}: {error}");
    });
}

#[test]
fn a_broadcast_to_a_million_million_is_refused() {
    for error in refusals("ROOT r = f32[1000000000000]{0} broadcast(z), dimensions={}") {
        assert!(error.contains("r (broadcast, f32[1000000000000])") && error.contains("GiB of memory"), "{error}");
    }
}

#[test]
fn a_bitcast_between_layouts_of_ten_thousand_million_is_refused_where_it_is_read() {
    let said = said_of(
        "w = f32[6000000000,4]{1,0} broadcast(z), dimensions={}\n  ROOT r = f32[6000000000,4]{1,0:T(3,2)} bitcast(w)",
    );
    let refused: Vec<&String> = said.iter().filter_map(|(_, error)| error.as_ref()).collect();
    assert!(refused.len() == 2 && refused.iter().all(|error| error.contains("a list of positions in r")), "{said:?}");
}

#[test]
fn a_window_of_a_million_at_a_million_places_is_refused() {
    let _one = limited(None);
    let text = "HloModule m\n\nadd { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }\n\n\
                ENTRY e {\n  z = f32[] parameter(0)\n  w = f32[1000000]{0} broadcast(z), dimensions={}\n  ROOT r = f32[1000001]{0} \
                reduce-window(w, z), window={size=1000000 pad=500000_500000}, to_apply=add\n}\n";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let given = arguments(&import.program).unwrap();
    let error = evaluate(&import.program, &mode("v5e/default/off"), &given, &[]).unwrap_err().to_string();
    assert!(error.contains("its windows show 1000001000000 elements together"), "{error}");
}

/// Zeros make an array empty, however long its other dims are.
#[test]
fn a_counter_along_a_long_dim_of_nothing_is_computed() {
    for line in [
        "ROOT r = f32[1000000000000,0]{1,0} iota(), iota_dimension=0",
        "w = f32[1000000000000,0]{1,0} broadcast(z), dimensions={}\n  ROOT r = f32[0]{0} reduce(w, z), dimensions={0}, \
         to_apply=add",
    ] {
        for (what, error) in said_of(line).into_iter().filter(|(what, _)| *what != "explore") {
            assert_eq!(error, None, "{what}: {line}");
        }
    }
}

/// The text with each of its lists of dims changed, one at a time: a dim twice, two exchanged, or one that no array here has.
fn with_other_dims(text: &str) -> Vec<(bool, String)> {
    // Regions may be called by nobody.
    let entry = text.find("ENTRY").unwrap_or(0);
    let mut changed = Vec::new();
    for key in ["dims={", "dimensions={", "start_index_map={"] {
        for (at, _) in text.match_indices(key).filter(|(at, _)| *at > entry) {
            let begin = at + key.len();
            let Some(length) = text[begin..].find('}') else { continue };
            let list: Vec<&str> = text[begin..begin + length].split(',').filter(|dim| !dim.is_empty()).collect();
            let Some(first) = list.first() else { continue };
            let with = |list: Vec<&str>| format!("{}{}{}", &text[..begin], list.join(","), &text[begin + length..]);
            changed.push((true, with(list.iter().chain([first]).copied().collect())));
            changed.push((true, with(list.iter().map(|_| "9").collect())));
            changed.push((false, with(list.iter().rev().copied().collect())));
        }
    }
    changed
}

/// Dims that stand twice, in another order, or that an array has not are refused where the text is read; what is read is computed.
#[test]
fn lists_of_other_dims_are_refused_or_computed() {
    let _one = limited(Some(BUDGET));
    let (mut refused, mut computed) = (0, 0);
    for Hostile { name, text } in hostile::programs(false).iter().filter(|program| program.name.contains("-3-")) {
        if parse(text).ok().and_then(|module| lower_with_libraries(&module).ok()).is_none() {
            continue;
        }
        for (is_wrong, text) in with_other_dims(text) {
            let import = parse(&text).ok().and_then(|module| lower_with_libraries(&module).ok());
            let Some(import) = import else {
                refused += 1;
                continue;
            };
            // Elements of a map are where they are, whatever its dims are; of one device nothing is joined.
            let moves_nothing = [" map(", " all-gather("].iter().any(|opcode| text.contains(opcode));
            assert!(!is_wrong || moves_nothing, "{name}:\n{text}");
            let Some(given) = arguments(&import.program) else { continue };
            let result = catch_unwind(AssertUnwindSafe(|| {
                evaluate(&import.program, &mode("cpu/f32/off"), &given, &[]).is_ok()
                    && exact(&import.program, &given, &[], RoundTo::Stored, &mut |_| {}).is_ok()
            }));
            assert!(result.is_ok(), "{name} panics:\n{text}");
            computed += 1;
        }
    }
    assert!(refused > 60 && computed > 5, "{refused} refused, {computed} computed");
}

/// A function that is added is tried with hostile extents as well.
#[test]
fn every_function_is_among_the_hostile_programs() {
    let forms: BTreeSet<String> = hostile::programs(false).into_iter().map(|program| program.name).collect();
    let has = |name: &str| forms.iter().any(|form| form.starts_with(&format!("{name}-")));
    for name in Unary::ALL.iter().map(|unary| unary.name()).chain(Binary::ALL.iter().map(|binary| binary.name())) {
        assert!(has(name), "{name} is in no form of tests/sizes/hostile.rs");
    }
}

/// A fusion that holds an array without elements has no code, on any machine.
#[test]
fn a_fusion_with_an_array_without_elements_is_computed_in_every_mode() {
    let _one = limited(Some(BUDGET));
    let text = "HloModule m

fused {
  p = f32[3,0]{1,0} parameter(0)
  zero = f32[] constant(0)
  zeros = f32[3,0]{1,0} broadcast(zero), dimensions={}
  m = f32[3,0]{1,0} multiply(p, zeros)
  k = f32[3,0]{1,0} concatenate(m, p), dimensions={1}
  ROOT r = f32[3,0]{1,0} add(k, m)
}

ENTRY e {
  x = f32[3,0]{1,0} parameter(0)
  ROOT f = f32[3,0]{1,0} fusion(x), kind=kLoop, calls=fused
}
";
    let said = ask(text);
    assert!(said.iter().filter(|(what, _)| *what == "eval").count() == 3, "{said:?}");
    for (what, error) in said.iter().filter(|(what, _)| *what != "explore") {
        assert_eq!(*error, None, "{what}");
    }
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let none = Tensor::new(&[3, 0], Data::F32(Vec::new()));
    for name in ["v5e/default/off", "cpu/f32/off", "xla-cpu/default/as-compiled"] {
        let results = evaluate(&import.program, &mode(name), std::slice::from_ref(&none), &[]).unwrap();
        assert_eq!((results[0].tensor.dims(), results[0].tensor.len()), (&[3, 0][..], 0), "{name}");
    }
}

/// A file of a few blocks that says it is large: neither its header nor a tensor of it is read where there is no room.
#[test]
fn safetensors_that_do_not_fit_are_refused() {
    let _limit = limited(Some(BUDGET));
    let path = std::env::temp_dir().join(format!("ulpgate-large-{}.safetensors", std::process::id()));
    let write = |header: &[u8], claimed: u64, size: u64| {
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&claimed.to_le_bytes()).unwrap();
        file.write_all(header).unwrap();
        file.set_len(size).unwrap();
    };
    let size = 1u64 << 40;
    let header = format!("{{\"x\":{{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[0,{size}]}}}}", size / 4);
    write(header.as_bytes(), header.len() as u64, 8 + header.len() as u64 + size);
    let of_tensor = safetensors::read_one(&path, "x").unwrap_err().to_string();
    write(b"{", size, 8 + size);
    let of_header = safetensors::read_one(&path, "x").unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(of_tensor.contains("tensor `x`") && of_tensor.contains("2048.0 GiB"), "{of_tensor}");
    assert!(of_header.contains("the header") && of_header.contains("1024.0 GiB"), "{of_header}");
}

/// An array of NumPy is read whole: there is room for its bytes and for the array that is made of them, in a file of its own and in
/// an archive.
#[test]
fn arrays_of_numpy_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let mut header =
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (5000000000,), }".to_vec();
    header.resize(127, b' ');
    header.push(b'\n');
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&header).unwrap();
    file.set_len(128 + 20_000_000_000).unwrap();
    let archive = folder.path().join("x.npz");
    std::fs::write(&archive, npz::write(&[("a".to_string(), Tensor::new(&[64], Data::F32(vec![0.0; 64])))]).unwrap())
        .unwrap();
    // An array of 256 bytes behind a header of 128.
    let _limit = limited(Some(2 * (128 + 256) - 1));
    let refused = npy::read(&path).unwrap_err().to_string();
    assert!(
        refused.starts_with(&format!("{}: all of its arrays: it needs at least 37.3 GiB", path.display())),
        "{refused}"
    );
    assert!(refused.ends_with("save a part of it, such as fewer rows, or run where there is more memory"), "{refused}");
    let recording = Recording::open(&path).unwrap();
    let program =
        lower_with_libraries(&parse("HloModule m\nENTRY e { ROOT x = f32[5000000000] parameter(0) }").unwrap());
    let program = program.unwrap().program;
    let found = recording.resolve(&program).unwrap().remove(0);
    assert!(recording.read(&program, &found).unwrap_err().to_string().contains("37.3 GiB"));
    let refused = npz::read_one(&archive, "a", None).unwrap_err().to_string();
    assert!(refused.contains("file 0 of it: it needs at least 768 bytes"), "{refused}");
    budget::set_limit(Some(2 * (128 + 256)));
    assert!(npz::read_one(&archive, "a", None).is_ok());
}

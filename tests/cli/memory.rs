//! The memory that arrays may take, lowered until each command refuses; threads that cannot be started; what takes long.

use std::process::Command;

use ulpgate::file::{npz, safetensors};
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, Ran, TINY};

/// A program that every command has arrays of: a token of each row, behind a bitcast that moves elements one by one.
const PROGRAM: &str = "HloModule m, entry_computation_layout={(f32[600,4]{1,0})->(s32[600]{0}, f32[600,4]{1,0})}

larger {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  first = pred[] compare(i, j), direction=LT
  tie = pred[] and(same, first)
  take = pred[] or(more, tie)
  value = f32[] select(take, a, b)
  at = s32[] select(take, i, j)
  ROOT r = (f32[], s32[]) tuple(value, at)
}

ENTRY e {
  x = f32[600,4]{1,0} parameter(0)
  seen = f32[600,4]{1,0:T(3,2)} bitcast(x)
  twice = f32[600,4]{1,0} add(seen, seen)
  places = s32[600,4]{1,0} iota(), iota_dimension=1
  least = f32[] constant(-inf)
  zero = s32[] constant(0)
  best = (f32[600]{0}, s32[600]{0}) reduce(twice, places, least, zero), dimensions={1}, to_apply=larger
  token = s32[600]{0} get-tuple-element(best), index=1
  ROOT r = (s32[600]{0}, f32[600,4]{1,0}) tuple(token, twice)
}
";

impl Folder {
    /// Runs with a limit on memory.
    fn within(&self, bytes: u64, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
        command.args(arguments).current_dir(&self.0).env("ULPGATE_MEMORY", bytes.to_string()).output().unwrap().into()
    }
}

#[test]
fn each_command_refuses_once_as_the_budget_falls() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.write("a.hlo", PROGRAM);
    let values = (0..2400).map(|at| ((at * 37) % 2401) as f32).collect();
    safetensors::write(
        &folder.path("in.safetensors"),
        &[("arg0".to_string(), Tensor::new(&[600, 4], Data::F32(values)))],
    )
    .unwrap();
    folder.exits(0, &["run", "--out", "reports"]);
    // Numbers whose scales are powers of two, and answers that somebody's machine gave.
    let quantised = [
        ("elements".to_string(), Tensor::new(&[4, 32], Data::U8((0..128).map(|at| (at % 96) as u8).collect()))),
        ("scales".to_string(), Tensor::new(&[4, 1], Data::F32(vec![1.0; 4]))),
        ("input".to_string(), Tensor::new(&[4, 32], Data::F32((0..128).map(|at| (at % 96) as f32).collect()))),
    ];
    std::fs::write(folder.path("s.npz"), npz::write(&quantised).unwrap()).unwrap();
    let answers = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/probe/jax_cpu.npz");
    folder.exits(0, &["hlo", "eval", "a.hlo", "--inputs", "in.safetensors", "--out", "y.safetensors"]);
    let inputs = ["--inputs", "in.safetensors"];
    let with = |more: &[&'static str]| [more, &inputs].concat();
    let commands: [(&str, Vec<&str>); 17] = [
        ("run", vec!["run", "--out", "again"]),
        ("gate", vec!["gate"]),
        ("explore", vec!["explore", "argmax[rows=8]", "--n", "64"]),
        ("explore of a file", with(&["explore", "a.hlo", "--result", "out0"])),
        ("same", vec!["same", "a.hlo", "a.hlo"]),
        ("hlo show", vec!["hlo", "show", "a.hlo"]),
        ("hlo diff", with(&["hlo", "diff", "a.hlo", "a.hlo"])),
        ("hlo eval", with(&["hlo", "eval", "a.hlo", "--out", "out.safetensors"])),
        ("hlo eval --exact", with(&["hlo", "eval", "a.hlo", "--out", "out.safetensors", "--exact"])),
        ("hlo why", with(&["hlo", "why", "a.hlo", "--scores", "out1"])),
        ("judge", with(&["judge", "y.safetensors", "--program", "a.hlo"])),
        ("layers", with(&["layers", "y.safetensors", "y.safetensors", "--program", "a.hlo"])),
        ("port", with(&["port", "a.hlo", "--from", "v5e", "--to", "v6e"])),
        ("tolerance", with(&["tolerance", "--program", "a.hlo", "--atol", "1"])),
        ("scales", vec!["scales", "s.npz"]),
        ("probe", vec!["probe", "--answers", answers]),
        ("vectors", vec!["vectors", "--count", "50"]),
    ];
    for (name, command) in &commands {
        let mut refused = None;
        for shift in [30, 20, 16, 14, 12, 10, 8, 4, 0] {
            let ran = folder.within(1 << shift, command);
            assert!(!ran.err.contains("panicked") && (0..=2).contains(&ran.code), "{name} in 2^{shift}: {}", ran.err);
            if ran.code == 2 && ran.err.contains("of memory") {
                assert!(ran.err.contains("ULPGATE_MEMORY sets the limit"), "{name} in 2^{shift}: {}", ran.err);
                refused = Some(shift);
                break;
            }
            assert!(shift < 30 || ran.code < 2, "{name} with room for all: {}", ran.err);
        }
        assert!(refused.is_some_and(|shift| shift < 30), "{name} never refuses");
    }
}

#[test]
fn a_limit_that_is_no_number_is_refused() {
    let folder = Folder::new(&[]);
    let ran =
        Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(["list"]).env("ULPGATE_MEMORY", "much").output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.code() == Some(2) && err.contains("ULPGATE_MEMORY is `much`"), "{err}");
    assert!(folder.names("").len() <= 1);
}

/// Under `ulimit -v` the system has memory that the process does not get.
#[cfg(target_os = "linux")]
#[test]
fn the_limit_on_addresses_is_seen() {
    let folder = Folder::new(&[]);
    folder.write(
        "a.hlo",
        "HloModule m\n\nENTRY e {\n  z = f32[] parameter(0)\n  w = f32[500000000]{0} broadcast(z), dimensions={}\n  \
         ROOT r = f32[500000000]{0} exponential(w)\n}\n",
    );
    let one = Tensor::new(&[], Data::F32(vec![1.5]));
    safetensors::write(&folder.path("in.safetensors"), &[("arg0".to_string(), one)]).unwrap();
    let eval = "hlo eval a.hlo --inputs in.safetensors --out out.safetensors";
    let Ran { code, err, .. } = folder.limited("ulimit -v 1500000; export RAYON_NUM_THREADS=1", eval);
    assert!(code == 2 && err.contains("3.7 GiB of memory") && err.contains("are free"), "{code} {err}");
}

/// A stack larger than the addresses that there are: as under `ulimit -u`, no thread can be started. Many small stacks would leave it
/// to chance whether the last thread that starts still has memory for itself.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_started_are_told() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let Ran { code, err, .. } =
        folder.limited("ulimit -v 600000; export RUST_MIN_STACK=1000000000", "run --out reports");
    assert!(
        code == 2 && err.starts_with("ulpgate: no thread can be started (") && err.contains("ulimit -u"),
        "{code} {err}"
    );
    assert_eq!(err.lines().count(), 1, "{err}");
}

/// Threads beyond any machine's are refused at once, whoever asks for them: they would only wait for each other.
#[test]
fn more_threads_than_any_machine_runs_are_refused() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.write("m.hlo", "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] negate(x)\n}\n");
    for command in ["run --out reports", "explore m.hlo", "hlo show m.hlo"] {
        let Ran { code, err, .. } = folder.limited("export RAYON_NUM_THREADS=99999", command);
        let said = "ulpgate: RAYON_NUM_THREADS=99999: the number of threads is from 1 to 1024\n";
        assert_eq!((code, err.as_str()), (2, said), "{command}");
    }
    // A flag goes before the environment.
    let Ran { code, err, .. } = folder.limited("export RAYON_NUM_THREADS=99999", "run --out reports --jobs 1");
    assert_eq!(code, 0, "{err}");
}

/// A loop of many trips is one operation.
#[test]
fn an_operation_that_takes_long_says_so() {
    let folder = Folder::new(&[]);
    folder.write(
        "a.hlo",
        "HloModule m

goes_on {
  s = s32[] parameter(0)
  n = s32[] constant(1000000)
  ROOT r = pred[] compare(s, n), direction=LT
}

next {
  s = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(s, one)
}

ENTRY e {
  s = s32[] parameter(0)
  ROOT w = s32[] while(s), condition=goes_on, body=next
}
",
    );
    let one = Tensor::new(&[], Data::S32(vec![1]));
    safetensors::write(&folder.path("in.safetensors"), &[("arg0".to_string(), one)]).unwrap();
    let begun = std::time::Instant::now();
    let eval = ["hlo", "eval", "a.hlo", "--inputs", "in.safetensors", "--out", "out.safetensors"];
    let err = folder.exits(0, &eval).err;
    // On a machine on which that takes less than a second there is nothing to say.
    if begun.elapsed().as_millis() > 1500 {
        assert!(err.contains("note: w (while, ") && err.contains(" takes long"), "{err}");
    }
}

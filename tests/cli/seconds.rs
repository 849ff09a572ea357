//! `--seconds`: a command ends when its time is over, within a single operation as well.

use std::time::{Duration, Instant};

use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, TINY};

/// The end of a command that does not keep `--seconds 1`, after so many seconds of processor time: a busy machine's share for each
/// of its threads is in them. The test must end all the same.
const SOON: &str = "ulimit -t 60";

/// Each command that evaluates takes a time, and ends in it.
#[test]
fn every_command_that_evaluates_takes_a_time() {
    let folder = folder();
    let (_, dot) = LONG[0];
    folder.write(
        "long.hlo",
        &format!("HloModule m\n\n{REGIONS}ENTRY e {{\n  unused = f32[] parameter(0)\n  {dot}\n}}\n"),
    );
    let begun = Instant::now();
    let ran = folder.limited(SOON, "tolerance --program long.hlo --rtol 1e-3 --seconds 1");
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    let told = ran.err.lines().last().unwrap_or_default();
    assert!(ran.code == 2 && told.starts_with("ulpgate: --seconds 1: "), "{} {}", ran.code, ran.err);
    let begun = Instant::now();
    let ran = folder.limited(SOON, "vectors --count 300000 --seconds 1");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert!(
        ran.code == 2 && ran.err.contains("(300000 vectors) was not done: the time that was given is over"),
        "{}",
        ran.err
    );
    for command in [
        "run",
        "gate",
        "hlo eval",
        "hlo diff",
        "hlo why",
        "same",
        "explore",
        "judge",
        "port",
        "layers",
        "probe",
        "tolerance",
        "vectors",
        "explain",
    ] {
        let asked: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        assert!(folder.exits(0, &asked).out.contains("--seconds <S"), "{command}");
    }
}

/// One operation each, of minutes where nothing is optimised and of seconds where all is.
const LONG: [(&str, &str); 4] = [
    (
        "a dot",
        "a = f32[3000,3000] iota(), iota_dimension=0\n  b = f32[3000,3000] iota(), iota_dimension=1\n  \
         d = f32[3000,3000] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
         operand_precision={highest,highest}\n  z = f32[] constant(0)\n  ROOT r = f32[3000] reduce(d, z), dimensions={1}, to_apply=add",
    ),
    (
        "a sort",
        "i = s32[8000000] iota(), iota_dimension=0\n  m = s32[] constant(1103515245)\n  w = s32[8000000] broadcast(m), dimensions={}\n  \
         k = s32[8000000] multiply(i, w)\n  s = s32[8000000] sort(k), dimensions={0}, to_apply=less\n  \
         ROOT r = s32[1] slice(s), slice={[0:1]}",
    ),
    (
        "a reduction",
        "i = f32[12000000] iota(), iota_dimension=0\n  z = f32[] constant(0)\n  ROOT r = f32[] reduce(i, z), dimensions={0}, \
         to_apply=odd",
    ),
    (
        "a transform",
        "i = f32[2048] iota(), iota_dimension=0\n  c = c64[1025] fft(i), fft_type=RFFT, fft_length={2048}\n  \
         ROOT r = f32[2048] fft(c), fft_type=IRFFT, fft_length={2048}",
    ),
];

const REGIONS: &str = "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b) }\n\n\
    less { a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT }\n\n\
    odd { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = f32[] sine(b)\n  t = f32[] multiply(a, s)\n  \
    ROOT r = f32[] subtract(t, b) }\n\n";

fn folder() -> Folder {
    let folder = Folder::new(&[]);
    let one = Tensor::new(&[], Data::F32(vec![1.0]));
    safetensors::write(&folder.path("in.safetensors"), &[("arg0".to_string(), one)]).unwrap();
    folder
}

#[test]
fn a_single_operation_is_interrupted() {
    let folder = folder();
    for (what, body) in LONG {
        folder.write(
            "long.hlo",
            &format!("HloModule m\n\n{REGIONS}ENTRY e {{\n  unused = f32[] parameter(0)\n  {body}\n}}\n"),
        );
        let eval = "hlo eval long.hlo --inputs in.safetensors --out out.safetensors --seconds 1";
        for more in ["", "--exact"] {
            let begun = Instant::now();
            let ran = folder.limited(SOON, &format!("{eval} {more}"));
            let told = ran.err.lines().last().unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(90), "{what}: {:?}", begun.elapsed());
            let is_told =
                told.starts_with("ulpgate: --seconds 1: ") && told.ends_with("the time that was given is over");
            // A processor may be quick enough for one of them.
            assert!(ran.code == 0 || ran.code == 2 && is_told, "{what} {more}: {} {}", ran.code, ran.err);
        }
    }
    // In time nothing is different.
    folder.write("short.hlo", "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n  ROOT y = f32[] exponential(x)\n}\n");
    let short =
        ["hlo", "eval", "short.hlo", "--inputs", "in.safetensors", "--out", "out.safetensors", "--seconds", "600"];
    folder.exits(0, &short);
}

/// `same` follows both programs before it tries inputs: that is a part of the time that is asked for.
#[test]
fn following_two_programs_ends_in_time() {
    let folder = Folder::new(&[]);
    let chain = |last: &str| {
        let steps: String = (0..80).map(|at| format!("  y{} = f32[2000000] sine(y{at})\n", at + 1)).collect();
        format!(
            "HloModule m\n\nENTRY e {{\n  y0 = f32[2000000] parameter(0)\n{steps}  ROOT r = f32[2000000] {last}(y80)\n}}\n"
        )
    };
    folder.write("sine.hlo", &chain("sine"));
    folder.write("cosine.hlo", &chain("cosine"));
    let begun = Instant::now();
    let ran = folder.limited(SOON, "same sine.hlo cosine.hlo --seconds 1");
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    let is_told = ran.out.starts_with("OPEN\n  missing: time to follow the programs: ");
    assert!(ran.code == 2 && is_told, "{} {}{}", ran.code, ran.out, ran.err);
}

#[test]
fn a_run_ends_in_time_and_keeps_what_is_done() {
    let slow = TINY
        .replace("\"argmax\"", "\"matmul[dtype=f32,lhs=512xn,rhs=nx512]\"")
        .replace("rows = [2]\n", "precision = [\"highest\"]\n")
        .replace("n = [8]", "n = [60000]")
        .replace("dropped_token", "bound");
    let folder = Folder::new(&[("slow", &slow), ("tiny", TINY)]);
    let begun = Instant::now();
    let ran = folder.limited(SOON, "run --seconds 1");
    assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", begun.elapsed());
    let told = ran.err.lines().last().unwrap_or_default();
    assert!(ran.code == 2 && told.starts_with("ulpgate: --seconds 1: "), "{} {}", ran.code, ran.err);
    assert!(!folder.path("reports/SUMMARY.md").exists(), "reports of a run that is not done");
    let ran = folder.exits(0, &["run", "tiny", "--seconds", "600", "--out", "quick"]);
    assert!(ran.out.contains("As expected"), "{}", ran.out);
}

//! One function as two releases of jaxlib compiled it, against what each computed (`tests/data/hlo_upgrade`).

use std::path::{Path, PathBuf};

use ulpgate::diff::{difference, outcomes};
use ulpgate::file::safetensors;
use ulpgate::hlo::{Import, lower, parse};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::Tensor;

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo_upgrade").join(file)
}

fn bits(tensor: &Tensor) -> Vec<u64> {
    (0..tensor.len()).map(|at| tensor.data().bits(at)).collect()
}

/// Weights are drawn at 1/sqrt(fan-in). Larger ones saturate the softmax, and both releases then give one result.
#[test]
fn inputs_as_they_are_drawn_tell_two_releases_apart() {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    let import = |release: &str| -> Import {
        lower(&parse(&std::fs::read_to_string(path(&format!("attention.{release}.hlo"))).unwrap()).unwrap()).unwrap()
    };
    let [before, after] = ["0.8.1", "0.10.2"].map(import);
    let inputs = safetensors::read(&path("attention.inputs.safetensors")).unwrap();
    let inputs = ulpgate::evaluation::bind(&before, &inputs).unwrap();
    let real = ["0.8.1", "0.10.2"].map(|release| {
        bits(&safetensors::read(&path(&format!("attention.{release}.outputs.safetensors"))).unwrap()[0].1)
    });
    for (release, real) in [&before, &after].into_iter().zip(&real) {
        assert_eq!(bits(&subject::evaluate(&release.program, &mode, &inputs).unwrap()[0]), *real);
    }
    assert!(!difference(&before, &after, Some(mode.chip)).unwrap().changes.is_empty());
    let told = outcomes(&before, &after, [&mode, &mode], &inputs, None, &mut |_| {}).unwrap();
    let differing = real[0].iter().zip(&real[1]).filter(|(a, b)| a != b).count();
    assert_eq!((told[0].differing, told[0].elements), (differing, 512));
    assert_eq!(differing, 256);
}

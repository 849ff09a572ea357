//! The command line: exit codes, JSON, names by `--map`, `.npz`.

use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, Output};

use ulpgate::file::safetensors;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{bytes, input, path, quantized, shifted};

fn ulpgate(file: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ulpgate")).arg("scales").arg(file).args(options).output().unwrap()
}

fn text(output: &Output) -> (Option<i32>, String) {
    let told = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8(told).unwrap())
}

#[test]
fn exit_codes_say_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.safetensors");
    let given = quantized(&input(&[64, 96], 11), "FLOOR", 1, None);
    let write = |names: [&str; 3], scales: &ulpgate::tensor::Tensor| {
        let tensors = [given.input.clone().unwrap(), given.elements.clone(), scales.clone()];
        let named: Vec<_> = names.map(str::to_string).into_iter().zip(tensors).collect();
        safetensors::write(&file, &named).unwrap();
    };
    let usual = ["input", "elements", "scales"];
    write(usual, &given.scales);
    let (code, told) = text(&ulpgate(&file, &[]));
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("rule: FLOOR") && told.contains("one class explains all 192 blocks"), "{told}");
    write(usual, &shifted(&given.scales, 1, |at| at == 7));
    let (code, told) = text(&ulpgate(&file, &[]));
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("first block that disagrees: 7 at [2, 1]") && told.contains("relative error"), "{told}");
    write(["x", "q", "s"], &given.scales);
    let (code, told) = text(&ulpgate(&file, &["--map", "elements=q,scales=s", "--map", "input=x", "--json"]));
    assert_eq!(code, Some(0), "{told}");
    let json: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&json["rules"][0], &json["blocks"]), (&"FLOOR".into(), &192.into()));
    for (options, said) in [
        (vec![], "there is no tensor `elements`; known: q, s, x: name it with --map elements=NAME"),
        (vec!["--map", "q"], "--map `q` is not of the form"),
        (vec!["--map", "elements=x,elements=q"], "--map elements= is given twice"),
        (vec!["--map", "elements=q", "--map", "elements=q"], "--map elements= is given twice"),
        (vec!["--map", "elements=q,scales=x"], "do not fit"),
        (vec!["--map", "elements=q,scales=s,input=y"], "there is no tensor `y`"),
        (vec!["--map", "elements=q,scales=s,input=s"], "input is f8e8m0fnu; f32, bf16 or f16 is needed"),
        (vec!["--map", "elements=q,scales=s,input=x,per_tensor=x"], "one positive finite number is needed"),
    ] {
        let (code, told) = text(&ulpgate(&file, &options));
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(said) && told.lines().count() == 1, "{told}");
    }
    let (code, told) = text(&ulpgate(&folder.path().join("none.npz"), &[]));
    assert_eq!(code, Some(2), "{told}");
}

#[test]
fn the_sample_is_bounded_and_all_blocks_are_held_against_the_best_class() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.safetensors");
    let given = quantized(&input(&[64, 1024], 12), "EVEN", 1, None);
    let scales = shifted(&given.scales, 1, |at| at == 2001);
    let tensors = [("input", given.input.unwrap()), ("elements", given.elements), ("scales", scales)];
    safetensors::write(&file, &tensors.map(|(name, tensor)| (name.to_string(), tensor))).unwrap();
    let output = ulpgate(&file, &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((&json["judged"], &json["blocks"], &json["disagree"]), (&512.into(), &2048.into(), &1.into()));
    assert_eq!(json["first_disagreement"]["block"], 2001);
}

/// An archive as `numpy.savez` writes it, or `numpy.savez_compressed`.
fn archive(arrays: &[(&str, &str, &[usize], Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, descr, dims, data) in arrays {
        let shape: String = dims.iter().map(|dim| format!("{dim},")).collect();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
        archive.write_all(header.as_bytes()).unwrap();
        archive.write_all(data).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn npz_files_are_read_compressed_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.npz");
    let given = quantized(&input(&[8, 64], 13), "RCEIL/a", 1, None);
    let x = given.input.unwrap();
    let arrays = || {
        [
            ("input", "<f4", &[8usize, 64][..], x.data().to_le_bytes()),
            ("elements", "|V1", &[8, 64], bytes(&given.elements)),
            ("scales", "|u1", &[8, 2], bytes(&given.scales)),
        ]
    };
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        std::fs::write(&file, archive(&arrays(), method)).unwrap();
        let (code, told) = text(&ulpgate(&file, &[]));
        assert_eq!(code, Some(0), "{told}");
        assert!(told.contains("e4m3 elements") && told.contains("rule: RCEIL"), "{told}");
    }
    let whole = archive(&arrays(), CompressionMethod::Stored);
    for end in (0..whole.len()).step_by(97) {
        std::fs::write(&file, &whole[..end]).unwrap();
        assert_eq!(text(&ulpgate(&file, &[])).0, Some(2), "{end}");
    }
    assert!(path("jax_rceil_e4m3_bf16").exists());
}

/// A file of a dot is inputs and results at once; its e8m0 scales are bytes.
#[test]
fn judge_names_the_order_of_a_recorded_dot() {
    let judged = |name: &str, program: &str, result: &str| {
        let file = path(name);
        let file = file.to_str().unwrap();
        let map = format!("{result}=out");
        let arguments = ["judge", file, "--program", program, "--n", "1024", "--inputs", file, "--map", &map];
        text(&Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).output().unwrap())
    };
    let (code, told) = judged("dot_mx", "scaled_dot[columns=5,rows=6]", "ordered");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("BITS") && told.contains("acc=exact"), "{told}");
    let (code, told) = judged("dot_rowcol_tight", "scaled_dot[columns=5,order=flat,rows=6,scales=f32]", "ordered_flat");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("BITS"), "{told}");
    // Results of the fused step are another order: near, and not the same bits.
    let (code, told) = judged("dot_rowcol_tight", "scaled_dot[columns=5,rows=6,scales=f32]", "ordered_fma");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("CONFORMING"), "{told}");
}

//! The command line: exit codes, JSON, names by `--map`, `.npz`.

use std::path::Path;
use std::process::{Command, Output};

use ulpgate::file::safetensors;

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

/// An archive as `numpy.savez` writes it.
fn archive(arrays: &[(&str, &str, &[usize], Vec<u8>)], method: u16) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, descr, dims, data) in arrays {
        let shape: String = dims.iter().map(|dim| format!("{dim},")).collect();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut array = b"\x93NUMPY\x01\x00".to_vec();
        array.extend((header.len() as u16).to_le_bytes());
        array.extend(header.bytes());
        array.extend(data);
        let name = format!("{name}.npy");
        let start = bytes.len() as u32;
        let numbers = |of: &[(u32, usize)]| {
            of.iter().flat_map(|(n, size)| n.to_le_bytes()[..*size].to_vec()).collect::<Vec<u8>>()
        };
        let (size, length) = (array.len() as u32, name.len() as u32);
        let common =
            [(20, 2), (0, 2), (u32::from(method), 2), (0, 4), (0, 4), (size, 4), (size, 4), (length, 2), (0, 2)];
        bytes.extend([b"PK\x03\x04".to_vec(), numbers(&common), name.clone().into_bytes(), array].concat());
        let ends = numbers(&[(0, 2), (0, 2), (0, 2), (0, 4), (start, 4)]);
        directory
            .extend([b"PK\x01\x02".to_vec(), numbers(&[(20, 2)]), numbers(&common), ends, name.into_bytes()].concat());
    }
    let (start, count) = (bytes.len() as u32, arrays.len() as u16);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend([(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn npz_files_are_read_and_compressed_ones_are_refused() {
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
    std::fs::write(&file, archive(&arrays(), 0)).unwrap();
    let (code, told) = text(&ulpgate(&file, &[]));
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("e4m3 elements") && told.contains("rule: RCEIL"), "{told}");
    std::fs::write(&file, archive(&arrays(), 8)).unwrap();
    let (code, told) = text(&ulpgate(&file, &[]));
    assert_eq!(code, Some(2));
    assert!(told.contains("`input.npy` is compressed: write it with numpy.savez"), "{told}");
    let whole = archive(&arrays(), 0);
    for end in (0..whole.len()).step_by(97) {
        std::fs::write(&file, &whole[..end]).unwrap();
        assert_eq!(text(&ulpgate(&file, &[])).0, Some(2), "{end}");
    }
    assert!(path("jax_rceil_e4m3_bf16").exists());
}

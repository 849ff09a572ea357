//! Arguments and results of element types that safetensors files do not have.

use std::process::Command;

use ulpgate::evaluation::bind;
use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

const TEXT: &str = "HloModule m\n\nENTRY e {\n  w = s4[4] parameter(0)\n  x = f8e3m4[2] parameter(1)\n  n = s4[4] negate(w)\n  \
    u = u4[4] convert(w)\n  y = f8e3m4[2] add(x, x)\n  ROOT r = (s4[4], u4[4], f8e3m4[2]) tuple(n, u, y)\n}\n";

#[test]
fn narrow_types_go_through_files_in_wider_ones() {
    let folder = tempfile::TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("m.hlo"), TEXT).unwrap();
    let given = [
        ("arg0".to_string(), Tensor::new(&[4], Data::S8(vec![-8, 7, -1, 3]))),
        ("arg1".to_string(), Tensor::new(&[2], Data::from_f64s(DType::F16, &[-1.5, 0.25]).unwrap())),
    ];
    safetensors::write(&place("in.safetensors"), &given).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
    command.args([
        "hlo",
        "eval",
        "m.hlo",
        "--inputs",
        "in.safetensors",
        "--out",
        "out.safetensors",
        "--mode",
        "cpu/f32/off",
    ]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out0 s4[4]\nout1 u4[4]\nout2 f8e3m4[2]\n");
    let got = safetensors::read(&place("out.safetensors")).unwrap();
    let expected = [
        Data::S8(vec![-8, -7, 1, -3]),
        Data::U8(vec![8, 7, 15, 3]),
        Data::from_f64s(DType::F16, &[-3.0, 0.5]).unwrap(),
    ];
    assert_eq!(got.iter().map(|(_, tensor)| tensor.data().clone()).collect::<Vec<Data>>(), expected);
}

#[test]
fn narrow_types_have_no_other_values() {
    let import = lower(&parse(TEXT).unwrap()).unwrap();
    let bound = |w: Data, x: Data| {
        let given = [("arg0".to_string(), Tensor::new(&[4], w)), ("arg1".to_string(), Tensor::new(&[2], x))];
        bind(&import, &given).map(|tensors| tensors.iter().map(Tensor::dtype).collect()).map_err(|why| why.to_string())
    };
    let halves = |values: [f64; 2]| Data::from_f64s(DType::F16, &values).unwrap();
    let (whole, good) = (Data::S8(vec![-8, 7, -1, 3]), halves([f64::NAN, f64::NEG_INFINITY]));
    assert_eq!(bound(whole.clone(), good.clone()), Ok(vec![DType::S4, DType::F8E3M4]));
    for (w, x, why) in [
        (Data::S8(vec![0, 9, 0, 0]), good.clone(), "arg0 is s8[4] with 9 at 1, which s4 has not"),
        (whole.clone(), halves([1.0, 1.03125]), "arg1 is f16[2] with 1.03125 at 1, which f8e3m4 has not"),
        (Data::U8(vec![0; 4]), good, "arg0 is u8[4], but the program takes s4[4]"),
    ] {
        assert_eq!(bound(w, x), Err(why.to_string()));
    }
}

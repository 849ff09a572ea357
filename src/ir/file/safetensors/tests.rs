use half::{bf16, f16};

use super::*;

fn data_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hlo/cpu").join(name)
}

fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), elements].concat()
}

fn message(bytes: &[u8]) -> String {
    parse(Path::new("in.safetensors"), bytes).unwrap_err().to_string()
}

/// Every element type, every code of the small ones, and NaN payloads among the wide ones.
fn one_of_each() -> Vec<(String, Tensor)> {
    let codes: Vec<u8> = (0..=255).collect();
    let halves: Vec<u16> = (0..=u16::MAX).collect();
    let all = [
        Data::Pred(vec![true, false, true]),
        Data::S8(codes.iter().map(|c| *c as i8).collect()),
        Data::S16(vec![i16::MIN, -1, 7]),
        Data::S32(vec![i32::MIN, -1, 7]),
        Data::S64(vec![i64::MIN, -1, 7]),
        Data::U8(codes.clone()),
        Data::U16(halves.clone()),
        Data::U32(vec![u32::MAX, 1]),
        Data::U64(vec![u64::MAX, 1]),
        Data::Coded(DType::F8E5M2, codes.clone()),
        Data::Coded(DType::F8E4M3FNUZ, codes.clone()),
        Data::Coded(DType::F8E5M2FNUZ, codes.clone()),
        Data::Coded(DType::F8E8M0FNU, codes.clone()),
        Data::Coded(DType::F4E2M1FN, codes.iter().map(|code| code & 15).collect()),
        Data::Coded(DType::F8E4M3FN, codes),
        Data::F16(halves.iter().map(|c| f16::from_bits(*c)).collect()),
        Data::BF16(halves.iter().map(|c| bf16::from_bits(*c)).collect()),
        Data::F32([0x7f80_0001, 0xffc0_0000, 0x8000_0000, 1].map(f32::from_bits).to_vec()),
        Data::F64([0xfff0_0000_0000_0001, 1 << 63, 1].map(f64::from_bits).to_vec()),
    ];
    let named = |(i, data): (usize, Data)| (format!("arg{i}"), Tensor::new(&[1, data.len()], data));
    all.into_iter().enumerate().map(named).collect()
}

#[test]
fn all_types_come_back_bit_for_bit() {
    let path = Path::new("memory");
    let mut tensors = one_of_each();
    tensors.push(("empty".to_string(), Tensor::new(&[3, 0], Data::F32(vec![]))));
    tensors.push(("scalar".to_string(), Tensor::new(&[], Data::S32(vec![-5]))));
    let bytes = to_bytes(path, &tensors).unwrap();
    let back = parse(path, &bytes).unwrap();
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert_eq!(back.len(), tensors.len());
    for ((name, tensor), (back_name, back)) in tensors.iter().zip(&back) {
        assert_eq!((name, tensor.dims(), tensor.dtype()), (back_name, back.dims(), back.dtype()));
        let bits = |t: &Tensor| (0..t.len()).map(|i| t.data().bits(i)).collect::<Vec<_>>();
        assert_eq!(bits(tensor), bits(back), "{name}");
    }
    tensors.reverse();
    assert_eq!(to_bytes(path, &tensors).unwrap(), bytes, "the order given must not show");
}

/// The names that the format has for element types, as other writers spell them: reading and writing with one table would not show
/// two names exchanged.
#[test]
fn element_types_have_the_names_of_the_format() {
    let named = [
        ("BOOL", DType::Pred, 1),
        ("I8", DType::S8, 1),
        ("I16", DType::S16, 2),
        ("I32", DType::S32, 4),
        ("I64", DType::S64, 8),
        ("U8", DType::U8, 1),
        ("U16", DType::U16, 2),
        ("U32", DType::U32, 4),
        ("U64", DType::U64, 8),
        ("F8_E5M2", DType::F8E5M2, 1),
        ("F8_E4M3", DType::F8E4M3FN, 1),
        ("F8_E4M3FNUZ", DType::F8E4M3FNUZ, 1),
        ("F8_E5M2FNUZ", DType::F8E5M2FNUZ, 1),
        ("F8_E8M0", DType::F8E8M0FNU, 1),
        ("F16", DType::F16, 2),
        ("BF16", DType::BF16, 2),
        ("F32", DType::F32, 4),
        ("F64", DType::F64, 8),
    ];
    for (name, dtype, size) in named {
        let header = format!(r#"{{"x":{{"dtype":"{name}","shape":[1],"data_offsets":[0,{size}]}}}}"#);
        let tensors = parse(Path::new("x.safetensors"), &file(&header, &[0, 0, 0, 0, 0, 0, 0, 0][..size])).unwrap();
        assert_eq!(tensors[0].1.dtype(), dtype, "{name}");
        let written = to_bytes(Path::new("x.safetensors"), &tensors).unwrap();
        assert!(String::from_utf8_lossy(&written).contains(&format!("\"dtype\":\"{name}\"")), "{name}");
    }
}

/// A file by another writer, rewritten: the same bytes, because both sort alike.
#[test]
fn files_of_others_are_read_and_rewritten_alike() {
    let path = data_file("prob_max.inputs.safetensors");
    let tensors = read(&path).unwrap();
    assert_eq!(tensors.len(), 1);
    let (name, logits) = &tensors[0];
    assert_eq!((name.as_str(), logits.dtype(), logits.dims()), ("arg0", DType::BF16, &[8, 1024][..]));
    assert!((0..logits.len()).all(|i| logits.data().get_f64(i).abs() < 100.0));

    let path = data_file("affine_greedy.excess_on.outputs.safetensors");
    let outputs = read(&path).unwrap();
    let names: Vec<&str> = outputs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["out0", "out1", "out2", "out3"]);
    let (z, top) = (outputs[0].1.data(), outputs[2].1.data().to_i64s());
    for row in 0..8 {
        // What argmax returned holds the row's largest stored value.
        let values = &z.to_f64s()[row * 1024..][..1024];
        assert!(values.iter().all(|v| *v <= values[top[row] as usize]));
    }
    assert_eq!(to_bytes(&path, &outputs).unwrap(), std::fs::read(&path).unwrap());
}

#[test]
fn files_are_written_and_named_in_errors() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("each.safetensors");
    let tensors = one_of_each();
    write(&path, &tensors).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), to_bytes(&path, &tensors).unwrap());
    std::fs::remove_file(&path).unwrap();
    let missing = read(&path).unwrap_err().to_string();
    assert!(missing.contains(path.to_str().unwrap()) && missing.contains("No such file"), "{missing}");
    let twice = [tensors[0].clone(), tensors[0].clone()];
    assert!(to_bytes(&path, &twice).unwrap_err().to_string().contains("`arg0`: the name is given twice"));
}

#[test]
fn malformed_files_say_what_is_wrong() {
    let good = r#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let with = |from: &str, to: &str| file(&good.replace(from, to), &[0; 8]);
    assert!(parse(Path::new("x"), &file(good, &[0; 8])).is_ok());
    let cases: [(Vec<u8>, &str); 15] = [
        (vec![1, 2, 3], "3 bytes, too few for the length of a header"),
        ([&100u64.to_le_bytes()[..], b"{}"].concat(), "the header claims 100 bytes, the file holds 2"),
        ([&u64::MAX.to_le_bytes()[..], b"{}"].concat(), "the header claims 18446744073709551615 bytes"),
        (b"PK\x03\x04 an archive".to_vec(), "it is a .npz file of NumPy"),
        (b"\x93NUMPY an array".to_vec(), "it is a .npy file of NumPy"),
        (file("{\"x\": ", &[]), "invalid JSON in header"),
        (file(good, &[0; 7]), "describes 8 bytes of elements, the file holds 7: it is truncated"),
        (file(good, &[0; 9]), "describes 8 bytes of elements, the file holds 9: bytes are left over"),
        (with("[2]", "[3]"), "do not fill the bytes"),
        (with("[2]", "[4611686018427387904,4]"), "more elements than can be addressed"),
        (with("[0,8]", "[4,12]"), "`x` overlap"),
        // Twice the same bytes: the elements are covered, and the format forbids it.
        (file(&format!("{},{}", &good[..good.len() - 1], &good[1..]), &[0; 8]), "tensor `x`: the name is given twice"),
        (with("F32", "Q7"), "tensor `x` has dtype Q7, which the format does not have"),
        (
            file(&good.replace("F32", "F6_E2M3").replace("[2]", "[4]").replace("[0,8]", "[0,3]"), &[0; 3]),
            "`x` has dtype F6_E2M3, which is not supported",
        ),
        (file(&good.replace("F32", "BOOL").replace("[2]", "[8]"), &[1, 0, 2, 0, 0, 0, 0, 0]), "element 2 is 2"),
    ];
    for (bytes, expected) in cases {
        let message = message(&bytes);
        assert!(message.starts_with("in.safetensors: ") && message.contains(expected), "{message}");
    }
}

/// Each value of a type that the format does not have is stored as that value.
#[test]
fn types_that_the_format_does_not_have_are_stored_in_wider_ones() {
    let narrow = DTYPES.into_iter().filter(|dtype| stored_as(*dtype) != *dtype);
    let named: Vec<(String, Tensor)> = narrow
        .map(|dtype| {
            let codes: Vec<u8> = (0..1u16 << dtype.bits()).map(|code| code as u8).collect();
            (dtype.name().to_string(), Tensor::new(&[codes.len()], Data::Coded(dtype, codes)))
        })
        .collect();
    assert_eq!(named.len(), 9);
    let back = parse(Path::new("memory"), &to_bytes(Path::new("memory"), &named).unwrap()).unwrap();
    for (name, tensor) in &named {
        let stored = &back.iter().find(|(other, _)| other == name).unwrap().1;
        assert_eq!(stored.dtype(), stored_as(tensor.dtype()));
        let (values, stored) = (tensor.data().to_f64s(), stored.data().to_f64s());
        assert!(values.iter().zip(&stored).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{name}");
    }
    let s4 = &back.iter().find(|(name, _)| name == "s4").unwrap().1;
    assert_eq!(s4.data(), &Data::S8(vec![0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]));
}

/// A complex tensor is its two parts.
#[test]
fn complex_tensors_are_two() {
    let bytes: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let header = r#"{"z":{"dtype":"C64","shape":[2],"data_offsets":[0,16]}}"#;
    let tensors = parse(Path::new("in.safetensors"), &file(header, &bytes)).unwrap();
    let part = |values: [f32; 2]| Tensor::new(&[2], Data::F32(values.to_vec()));
    assert_eq!(tensors, [("z.imag".to_string(), part([2.0, 4.0])), ("z.real".to_string(), part([1.0, 3.0]))]);
}

proptest::proptest! {
    /// No bytes make the reader panic, and every prefix of a good file is refused.
    #[test]
    fn truncated_and_garbled_files_are_errors(cut in 0usize..1000, at in 0usize..1000, byte: u8) {
        let path = Path::new("memory");
        let good = to_bytes(path, &one_of_each()[..5]).unwrap();
        proptest::prop_assert!(parse(path, &good[..cut.min(good.len() - 1)]).is_err());
        let mut garbled = good.clone();
        garbled[at % good.len()] = byte;
        let _ = parse(path, &garbled);
    }
}

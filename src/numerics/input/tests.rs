//! The registry as data, seeding, and what each distribution promises.

use super::*;
use crate::num::BF16;
use crate::tensor::{DType, Data, Tensor};

mod distributions;

fn key(input: &str) -> InputKey {
    InputKey { suite: "test".to_string(), input: input.to_string(), n: 1024, seed: 7 }
}

fn argument(name: &str, dtype: DType, dims: &[usize]) -> Argument {
    Argument { name: name.to_string(), dtype, dims: dims.to_vec() }
}

/// Rows of the first and only argument, `[rows, width]` from row `from` on.
fn rows(text: &str, dtype: DType, from: u64, count: usize, width: usize) -> Result<Tensor, InputError> {
    let spec: InputSpec = text.parse()?;
    let arguments = [argument("x", dtype, &[count, width])];
    Ok(generate(&spec, &key(&spec.to_string()), &arguments, from..from + count as u64)?.remove(0))
}

fn bits(data: &Data) -> Vec<u64> {
    (0..data.len()).map(|i| data.bits(i)).collect()
}

/// A matrix product that every distribution can fill.
fn product(m: usize, k: usize, n: usize) -> [Argument; 3] {
    [argument("lhs", DType::F32, &[m, k]), argument("rhs", DType::F32, &[k, n]), argument("labels", DType::S32, &[m])]
}

#[test]
fn registry_is_sorted_described_and_in_range() {
    assert!(INPUTS.windows(2).all(|pair| pair[0].name() < pair[1].name()));
    for input in INPUTS {
        let name = input.name();
        assert!(input.doc().ends_with('.') && input.doc().len() > 40, "{name}");
        assert!(input.parameters().windows(2).all(|pair| pair[0].name < pair[1].name), "{name}");
        for parameter in input.parameters().iter().chain(COMMON) {
            let (min, max) = parameter.range;
            assert!((min..=max).contains(&parameter.default) && !parameter.doc.is_empty(), "{name} {}", parameter.name);
            assert!(!parameter.whole || parameter.default.fract() == 0.0, "{name} {}", parameter.name);
        }
        // One file holds all planted values, one all fixtures.
        let family = ["planted", "fixture"].into_iter().find(|f| name.starts_with(&format!("{f}-")));
        let stem = family.map_or(name.replace('-', "_"), str::to_string);
        let file = format!("{}/input/{stem}.rs", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&file).exists(), "{file}");
        assert_eq!(name.parse::<InputSpec>().unwrap().to_string(), name);
    }
}

/// The first values of every distribution, and their sum over 64 rows. A change of any generator, or of the rule that
/// seeds it, turns this red: all committed reports change with it.
#[test]
fn first_bits_are_these() {
    let mut lines = String::new();
    for input in INPUTS {
        let spec = InputSpec::new(*input);
        let tensors = generate(&spec, &key(&spec.to_string()), &product(3, 64, 2), 0..3).unwrap();
        let hash =
            tensors.iter().flat_map(|t| bits(t.data())).fold(0u64, |h, b| (h ^ b).wrapping_mul(0x0100_0000_01b3));
        let [a, b] = [0, 1].map(|i| tensors[0].data().bits(i));
        lines += &format!("{} {a:08x} {b:08x} {hash:016x}\n", spec);
    }
    assert_eq!(lines, include_str!("first_bits.txt"), "\n{lines}");
}

/// Row r is the same alone, in any range, and with other arguments beside it; other arguments ignore the range.
#[test]
fn rows_do_not_depend_on_what_is_asked_with_them() {
    for input in INPUTS {
        let spec = InputSpec::new(*input);
        let key = key(&spec.to_string());
        let all = generate(&spec, &key, &product(8, 64, 3), 5..13).unwrap();
        for (from, count) in [(5, 8), (12, 1), (5, 1), (7, 3)] {
            let part = generate(&spec, &key, &product(count, 64, 3), from..from + count as u64).unwrap();
            let start = (from as usize - 5) * 64;
            let same = bits(part[0].data()) == bits(all[0].data())[start..][..count * 64];
            assert!(same, "{}: rows {from}, {count}", input.name());
            assert_eq!(bits(part[1].data()), bits(all[1].data()), "{}", input.name());
        }
    }
}

#[test]
fn ranks_zero_one_and_three() {
    let spec: InputSpec = "normal".parse().unwrap();
    let key = key("normal");
    let of = |dims: &[usize], rows| generate(&spec, &key, &[argument("x", DType::F64, dims)], rows);
    // A vector is one row: the same bits as that row of a matrix.
    let vector = of(&[64], 3..4).unwrap().remove(0);
    let matrix = of(&[2, 64], 3..5).unwrap().remove(0);
    assert_eq!(bits(vector.data()), bits(matrix.data())[..64]);
    // A leading index is one stream, however its elements are arranged.
    let cube = of(&[2, 4, 16], 3..5).unwrap().remove(0);
    assert_eq!(bits(cube.data()), bits(matrix.data()));
    assert_eq!(of(&[], 0..1).unwrap()[0].len(), 1);
    assert_eq!(of(&[0, 5], 4..4).unwrap()[0].len(), 0);
    assert_eq!(of(&[2, 0], 4..6).unwrap()[0].len(), 0);
    assert!(generate(&spec, &key, &[], 0..1).unwrap().is_empty());
    let error = of(&[2, 64], 0..3).unwrap_err().to_string();
    assert_eq!(error, "argument `x` has 2 rows, 3 are asked for");
    let error = of(&[1, usize::MAX], 0..1).unwrap_err().to_string();
    assert!(error.contains("does not fit in memory"), "{error}");
    let error = of(&[1, usize::MAX / 16], 0..1).unwrap_err().to_string();
    assert!(error.contains("does not fit in memory"), "{error}");
}

#[test]
fn every_dtype_is_filled_from_the_same_reals() {
    let exact = rows("normal", DType::F64, 0, 2, 100).unwrap();
    for dtype in [DType::F32, DType::BF16, DType::F16, DType::F8E5M2, DType::F8E4M3FN] {
        let got = rows("normal", dtype, 0, 2, 100).unwrap();
        let rounded = Data::from_f64s(dtype, &exact.data().to_f64s()).unwrap();
        assert_eq!(got.data(), &rounded, "{dtype}");
    }
    let bf16 = rows("normal[bf16=1]", DType::F32, 0, 2, 100).unwrap();
    assert_eq!(bf16.dtype(), DType::F32);
    assert!(bf16.data().to_f64s().iter().all(|v| BF16.contains(*v)));
}

#[test]
fn integers_index_rows_of_the_first_argument() {
    let spec: InputSpec = "logits".parse().unwrap();
    for (dtype, limit) in [(DType::S32, 1000), (DType::U8, 256), (DType::S8, 128), (DType::Pred, 2), (DType::U64, 1000)]
    {
        let arguments = [argument("x", DType::F32, &[1, 1000]), argument("labels", dtype, &[4, 5000])];
        let labels = generate(&spec, &key("logits"), &arguments, 0..1).unwrap().remove(1).data().to_i64s();
        assert!(labels.iter().all(|v| (0..limit).contains(v)), "{dtype}");
        assert_eq!(labels.iter().max(), Some(&(limit - 1)), "{dtype}");
        let mean = labels.iter().sum::<i64>() as f64 / 20_000.0;
        let (expected, deviation) = ((limit - 1) as f64 / 2.0, limit as f64 / 12f64.sqrt());
        assert!((mean - expected).abs() < 4.0 * deviation / 20_000f64.sqrt(), "{dtype}: {mean}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |text: &str, dtype, width: usize| rows(text, dtype, 0, 1, width).unwrap_err().to_string();
    for (text, dtype, width, message) in [
        ("clustered[stride=128]", DType::F32, 4992, "40 winners 128 apart take 4993 elements, rows of `x` have 4992"),
        ("planted-nan[count=5]", DType::F32, 4, "count = 5, but rows of `x` have 4 elements"),
        ("planted-inf", DType::F8E4M3FN, 4, "f8e4m3fn of `x` has no infinity"),
        ("positive[hi=0.25]", DType::F32, 4, "lo = 0.5 is not below hi = 0.25"),
        ("wide-exponent[range=15]", DType::F16, 4, "range = 15 leaves the normal numbers of `x` (f16: 14)"),
        ("wide-exponent[bf16=1,range=127]", DType::F64, 4, "(bf16: 126)"),
        ("ill-conditioned", DType::F32, 4, "it needs the two operands of a matrix product"),
    ] {
        let error = refused(text, dtype, width);
        assert!(error.starts_with("input `") && error.contains(message), "{error}");
    }
    let check = |text: &str, arguments: &[Argument]| {
        generate(&text.parse().unwrap(), &key(text), arguments, 0..arguments[0].rows() as u64).unwrap_err().to_string()
    };
    assert!(check("ill-conditioned", &product(2, 2, 2)).contains("k = 2 products cannot cancel"));
    let halves = [argument("a", DType::F16, &[2, 64]), argument("b", DType::F16, &[64, 2])];
    assert!(check("ill-conditioned[cond=1e12]", &halves).contains("below the normal numbers of `a` (f16)"));
    let crossed = [argument("a", DType::F32, &[2, 64]), argument("b", DType::F32, &[2, 64])];
    assert!(check("ill-conditioned", &crossed).contains("are no [.., k] and [k, n]"));
}

/// Results of the platform's libm differ between machines; those of core-math do not.
#[test]
fn no_platform_function_lies_on_the_way() {
    let platform =
        ["exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "pow", "powf", "powi", "sin", "cos"];
    let platform = platform.into_iter().chain(["tan", "atan", "tanh", "sinh", "cosh", "cbrt", "hypot", "gamma", "erf"]);
    let calls: Vec<String> =
        platform.flat_map(|f| [format!(".{f}("), format!("f64::{f}"), format!("f32::{f}")]).collect();
    let mut files = 0;
    for folder in ["input", "metric", "stat"] {
        for entry in std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() || path.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let found = calls.iter().find(|call| code.contains(call.as_str()));
            assert_eq!(found, None, "{}", path.display());
            files += 1;
        }
    }
    assert!(files > 40);
}

//! Vectors for hardware: the committed sample is what the command writes, and their results are what the README says.

use std::fs;
use std::path::{Path, PathBuf};

use rug::Float;
use ulpgate::num::F32;
use ulpgate::scaled::{Format, ScaleType};
use ulpgate::tensor::Tensor;
use ulpgate::vectors::{CHECKSUMS, DEFAULT_COUNT, KINDS, Kind, formats, tensors, write};

/// Vectors of each format in the sample.
const SAMPLE: usize = 240;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors")
}

#[test]
fn the_committed_sample_is_what_is_written() {
    let out = tempfile::tempdir().unwrap();
    let files = write(out.path(), SAMPLE).unwrap();
    let mut size = 0;
    for name in &files {
        let (committed, written) = (fs::read(folder().join(name)).unwrap(), fs::read(out.path().join(name)).unwrap());
        assert!(committed == written, "{name} is another file");
        size += committed.len();
    }
    assert_eq!(files.len(), formats().count() + 2);
    assert!(size <= 1_000_000, "{size} bytes");
}

/// Takes minutes without optimisation.
#[test]
#[ignore = "writes 250 megabytes"]
fn the_whole_has_the_committed_checksums() {
    let out = tempfile::tempdir().unwrap();
    write(out.path(), DEFAULT_COUNT).unwrap();
    let written = fs::read_to_string(out.path().join(CHECKSUMS)).unwrap();
    assert_eq!(fs::read_to_string(folder().join("WHOLE.SHA256SUMS")).unwrap(), written);
}

#[test]
fn a_million_vectors_are_written_by_default_and_fewer_are_their_beginning() {
    assert!(DEFAULT_COUNT * formats().count() >= 1_000_000);
    for format in formats() {
        let (few, more) = (tensors(format, 8).unwrap(), tensors(format, 16).unwrap());
        for ((name, few), (_, more)) in few.iter().zip(&more) {
            let bits = |tensor: &Tensor, at| tensor.data().bits(at);
            assert!((0..few.len()).all(|at| bits(few, at) == bits(more, at)), "{} {name}", format.name);
        }
    }
}

/// Rows of a format's vectors, with elements as codes.
struct Rows {
    format: &'static Format,
    tensors: Vec<(String, Tensor)>,
}

impl Rows {
    fn of(&self, name: &str) -> &Tensor {
        &self.tensors.iter().find(|(known, _)| known == name).unwrap().1
    }

    fn result(&self, name: &str, row: usize) -> f32 {
        f32::from_bits(self.of(name).data().bits(row) as u32)
    }

    fn element(&self, side: &str, row: usize, at: usize) -> f64 {
        let code = if self.format.element.bits() == 4 {
            self.of(side).data().bits(row * 64 + at / 2) as u8 >> (at % 2 * 4) & 0xf
        } else {
            self.of(side).data().bits(row * 128 + at) as u8
        };
        self.format.element.decode(code)
    }

    fn scale(&self, side: &str, row: usize, block: usize) -> f64 {
        let blocks = 128 / self.format.block.unwrap();
        self.format.scales.decode(self.of(side).data().bits(row * blocks + block))
    }
}

/// Sums of 4000 bits, in which nothing is rounded.
#[test]
fn exact_results_are_those_of_sums_without_rounding() {
    for format in formats() {
        let rows = Rows { format, tensors: tensors(format, 64).unwrap() };
        let block = format.block.unwrap();
        for row in 0..64 {
            let mut sum = Float::with_val(4000, 0);
            for at in 0..128 {
                let scale = rows.scale("scale_a", row, at / block) * rows.scale("scale_b", row, at / block);
                let product = rows.element("a", row, at) * rows.element("b", row, at);
                sum += Float::with_val(4000, product) * scale;
            }
            assert_eq!(f64::from(rows.result("exact", row)), f64::from(sum.to_f32()), "{} {row}", format.name);
            assert!(rows.result("exact", row).is_finite());
        }
    }
}

/// Each kind does what it says: accumulators part from the exact result where it puts them to the test.
#[test]
fn kinds_tell_accumulators_apart() {
    for format in formats() {
        let rows = Rows { format, tensors: tensors(format, 800).unwrap() };
        let differs = |kind: Kind, one: &str, other: &str| {
            let of_kind = (0..800).filter(|row| KINDS[row % 8] == kind);
            of_kind.filter(|row| rows.result(one, *row).to_bits() != rows.result(other, *row).to_bits()).count()
        };
        let name = format.name;
        assert!(differs(Kind::Swallowed, "dequantized", "exact") > 25, "{name}");
        assert!(differs(Kind::Swallowed, "in_unit", "dequantized") > 25, "{name}");
        assert!(differs(Kind::Halfway, "blocks", "exact") > 10, "{name}");
        assert!(differs(Kind::FarScales, "dequantized", "exact") > 5, "{name}");
        let results =
            |kind: Kind| (0..800).filter(move |row| KINDS[row % 8] == kind).map(|row| rows.result("exact", row));
        let subnormal =
            results(Kind::Smallest).filter(|value| *value != 0.0 && value.abs() < f32::MIN_POSITIVE).count();
        let is_mx = format.scales == ScaleType::E8M0;
        // Products of the smallest e5m2 are below every f32.
        assert_eq!(subnormal > 10, is_mx && name != "mxfp8_e5m2", "{name} {subnormal}");
        let largest = results(Kind::Largest).fold(0f32, |most, value| most.max(value.abs()));
        assert!(!is_mx || largest > F32.max_finite() as f32 / 64.0, "{name} {largest}");
        assert!(results(Kind::Halfway).all(|value| value != 0.0), "{name}");
    }
}

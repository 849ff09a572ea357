//! The speed of reading and printing HLO text: all files of `tests/data/hlo`, and each of the two forms.
//!
//! `cargo bench -p ulpgate-benches --bench hlo_parse`. Rates are in bytes of text: 0.1 GB/s are 100 MB/s.

use std::hint::black_box;
use std::path::Path;

use ulpgate::hlo::{ast::Module, parse};

use ulpgate_benches::{Contender, contest};

/// The texts below a folder, by path.
fn texts(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "hlo") {
            found.push((path.display().to_string(), std::fs::read_to_string(path).unwrap()));
        }
    }
}

fn main() {
    let mut files = Vec::new();
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/hlo"), &mut files);
    files.sort();
    type Form = (&'static str, fn(&str) -> bool);
    let forms: [Form; 4] = [
        ("all files", |_| true),
        ("unoptimized", |path| path.contains(".before.")),
        ("optimized, CPU", |path| path.contains("cpu") && !path.contains(".before.")),
        ("optimized, TPU", |path| path.contains("tpu") && !path.contains(".before.")),
    ];
    for (form, belongs) in forms {
        let texts: Vec<&str> = files.iter().filter(|(path, _)| belongs(path)).map(|(_, text)| text.as_str()).collect();
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let modules: Vec<Module> = texts.iter().map(|text| parse(text).unwrap()).collect();
        let read = || {
            for text in &texts {
                black_box(parse(black_box(text)).unwrap());
            }
        };
        let print = || {
            for module in &modules {
                black_box(black_box(module).to_string());
            }
        };
        let title = format!("{form}: {} files, {:.2} MB", texts.len(), bytes as f64 / 1e6);
        contest(&title, bytes as f64, "B", 20, vec![Contender::new("parse", read), Contender::new("print", print)]);
    }
}

//! Times contenders side by side on a noisy machine: they take turns, and the best turn of each counts.

pub mod decoder;

use std::time::Instant;

use ulpgate::tensor::{DType, Data, Tensor};

/// One thing to time: a name and what to run. `share` is the part of the contest's work that one run does: a contender
/// that would take minutes runs on a part, and its time is scaled up. `work` is what one run does where that is not the
/// contest's.
pub struct Contender<'a> {
    pub name: String,
    pub share: f64,
    pub work: Option<f64>,
    pub run: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender that does the whole work.
    pub fn new(name: impl Into<String>, run: impl FnMut() + 'a) -> Contender<'a> {
        Contender { name: name.into(), share: 1.0, work: None, run: Box::new(run) }
    }

    /// Says that one run does only this share of the work.
    pub fn on_share(self, share: f64) -> Contender<'a> {
        Contender { share, ..self }
    }

    /// Says that one run does this work instead of the contest's: its time is taken as it is, its rate from this.
    pub fn of_work(self, work: f64) -> Contender<'a> {
        Contender { work: Some(work), ..self }
    }
}

/// Runs each contender `rounds` times in turn, prints a line each, and returns the best seconds for the whole work, in
/// the contenders' order.
///
/// `work` is the number of operations called `unit`, for the rates. Ratios are to the first contender.
pub fn contest(title: &str, work: f64, unit: &str, rounds: usize, mut contenders: Vec<Contender>) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..rounds {
        for (best, contender) in best.iter_mut().zip(&mut contenders) {
            let started = Instant::now();
            (contender.run)();
            *best = best.min(started.elapsed().as_secs_f64() / contender.share);
        }
    }
    println!("\n{title}");
    for (contender, seconds) in contenders.iter().zip(&best) {
        let scaled = if contender.share == 1.0 { String::new() } else { format!(" (from {:.4})", contender.share) };
        println!(
            "  {:<44} {:>11.3} ms {:>9.3} G{unit}/s {:>9.2} x{scaled}",
            contender.name,
            seconds * 1e3,
            contender.work.unwrap_or(work) / seconds / 1e9,
            seconds / best[0],
        );
    }
    best
}

/// Processor seconds of all threads of this process so far, in steps of 10 ms; zero where the system does not tell. Other work on
/// the machine changes them less than the time that passes.
pub fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, which may hold anything, ends with the last parenthesis; time as a user and in the system are fields 14 and 15.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// `bf16[rows,n]` with the spread of a normal distribution of standard deviation 3, without the library's own generators:
/// sums of twelve uniform numbers from a linear congruence.
pub fn logits(rows: usize, n: usize) -> Tensor {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64
    };
    let values: Vec<f64> = (0..rows * n).map(|_| 3.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).collect();
    Tensor::new(&[rows, n], Data::from_f64s(DType::BF16, &values).expect("bf16 is a float"))
}

//! Numerical-precision conformance tests: what a compiler, a chip or a kernel does to a program's numbers, judged against
//! a proven truth.
//!
//! A program is a list of HLO operations ([`Program`]). A [`Subject`] gives its results: the emulated machine in a
//! precision [`Mode`] such as `v5e/default/tpu`, recorded results, or a function of your own. The [`oracle`] gives the
//! truth, proven by interval arithmetic up to MPFR. A [`check`] asks whether the subject's results conform; a [`metric`]
//! says how far off they are.
//!
//! Entry points:
//!
//! - To judge a kernel, or results from elsewhere: [`Question`], with [`subject::Function`] or [`subject::Recorded`].
//! - What changed between two programs that a compiler dumped: [`hlo::parse()`], [`hlo::lower_with_libraries`],
//!   [`diff::difference`].
//! - To run one, emulated or over the real numbers: [`evaluation`].
//! - Whether two give the same bits for all inputs: [`same::compare`].
//! - Every result that a compiler's flags permit: [`explore::explore`].
//! - The truth of a program alone: [`Oracle`].
//! - Suites, their records and reports: [`suite::load`], [`run::run`], [`report`], [`gate`].
//!
//! As a dependency, without the command line and its crates:
//!
//! ```toml
//! [dev-dependencies]
//! ulpgate = { path = "../ulpgate", default-features = false, features = ["quick-mpfr"] }
//!
//! # Emulated matmuls and certified dots are slow without it.
//! [profile.dev.package."*"]
//! opt-level = 2
//! ```
//!
//! On a machine without m4, `.cargo/config.toml` of the crate that depends on it lets GMP and MPFR build all the same:
//!
//! ```toml
//! [env]
//! CONFIG_SITE = { value = "../ulpgate/gmp.site", relative = true }
//! ```
//!
//! # A kernel of one's own
//!
//! A [`Function`](subject::Function) takes a program's arguments and gives its results; the mode beside its name is the arithmetic
//! that it promises, from which its bound is made. `ulpgate list programs` has the programs with their parameters.
//!
//! ```
//! use ulpgate::check::Settings;
//! use ulpgate::subject::{Call, Failure, Function};
//! use ulpgate::tensor::{Data, Tensor};
//! use ulpgate::Question;
//!
//! /// A row sum that adds from left to right.
//! fn softmax(call: &Call) -> Result<Vec<Tensor>, Failure> {
//!     let x = &call.arguments[0];
//!     let e: Vec<f32> = x.data().to_f32s().iter().map(|v| v.exp()).collect();
//!     let rows = e.chunks(x.dims()[1]);
//!     let p = rows.flat_map(|row| row.iter().map(|e| e / row.iter().sum::<f32>())).collect();
//!     Ok(vec![Tensor::new(x.dims(), Data::F32(p))])
//! }
//!
//! // Judged by what plain f32 arithmetic may lose on 4 rows of 1024 numbers.
//! let kernel = Function::new("mine", "cpu/highest/off".parse()?, softmax);
//! let record = Question::of("softmax[dtype=f32,rows=4]", 1024)?
//!     .subject(kernel)
//!     .check("bound", Settings::default())?
//!     .metric("max_ulp")?
//!     .ask()?;
//! record.conforms()?;
//! println!("{} {} ulp", record.id(), record.figures[0].value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a compiler changed
//!
//! ```
//! use ulpgate::diff::difference;
//! use ulpgate::hlo::{Import, lower_with_libraries, parse};
//!
//! fn read(name: &str) -> Result<Import, Box<dyn std::error::Error>> {
//!     let text = std::fs::read_to_string(format!("src/cli/init_files/keep_max.{name}.hlo"))?;
//!     Ok(lower_with_libraries(&parse(&text)?)?)
//! }
//!
//! let found = difference(&read("excess_off")?, &read("excess_on")?, None)?;
//! for change in &found.changes {
//!     println!("{change}"); // rounding-removed ..., with the values that see it
//! }
//! assert!(!found.changes.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A suite from code
//!
//! ```
//! use std::path::Path;
//! use ulpgate::run::{Selection, Settings, Silent, run};
//!
//! let suite = ulpgate::suite::load(Path::new("suites/ties.toml"))?;
//! let outcome = run(&[suite], &Selection::default(), &Settings::default(), None, &Silent)?;
//! for record in &outcome.records {
//!     for check in &record.checks {
//!         println!("{}: {} says {}", record.id(), check.column(), check.outcome.name());
//!     }
//! }
//! assert!(outcome.records.len() > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | program | HLO operations with shapes: [`ir`]; built in ([`program`]) or from a file ([`hlo`]) |
//! | mode | chip, matmul precision, excess policy, refinements: the arithmetic in force ([`machine`]) |
//! | excess policy | what a compiler may do to roundings: a choice of sites of rewrite rules ([`rewrite`]) |
//! | subject | who gives a program's results and is judged ([`subject`]) |
//! | promise | the arithmetic that a subject claims to follow; bounds are made from it |
//! | truth | the exact results, as far as proven; the rest is open ([`oracle`]) |
//! | rung | one arithmetic of the oracle: intervals, pairs, MPFR |
//! | demand | what is asked of the truth: rounded, as stored, near, or in order |
//! | problem | a program with an input of one size: all who evaluate it see the same bits |
//! | case | a problem, a subject, and what is measured and asked |
//! | suite | a claim and its cases ([`suite`]) |
//! | check, finding | a question with a verdict; a deviation that it found ([`check`]) |
//! | metric, figure | a distance to the truth; one number of a record ([`metric`]) |
//! | record | what is known of one case ([`record`]); a report is a view of records ([`report`]) |
//! | gate | fresh records against committed reports ([`gate`]) |

#![deny(missing_docs)]

#[cfg(feature = "cli")]
pub use ulpgate_cli as cli;
#[cfg(feature = "html")]
pub use ulpgate_front::page;
pub use ulpgate_front::{
    Mode, Oracle, Program, Question, Subject, Truth, activity, analysis, budget, check, criterion, deadline, diff,
    evaluation, explore, file, flow, gate, hlo, input, ir, judge, layers, machine, metric, name, num, oracle, port,
    probe, program, record, report, rewrite, run, same, scaled, scales, stat, subject, suite, tensor, vectors, why,
};

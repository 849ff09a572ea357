//! Small programs over constants, put to every oracle.

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Demand, Oracle, OracleError, Truth, TruthTensor};

use super::oracles;

pub(super) const REGIONS: &str = "
add { a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT r = f64[] add(a, b) }

max { a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT r = f64[] maximum(a, b) }

less { a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }

less_total { a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }

less_u64 { a = u64[] parameter(0)
  b = u64[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }

less_doubled { a = f64[] parameter(0)
  b = f64[] parameter(1)
  x = f64[] add(a, a)
  y = f64[] add(b, b)
  ROOT r = pred[] compare(x, y), direction=LT }

less_total_doubled { a = f64[] parameter(0)
  b = f64[] parameter(1)
  x = f64[] add(a, a)
  y = f64[] add(b, b)
  ROOT r = pred[] compare(x, y), direction=LT, type=TOTALORDER }

less_jax { a = f64[] parameter(0)
  b = f64[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  zero = f64[] constant(0)
  nan = f64[] constant(nan)
  a_zero = pred[] compare(a, zero), direction=EQ
  a_one = f64[] select(a_zero, zero, a)
  a_nan = pred[] compare(a, a), direction=NE
  x = f64[] select(a_nan, nan, a_one)
  b_zero = pred[] compare(b, zero), direction=EQ
  b_one = f64[] select(b_zero, zero, b)
  b_nan = pred[] compare(b, b), direction=NE
  y = f64[] select(b_nan, nan, b_one)
  ROOT r = pred[] compare(x, y), direction=LT, type=TOTALORDER }

less_tied { a = f64[] parameter(0)
  b = f64[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  before = pred[] compare(a, b), direction=LT
  after = pred[] compare(b, a), direction=LT
  tie = pred[] compare(before, after), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  ROOT r = pred[] select(tie, earlier, before) }
";

/// The truth of results named in the last line's tuple, of a program over constants, for one oracle.
pub(super) fn ask(oracle: &Oracle, entry: &str, demand: Demand) -> Result<Truth, OracleError> {
    let text = format!("HloModule edges\n{REGIONS}\nENTRY main {{\n{entry}\n}}\n");
    let module = parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let program = lower(&module).unwrap_or_else(|error| panic!("{error} in\n{text}")).program;
    oracle.evaluate(&program, &[], &vec![demand; program.outputs().len()])
}

/// The same, which all oracles agree on and decide.
#[track_caller]
pub(super) fn truth(entry: &str, demand: Demand) -> Vec<TruthTensor> {
    let [first, others @ ..] = oracles().map(|oracle| ask(&oracle, entry, demand).unwrap());
    for other in others {
        // As text: a NaN equals no NaN.
        assert_eq!(format!("{:?}", other.outputs), format!("{:?}", first.outputs), "{entry}");
    }
    assert_eq!(first.stats.undecided, 0, "{entry}: {first:?}");
    first.outputs
}

/// The rounded results of one float output, by their bits; every NaN is one.
#[track_caller]
pub(super) fn floats(entry: &str, expected: &[f64]) {
    let outputs = truth(entry, Demand::Rounded);
    let [TruthTensor::Float(float)] = &outputs[..] else { panic!("{outputs:?}") };
    let bits = |values: &[f64]| -> Vec<u64> {
        values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
    };
    assert_eq!(bits(&float.rounded), bits(expected), "{entry}: {:?} instead of {expected:?}", float.rounded);
}

#[track_caller]
pub(super) fn predicates(entry: &str, expected: &[bool]) {
    let outputs = truth(entry, Demand::Rounded);
    let [TruthTensor::Predicate { values, .. }] = &outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(values.iter().map(|v| v.unwrap()).collect::<Vec<_>>(), expected, "{entry}");
}

#[track_caller]
pub(super) fn integers(entry: &str, expected: &[i64]) {
    let outputs = truth(entry, Demand::Rounded);
    let [TruthTensor::Integer { values, .. }] = &outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(values.iter().map(|v| v.unwrap()).collect::<Vec<_>>(), expected, "{entry}");
}

/// No oracle decides anything of these results.
#[track_caller]
pub(super) fn open(entry: &str) {
    for oracle in oracles() {
        let truth = ask(&oracle, entry, Demand::Rounded).unwrap();
        let open = truth.outputs.iter().map(|output| match output {
            TruthTensor::Float(float) => float.rounded.len() - float.open.len(),
            TruthTensor::Predicate { values, .. } => values.iter().flatten().count(),
            TruthTensor::Integer { values, .. } => values.iter().flatten().count(),
            TruthTensor::Skipped => 1,
        });
        assert_eq!(open.sum::<usize>(), 0, "{entry}: {truth:?}");
    }
}

pub(super) const NAN: f64 = f64::NAN;
pub(super) const INF: f64 = f64::INFINITY;

//! The judge's verdict on a result, and whether an answer of the oracle is that.

use rug::Float;
use rug::float::Round;
use ulpgate::oracle::{FloatTruth, Top, TruthTensor};
use ulpgate::tensor::DType;

use super::ast::Node;
use super::judge::Array;
use super::number::{Num, Range, World};

/// One element rounded to f64.
#[derive(Clone, Debug, PartialEq)]
pub enum Rounded {
    Nan,
    /// These bits.
    Is(f64),
    /// A zero of a sign that nobody knows.
    Zero,
    /// Not known, but no number outside.
    Within(f64, f64),
    Unknown(&'static str),
}

/// The top of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowTop {
    pub best: Vec<usize>,
    pub runner_up: Option<usize>,
    /// `Some(None)`: there is none. `None`: it is not known.
    pub margin_ulp: Option<Option<f64>>,
}

/// The facts that are known of one result.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub rounded: Vec<Rounded>,
    pub tops: Vec<Option<RowTop>>,
    pub integers: Vec<Option<i128>>,
    pub dtype: DType,
}

impl Verdict {
    pub fn new(world: &mut World, node: &Node, array: &Array) -> Verdict {
        let mut verdict = Verdict { rounded: Vec::new(), tops: Vec::new(), integers: Vec::new(), dtype: node.dtype };
        match array {
            Array::Integers(values) => verdict.integers = values.clone(),
            Array::Floats(numbers) => {
                verdict.rounded = numbers.iter().map(rounded).collect();
                let n = node.dims.last().copied().unwrap_or(1).max(1);
                verdict.tops = numbers.chunks(n).map(|row| top(world, node.dtype, row)).collect();
            }
        }
        verdict
    }
}

/// Rounds to nearest even, once.
fn rounded(x: &Num) -> Rounded {
    match x {
        Num::Nan(_) => Rounded::Nan,
        Num::Inf { neg } => Rounded::Is(if *neg { f64::NEG_INFINITY } else { f64::INFINITY }),
        Num::Zero { neg: Some(neg) } => Rounded::Is(if *neg { -0.0 } else { 0.0 }),
        Num::Zero { neg: None } => Rounded::Zero,
        Num::Unknown(why) => Rounded::Unknown(why),
        Num::Real(real) => {
            let Range { lo, hi } = &real.range;
            let (lo, hi) = (lo.to_f64_round(Round::Nearest), hi.to_f64_round(Round::Nearest));
            if lo != hi {
                return Rounded::Within(lo, hi);
            }
            match real.is_negative() {
                Some(neg) if lo == 0.0 => Rounded::Is(if neg { -0.0 } else { 0.0 }),
                None if lo == 0.0 => Rounded::Zero,
                _ => Rounded::Is(lo),
            }
        }
    }
}

/// The best of a row: all NaNs, or else all that share the largest value; the largest below them, and the gap.
fn top(world: &mut World, dtype: DType, row: &[Num]) -> Option<RowTop> {
    if row.iter().any(|x| matches!(x, Num::Unknown(_))) {
        return None;
    }
    let nans: Vec<usize> = (0..row.len()).filter(|i| matches!(row[*i], Num::Nan(_))).collect();
    if !nans.is_empty() {
        return Some(RowTop { best: nans, runner_up: None, margin_ulp: Some(None) });
    }
    let best = leaders(world, row, &(0..row.len()).collect::<Vec<_>>())?;
    let rest: Vec<usize> = (0..row.len()).filter(|i| !best.contains(i)).collect();
    let runner_up = if rest.is_empty() { None } else { Some(leaders(world, row, &rest)?[0]) };
    let margin_ulp = match (best.first(), runner_up) {
        (Some(best), Some(next)) => margin(world, dtype, &row[*best], &row[next]),
        _ => Some(None),
    };
    Some(RowTop { best, runner_up, margin_ulp })
}

/// Those among some that share the largest value.
fn leaders(world: &mut World, row: &[Num], among: &[usize]) -> Option<Vec<usize>> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut best: Vec<usize> = Vec::new();
    for i in among {
        let Some(first) = best.first() else {
            best.push(*i);
            continue;
        };
        match world.compare(&row[*i], &row[*first])?? {
            Less => {}
            Equal => best.push(*i),
            Greater => best = vec![*i],
        }
    }
    Some(best)
}

/// The gap in ulps of the type at the best, rounded to eight bits.
fn margin(world: &mut World, dtype: DType, best: &Num, next: &Num) -> Option<Option<f64>> {
    let format = dtype.format()?;
    let (Num::Real(_) | Num::Zero { .. }, Num::Real(_) | Num::Zero { .. }) = (best, next) else { return Some(None) };
    let exponent = match best {
        Num::Real(real) => {
            let exponent = |end: &Float| end.get_exp().filter(|_| end.is_finite()).map(|e| e - 1);
            let (lo, hi) = (exponent(&real.range.lo)?, exponent(&real.range.hi)?);
            // What no f64 reaches has no ulps in one. Ends of two signs say nothing of the best's exponent.
            if lo != hi || lo > 1023 || real.is_negative().is_none() {
                return None;
            }
            lo.max(format.emin())
        }
        _ => format.emin(),
    } - format.fraction_bits as i32;
    let Num::Real(gap) = world.subtract(best, next) else { return None };
    let shift = |end: &Float| {
        if exponent < 0 { end.clone() << exponent.unsigned_abs() } else { end.clone() >> exponent.unsigned_abs() }
    };
    let eight = |end: &Float| Float::with_val_round(8, shift(end), Round::Nearest).0.to_f64();
    let (lo, hi) = (eight(&gap.range.lo), eight(&gap.range.hi));
    // What leaves the range of f64 on the way is not asked for here.
    let ordinary = |v: f64| (2f64.powi(-1000)..2f64.powi(1000)).contains(&v);
    (lo == hi && ordinary(lo)).then_some(Some(lo))
}

/// The comparison of an answer with the verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Equal to what is known.
    Right,
    /// Given, where the judge does not know.
    Unjudged,
    /// Not given; and whether the judge knows.
    Undecided { known: bool },
    /// Wrong: what it is, what it should be.
    Wrong(String),
}

/// Every answer that an output holds.
pub fn answers(verdict: &Verdict, truth: &TruthTensor) -> Vec<Answer> {
    match truth {
        TruthTensor::Skipped => vec![Answer::Wrong("the result was skipped".into())],
        TruthTensor::Float(float) if !float.rounded.is_empty() => roundings(verdict, float),
        TruthTensor::Float(float) => {
            let pairs = verdict.tops.iter().zip(&float.tops).enumerate();
            let mut answers: Vec<Answer> = pairs.map(|(row, (verdict, top))| one_top(row, verdict, top)).collect();
            if verdict.tops.len() != float.tops.len() {
                answers.push(Answer::Wrong(format!("{} rows for {}", float.tops.len(), verdict.tops.len())));
            }
            answers
        }
        TruthTensor::Integer { values, .. } => {
            let wide = |v: i64| if verdict.dtype == DType::U64 { i128::from(v as u64) } else { i128::from(v) };
            discrete(verdict, values.iter().map(|v| v.map(wide)).collect())
        }
        TruthTensor::Predicate { values, .. } => discrete(verdict, values.iter().map(|v| v.map(i128::from)).collect()),
    }
}

fn discrete(verdict: &Verdict, values: Vec<Option<i128>>) -> Vec<Answer> {
    if values.len() != verdict.integers.len() {
        return vec![Answer::Wrong(format!("{} values for {}", values.len(), verdict.integers.len()))];
    }
    let one = |(at, (known, given)): (usize, (&Option<i128>, &Option<i128>))| match (known, given) {
        (known, None) => Answer::Undecided { known: known.is_some() },
        (None, Some(_)) => Answer::Unjudged,
        (Some(known), Some(given)) if known == given => Answer::Right,
        (Some(known), Some(given)) => Answer::Wrong(format!("[{at}] is {known}, the answer {given}")),
    };
    verdict.integers.iter().zip(&values).enumerate().map(one).collect()
}

fn roundings(verdict: &Verdict, float: &FloatTruth) -> Vec<Answer> {
    if float.rounded.len() != verdict.rounded.len() {
        return vec![Answer::Wrong(format!("{} values for {}", float.rounded.len(), verdict.rounded.len()))];
    }
    let one = |(at, (known, given)): (usize, (&Rounded, &f64))| {
        if float.open.contains(&at) {
            let known = !matches!(known, Rounded::Within(..) | Rounded::Unknown(_) | Rounded::Zero);
            return Answer::Undecided { known };
        }
        let right = match known {
            Rounded::Nan => given.is_nan(),
            Rounded::Is(value) => value.to_bits() == given.to_bits(),
            Rounded::Zero => *given == 0.0,
            Rounded::Within(lo, hi) if (*lo..=*hi).contains(given) => return Answer::Unjudged,
            Rounded::Within(..) => false,
            Rounded::Unknown(_) => return Answer::Unjudged,
        };
        if right { Answer::Right } else { Answer::Wrong(format!("[{at}] is {known:?}, the answer {given:e}")) }
    };
    verdict.rounded.iter().zip(&float.rounded).enumerate().map(one).collect()
}

fn one_top(row: usize, verdict: &Option<RowTop>, top: &Top) -> Answer {
    match verdict {
        known if !top.decided => Answer::Undecided { known: known.is_some() },
        None => Answer::Unjudged,
        Some(known) => {
            let same_margin = known.margin_ulp.is_none_or(|margin| margin == top.margin_ulp);
            if known.best == top.best && known.runner_up == top.runner_up && same_margin {
                Answer::Right
            } else {
                Answer::Wrong(format!("the top of row {row} is {known:?}, the answer {top:?}"))
            }
        }
    }
}

//! Single properties of an arithmetic, read off answers whatever machine gave them.

use super::answers::Answers;
use super::designed::{
    DISTANCES, EXTENTS, MASK, PLACES, SMALL, TIES, WIDTHS, mask_columns, mask_rows, operand_factors, operand_values,
    power,
};
use super::device_order;
use super::mask_order::{Adder, find_orders};

/// A property that was measured.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Property {
    /// The operation that has it, such as `matmul f32 highest`.
    pub of: String,
    /// The property, such as `order at K = 128`.
    pub property: String,
    /// Its value, in words.
    pub value: String,
}

/// The bits of an accumulator that no answer tells: f32's.
const F32: Adder = Adder { bits: 24, truncates: false };

/// All properties that the answers tell.
pub fn measure(answers: &Answers) -> Vec<Property> {
    let mut all = Vec::new();
    for asked in ["default", "high", "highest"] {
        let of = format!("matmul f32 {asked}");
        let mut say = |property: &str, value: Option<String>| {
            all.extend(value.map(|value| Property { of: of.clone(), property: property.to_string(), value }));
        };
        let operands = answers.floats(&format!("operands.{asked}"));
        let operands = operands.as_deref().and_then(Operands::new);
        say("operand bits", operands.map(|operands| operands.bits().to_string()));
        let ties = answers.floats(&format!("ties.{asked}"));
        let of_ties = |operands: Operands| rounding_of_ties(operands.bits(), ties.as_deref()?);
        say("operand rounding", operands.and_then(|operands| operands.rounding().or_else(|| of_ties(operands))));
        say("error of a product", operands.map(|operands| operands.error()));
        say("subnormal operands", operands.map(|operands| operands.subnormal_operand()));
        say("subnormal products", operands.map(|operands| operands.subnormal_product()));
        let width = answers.floats(&format!("width.{asked}"));
        let adder = width.as_deref().and_then(WidthAnswers::new);
        say("accumulator bits", adder.as_ref().map(WidthAnswers::describe_bits));
        say("accumulator rounding", adder.as_ref().map(|adder| adder.rounding().to_string()));
        let fused = answers.floats(&format!("fused.{asked}"));
        say("products", fused.filter(|_| operands.is_some_and(|operands| operands.bits() == 24)).map(|v| fusing(&v)));
        for k in EXTENTS {
            let sums = answers.floats(&format!("order{k}.{asked}"));
            say(&format!("order at K = {k}"), sums.map(|sums| of_matmul(k, &sums, adder.as_ref())));
        }
    }
    let mut say = |of: &str, property: String, value: Option<String>| {
        all.extend(value.map(|value| Property { of: of.to_string(), property, value }));
    };
    for k in EXTENTS {
        let sums = answers.floats(&format!("order{k}.bf16"));
        say("matmul bf16", format!("order at K = {k}"), sums.map(|sums| of_matmul(k, &sums, None)));
    }
    for k in EXTENTS {
        let sums = answers.floats(&format!("sum{k}"));
        let pairs = || mask_rows(k).into_iter().take(2).flat_map(|i| mask_columns(k).into_iter().map(move |j| [i, j]));
        say("sum f32", format!("order of {k}"), sums.map(|sums| of_pairs(k, pairs().zip(sums).collect(), &[F32])));
    }
    for tiles in device_order::MESSAGES {
        let sums = answers.floats(&device_order::name(tiles));
        let size = if tiles == 1 { "1 tile".to_string() } else { format!("{tiles} tiles") };
        let order = sums.map(|sums| device_order::describe(tiles, &sums));
        say("all-reduce f32", format!("order of a message of {size}"), order);
    }
    let small = answers.floats("add_subnormal").map(|sums| match sums.iter().any(|sum| sum.is_subnormal()) {
        true => "kept",
        false => "flushed to zero",
    });
    say("add f32", "subnormals".to_string(), small.map(str::to_string));
    let tie = answers.floats("zero_tie").filter(|v| v.len() == 4).map(|larger| {
        match [larger[0], larger[1]].map(f32::is_sign_negative) {
            [false, false] => "+0 is larger than -0",
            [true, false] => "the second of -0 and +0",
            [false, true] => "the first of -0 and +0",
            [true, true] => "-0, whatever the order",
        }
    });
    say("maximum f32", "tie of zeros".to_string(), tie.map(str::to_string));
    all
}

/// Answers to the question of operands: one row a value, one column a factor.
#[derive(Clone, Copy)]
struct Operands<'a>(&'a [f32]);

impl<'a> Operands<'a> {
    fn new(answers: &'a [f32]) -> Option<Operands<'a>> {
        (answers.len() == operand_values().len() * operand_factors().len()).then_some(Operands(answers))
    }

    fn at(self, value: usize, factor: usize) -> f32 {
        self.0[value * operand_factors().len() + factor]
    }

    /// Bits of significand of an operand that a product with 1 keeps.
    fn bits(self) -> usize {
        let values = operand_values();
        1 + (0..23).take_while(|at| self.at(*at, 0) == values[*at]).count()
    }

    /// The rounding of operands to bf16, where they are.
    fn rounding(self) -> Option<String> {
        if self.bits() != 8 {
            return None;
        }
        let unit = power(-7);
        let ties = [23, 24, 25, 26].map(|at| self.at(at, 0));
        let known = [
            ("to nearest even", [1.0 + 2.0 * unit, 1.0 + unit, -1.0, -1.0 - 2.0 * unit]),
            ("to nearest, ties away from zero", [1.0 + 2.0 * unit, 1.0 + unit, -1.0 - unit, -1.0 - 2.0 * unit]),
            ("toward zero", [1.0 + unit, 1.0, -1.0, -1.0 - unit]),
        ];
        let found = known.into_iter().find(|(_, expected)| *expected == ties);
        Some(found.map_or_else(|| format!("none that is known: {ties:?}"), |(name, _)| name.to_string()))
    }

    /// The largest relative error of a product of two numbers near 1.
    fn error(self) -> String {
        let (values, factors) = (operand_values(), operand_factors());
        let error = |(at, factor): (usize, usize)| {
            let exact = f64::from(values[at]) * f64::from(factors[factor]);
            (f64::from(self.at(at, factor)) - exact).abs() / exact.abs()
        };
        let all = (0..27).flat_map(|at| (0..3).map(move |factor| (at, factor)));
        let worst = all.map(error).fold(0.0, f64::max);
        if worst == 0.0 { "none".to_string() } else { format!("relative, at most 2^{:.1}", core_math::log2(worst)) }
    }

    fn subnormal_operand(self) -> String {
        // 2^-130 times 2^100.
        if self.at(27, 5) == power(-30) { "kept" } else { "taken for zero" }.to_string()
    }

    fn subnormal_product(self) -> String {
        // 2^-30 times 2^-100.
        if self.at(29, 4) == power(-130) { "kept" } else { "flushed to zero" }.to_string()
    }
}

/// The rounding of operands to so many bits of significand, by the answers to the question of ties: `None` where none of its ties
/// are those of these bits.
fn rounding_of_ties(bits: usize, answers: &[f32]) -> Option<String> {
    let p = i32::try_from(bits).ok()?;
    let at = 2 * TIES.clone().position(|tie| tie == p)?;
    let [low, high] = [*answers.get(at)?, *answers.get(at + 1)?];
    let unit = power(1 - p);
    let known = [
        ("to nearest even", [1.0, 1.0 + 2.0 * unit]),
        ("to nearest, ties away from zero", [1.0 + unit, 1.0 + 2.0 * unit]),
        ("toward zero", [1.0, 1.0 + unit]),
    ];
    let found = known.into_iter().find(|(_, expected)| *expected == [low, high]);
    Some(found.map_or_else(|| format!("none that is known: {low:?} and {high:?}"), |(name, _)| name.to_string()))
}

/// Answers to the question of the width at one place of the small number: one row an exponent, one column a small number.
struct WidthAnswers(Vec<[f32; SMALL.len()]>);

impl WidthAnswers {
    /// The place at which the fewest bits are kept: there the small number meets a large one before the other.
    fn new(answers: &[f32]) -> Option<WidthAnswers> {
        let columns = PLACES * SMALL.len();
        if answers.len() != PLACES * WIDTHS.count() * columns {
            return None;
        }
        let rows = answers.chunks(columns).collect::<Vec<_>>();
        let at = |place: usize| {
            let own = rows.iter().skip(place * WIDTHS.count()).take(WIDTHS.count());
            WidthAnswers(own.filter_map(|row| row[place * SMALL.len()..].first_chunk().copied()).collect())
        };
        (0..PLACES).map(at).min_by_key(WidthAnswers::bits)
    }

    fn row(&self, p: u32) -> Option<&[f32; SMALL.len()]> {
        self.0.get((p as usize).checked_sub(*WIDTHS.start() as usize)?)
    }

    /// Bits of significand that hold 2^p and 1 at once.
    fn bits(&self) -> u32 {
        let first = *WIDTHS.start() as usize;
        (first + self.0.iter().take_while(|row| row[0] == 1.0).count()) as u32
    }

    fn describe_bits(&self) -> String {
        let bits = self.bits();
        if bits > *WIDTHS.end() as u32 { format!("more than {}", WIDTHS.end()) } else { bits.to_string() }
    }

    /// The rounding of a sum: where 2^bits has a unit of 2 in the last place, this is what becomes of small numbers.
    fn rounding(&self) -> &'static str {
        let known = [
            ("to nearest even", [0.0, 2.0, 4.0, 0.0, -1.0]),
            ("to nearest, ties away from zero", [2.0, 2.0, 4.0, -1.0, -1.0]),
            ("toward zero", [0.0, 0.0, 2.0, -1.0, -1.0]),
            ("small terms are cut at the accumulator's last bit", [0.0, 0.0, 2.0, 0.0, 0.0]),
        ];
        let row = self.row(self.bits());
        known.iter().find(|(_, expected)| row == Some(expected)).map_or("none that is known", |(name, _)| *name)
    }

    fn truncates(&self) -> bool {
        self.rounding() == "toward zero"
    }
}

/// Whether a product joins the sum unrounded.
fn fusing(answers: &[f32]) -> String {
    // The square's last bit, which its rounding loses. Rows have the square last, then first; columns multiply accordingly.
    let is_kept = |row: usize, column: usize| answers.get(row * 2 + column).is_some_and(|sum| *sum == power(-24));
    let first = (0..DISTANCES.len()).any(|row| is_kept(row, 0));
    let last = (DISTANCES.len()..2 * DISTANCES.len()).any(|row| is_kept(row, 1));
    let value = match [first, last] {
        [true, false] => "join the sum unrounded: fused multiply-adds, in the order of K",
        [false, true] => "join the sum unrounded: fused multiply-adds, from the last product",
        [true, true] => "exact until several are summed",
        [false, false] => "rounded before they are added",
    };
    value.to_string()
}

fn of_matmul(k: usize, sums: &[f32], width: Option<&WidthAnswers>) -> String {
    let (rows, columns) = (mask_rows(k), mask_columns(k));
    let pairs = rows.iter().flat_map(|i| columns.iter().map(move |j| [*i, *j]));
    let adders = match width {
        Some(width) => vec![Adder { bits: width.bits().min(60), truncates: width.truncates() }],
        None => vec![F32, Adder { truncates: true, ..F32 }],
    };
    of_pairs(k, pairs.zip(sums.iter().copied()).collect(), &adders)
}

/// The order that gives the answers with one of these adders; of several the plainest, with the number of the others.
fn of_pairs(k: usize, answers: Vec<([usize; 2], f32)>, adders: &[Adder]) -> String {
    let found = adders.iter().map(|adder| find_orders(k, MASK as i128, &answers, *adder));
    match &found.max_by_key(Vec::len).unwrap_or_default()[..] {
        [] => {
            // The subtree that a term shares with the first one, wherever it grows.
            let of_first = answers.iter().filter(|([i, j], sum)| *i == 0 && j != i && (0.0..=k as f32).contains(sum));
            let sizes: Vec<String> = of_first.map(|([_, j], sum)| format!("{j}: {}", k - *sum as usize)).collect();
            format!("none that is known; terms that are added by the time term 0 meets term j: {}", sizes.join(", "))
        }
        [order] => order.describe(),
        [order, others @ ..] => format!("{} (or {} others that give the same sums)", order.describe(), others.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::rounding_of_ties;
    use crate::probe::designed::input;

    /// TF32 keeps 11 bits: two of its ties tell how it rounds.
    #[test]
    fn ties_tell_how_operands_round() {
        let values = input("ties.lhs").unwrap();
        let values: Vec<f32> = values.data().to_f64s().chunks(32).map(|row| row[0] as f32).collect();
        let away = |v: f32| f32::from_bits((v.to_bits() + 0x1000) & !0x1fff);
        let even = |v: f32| f32::from_bits((v.to_bits() + 0xfff + (v.to_bits() >> 13 & 1)) & !0x1fff);
        let toward_zero = |v: f32| f32::from_bits(v.to_bits() & !0x1fff);
        let told = |round: &dyn Fn(f32) -> f32| {
            rounding_of_ties(11, &values.iter().map(|v| round(*v)).collect::<Vec<f32>>()).unwrap()
        };
        assert_eq!(told(&away), "to nearest, ties away from zero");
        assert_eq!(told(&even), "to nearest even");
        assert_eq!(told(&toward_zero), "toward zero");
        assert_eq!(rounding_of_ties(24, &values), None, "no tie of 24 bits is asked");
    }
}

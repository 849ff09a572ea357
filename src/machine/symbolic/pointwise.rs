//! Operations that make each element from those in the same place, and the identities among them that keep all bits.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use crate::ir::{Binary, Compare, CompareOrder, Op, Unary};
use crate::tensor::DType;

use super::super::backend::Code;
use super::super::integer::{self, conversion_steps};
use super::super::vector::{self, FunctionSteps, VectorUnit};
use super::pairwise::{self, PairwiseOperation};
use super::run::{Site, Tracer};
use super::symbol::{Facts, Mixer, Number, Symbol};
use super::symbol_key::{self as key, FunctionSource, Key};
use super::symbols::{Array, Symbols};

/// A number that an argument has, or that a result of this type is rounded to.
pub fn of_type(symbol: Symbol, dtype: DType) -> Symbol {
    // What a narrow type but bf16 holds is no subnormal of f32.
    let normal = dtype.is_float() && dtype.bits() <= 16 && dtype != DType::BF16 && dtype != DType::F8E8M0FNU;
    symbol.in_type(dtype).with(Facts { normal, ..Facts::default() })
}

/// The symbol of a number rounded to a float type, from f32 or what f32 holds.
pub fn round(symbol: Symbol, dtype: DType) -> Symbol {
    if matches!(dtype, DType::F32 | DType::F64) || symbol.is_of(dtype) {
        return symbol;
    }
    if let Some(value) = symbol.float() {
        let mut value = [value];
        vector::round_to(dtype, &mut value);
        return Symbol::of(Number::Float(value[0]));
    }
    if !is_odd(dtype) {
        return of_type(ROUNDING.and_count(dtype as usize).and(symbol).symbol(), dtype);
    }
    // Rounding to nearest even is odd, makes no subnormals of what is none, and gives nothing negative of what is not.
    let (symbol, opposite) = symbol.split_sign();
    let rounded = ROUNDING.and_count(dtype as usize).and(symbol).symbol().like(symbol);
    of_type(rounded, dtype).with_sign(opposite)
}

static ROUNDING: LazyLock<Mixer> = LazyLock::new(|| Key::Round.mixer());

/// A number of f32 as a TPU takes it to a narrower float: a zero, if it is a subnormal that bf16 does not hold.
fn narrow(symbol: Symbol) -> Symbol {
    match symbol.float() {
        Some(value) => Symbol::of(Number::Float(vector::narrow_f32(value))),
        None if symbol.is_normal() || symbol.is_bf16() => symbol,
        None => {
            let (bare, opposite) = symbol.split_sign();
            NARROWED.and(bare).symbol().like(bare).with_sign(opposite)
        }
    }
}

static NARROWED: LazyLock<Mixer> = LazyLock::new(|| Key::Narrowed.mixer());

/// Whether the opposite of each number belongs to the type, -0 included.
fn is_odd(dtype: DType) -> bool {
    !matches!(dtype, DType::F8E4M3B11FNUZ | DType::F8E4M3FNUZ | DType::F8E5M2FNUZ | DType::F8E8M0FNU)
}

/// An operation on elements that are not all known.
#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
pub fn apply(tracer: &Tracer, site: &Site) -> Symbols {
    let instruction = site.instruction;
    let to = instruction.shape.element_type();
    let from = site.shapes[0].element_type();
    let exact = site.operands.iter().any(|operand| operand.as_array().exact);
    let floats = from.is_float();
    let each = |function: &dyn Fn(Symbol) -> Symbol| -> Symbols {
        Symbols::array(site.of(0).iter().map(|symbol| function(*symbol)).collect())
    };
    let shows_nan = || {
        tracer.grounds.borrow_mut().shows_nan.insert(instruction.name.clone());
    };
    match &instruction.op {
        Op::Convert => convert(tracer, site, from, to),
        Op::BitcastConvert => {
            if from.is_float() && !to.is_float() {
                shows_nan();
            }
            let mixer = Key::Bits { from, to }.mixer();
            each(&|symbol| {
                let plain = || of_type(mixer.and(symbol).symbol(), to);
                let float = tracer.reinterpret(symbol, from, to).unwrap_or_else(plain);
                tracer.note_mantissa(symbol, from, float, to);
                float
            })
        }
        Op::ReducePrecision { exponent_bits, mantissa_bits } => {
            let dtype = if from == DType::BF16 { DType::F32 } else { from };
            let (exponent_bits, mantissa_bits) = (*exponent_bits, *mantissa_bits);
            let mixer = Key::ReducePrecision { exponent_bits, mantissa_bits, dtype }.mixer();
            // With all of f32's exponents it is a rounding to nearest even, bit for bit.
            let of_f32 = dtype == DType::F32 && exponent_bits >= 8;
            let is_zeroed = mantissa_bits < 23 && tracer.machine.unit.flushes_narrowed(from);
            let taken = |symbol: Symbol| if is_zeroed { narrow(symbol) } else { symbol };
            each(&|symbol| match (of_f32, mantissa_bits) {
                (true, 7) => tracer.round(taken(symbol), DType::BF16),
                (true, 23..) => symbol,
                _ => {
                    let (symbol, opposite) = taken(symbol).split_sign();
                    mixer.and(symbol).symbol().with_sign(opposite)
                }
            })
        }
        Op::Unary(unary) => {
            let unit = &tracer.machine.unit.for_instruction(instruction);
            let function = |source: FunctionSource| Function::new(*unary, from, to, unit, source);
            let own = function(FunctionSource::Unit);
            let coded = match &site.kernel.code {
                // Its results count as another function's.
                Code::Function(coded) => Some((coded, function(FunctionSource::Coded(coded.function.clone())))),
                _ => None,
            };
            let invert = |symbol: Symbol| tracer.invert_bits(symbol, to).filter(|_| *unary == Unary::Not);
            let apply = |(at, symbol): (usize, &Symbol)| match &coded {
                Some((columns, function)) if columns.hold(at) => function.of(*symbol),
                _ => invert(*symbol).unwrap_or_else(|| own.of(*symbol)),
            };
            let applied: Vec<Symbol> = site.of(0).iter().enumerate().map(apply).collect();
            match unary {
                Unary::Negate => Symbols::Array(site.operands[0].as_array().with_elements(applied)),
                _ => Symbols::array(applied),
            }
        }
        Op::Binary(binary) => pairwise::join(tracer, site, *binary, exact),
        Op::Compare { direction, order } => {
            if *order == CompareOrder::Total && floats {
                shows_nan();
            }
            let comparison = SymbolicComparison::new(*direction, *order, from, tracer.machine.unit.flush);
            let of = |(a, b): (&Symbol, &Symbol)| {
                tracer.compare_ranges(*direction, from, *a, *b).unwrap_or_else(|| comparison.of(*a, *b))
            };
            Symbols::array(site.of(0).iter().zip(site.of(1)).map(of).collect())
        }
        Op::Select => select(tracer, site),
        Op::Clamp => clamp(tracer, site, from),
        other => unreachable!("{} is no operation on elements", other.opcode()),
    }
}

fn convert(tracer: &Tracer, site: &Site, from: DType, to: DType) -> Symbols {
    let unit = &tracer.machine.unit;
    // A TPU flushes, but not what it takes from f64.
    let flush = if from == DType::F64 { unit.flushes_beside_f64() } else { unit.flush };
    let elements = site.of(0);
    let nan = unit.integer_of_nan(from, to);
    let mixer = Key::Convert { from, to, flush, nan }.mixer();
    // Every number of the one is a number of the other.
    let keeps = match (from, to) {
        _ if from == to => true,
        (_, DType::F64 | DType::F32) => from.is_float() && from != DType::F64,
        _ if from.is_float() || to.is_float() => false,
        (DType::Pred, _) | (_, DType::Pred) => false,
        _ => {
            from.is_signed() <= to.is_signed()
                && from.bits() + u32::from(!from.is_signed() && to.is_signed()) <= to.bits()
        }
    };
    let widens = unit.flushes_beside_f64() && to == DType::F64 && from.is_float() && from != to;
    let element = |symbol: &Symbol| match symbol.number() {
        _ if widens => symbol.flush(),
        _ if keeps => *symbol,
        // Through f32, which f64 is rounded to first, or not.
        _ if from.is_float() && to.is_float() && from != DType::F64 => {
            let taken = if unit.flushes_narrowed(from) { narrow(*symbol) } else { *symbol };
            conversion_steps(from, to).fold(taken, |symbol, to| tracer.round(symbol, to))
        }
        Some(Number::Integer(v)) if !from.is_float() && !to.is_float() => {
            let value = if from == DType::Pred {
                super::super::value::Value::pred(vec![v != 0])
            } else {
                super::super::value::Value::integer(from, vec![v])
            };
            first(&integer::convert(value, to, unit)).unwrap_or(mixer.and(*symbol).symbol())
        }
        None if from == DType::Pred && to.is_integer() => {
            let one = first(&integer::convert(super::super::value::Value::pred(vec![true]), to, unit));
            one.map_or_else(|| mixer.and(*symbol).symbol(), |one| tracer.mask(*symbol, one))
        }
        _ => of_type(mixer.and(*symbol).symbol(), to),
    };
    let converted: Vec<Symbol> = elements.iter().map(element).collect();
    if !keeps && from.is_integer() && to == DType::U8 {
        // A wider type holds them as they are.
        let unknown = converted.iter().filter(|symbol| !symbol.is_known());
        unknown.for_each(|symbol| tracer.note_range(*symbol, 0..=i64::from(u8::MAX)));
    }
    Symbols::Array(site.operands[0].as_array().with_elements(converted))
}

fn first(value: &super::super::value::Value) -> Option<Symbol> {
    Symbols::of_value(value).arrays().first().and_then(|array| array.elements.first().copied())
}

/// A function of one operand.
struct Function {
    unary: Unary,
    mixer: Mixer,
    to: DType,
    float: bool,
    /// Whether subnormal operands count as zeros.
    flushes: bool,
    /// Whether subnormal results that the type does not hold become zeros.
    narrows: bool,
    facts: Facts,
}

impl Function {
    fn new(unary: Unary, from: DType, to: DType, unit: &VectorUnit, source: FunctionSource) -> Function {
        let float = from.is_float();
        let errs = unit.error.perturbs().then_some((unit.eup, unit.implementation));
        // Floats up to f32 are computed in f32; what rounds the result comes behind.
        let dtype = if float && from != DType::F64 { DType::F32 } else { from };
        let way = match unit.error.library().map(|library| library.steps(unary, to)) {
            Some(FunctionSteps::OfEstimate) => Some(key::OwnWay::Estimate(unit.estimate)),
            Some(FunctionSteps::Rounded) => Some(key::OwnWay::StepsOf(to)),
            Some(FunctionSteps::Plain) | None => None,
        };
        let keeps_subnormals = match unary {
            Unary::Abs | Unary::Negate | Unary::Tanh | Unary::ExponentialMinusOne => true,
            Unary::Cbrt | Unary::Sine | Unary::Tan => true,
            _ => source != FunctionSource::Unit,
        };
        let (flush, error) = (unit.flush, unit.error);
        let key = Key::Function(key::Function { unary, dtype, flush, error, errs, source, packed: unit.packed, way });
        let never_negative = matches!(unary, Unary::Exponential | Unary::Logistic | Unary::Abs);
        let f32s = float && from != DType::F64;
        let facts = Facts {
            normal: f32s && unit.flush && !keeps_subnormals,
            not_negative: float && never_negative,
            ..Facts::default()
        };
        let narrows = to == DType::BF16 && unit.flushes_narrowed(DType::F32);
        Function { unary, mixer: key.mixer(), to, float, flushes: facts.normal, narrows, facts }
    }

    fn of(&self, symbol: Symbol) -> Symbol {
        match self.unary {
            Unary::Negate if self.float && is_odd(self.to) => return symbol.opposite(),
            Unary::Not if self.to == DType::Pred => return symbol.opposite(),
            Unary::Abs if self.float => {
                // Of what is flushed it is the flushed magnitude; magnitudes belong to the number's own type.
                let (symbol, _) = symbol.split_sign();
                let bare = symbol.unflush();
                let absolute = self.mixer.and(bare).symbol().like(bare).with(self.facts);
                return round(if bare == symbol { absolute } else { absolute.flush() }, self.to);
            }
            _ => {}
        }
        let symbol = if self.flushes { symbol.unflush() } else { symbol };
        let result = self.mixer.and(symbol).symbol();
        // What rounds to an integer needs no more bits than it had.
        let rounds = matches!(
            self.unary,
            Unary::Ceil | Unary::Floor | Unary::RoundNearestAfz | Unary::RoundNearestEven | Unary::Sign
        );
        let result = if rounds && symbol.is_bf16() { result.in_type(DType::BF16) } else { result };
        let result = if self.float { result.with(self.facts) } else { result };
        let result = if self.narrows { narrow(result) } else { result };
        if self.to.is_float() { round(result, self.to) } else { result }
    }
}

/// A comparison, from one side and of one direction.
pub struct SymbolicComparison {
    mixer: Mixer,
    direction: Compare,
    order: CompareOrder,
    /// The type, where elements can be compared here.
    integers: Option<DType>,
    flips: bool,
    negates: bool,
    commutes: bool,
    /// Whether subnormals count as zeros.
    flushes: bool,
    /// Whether numbers are f32 or bf16 in their usual order, of which a comparison with zero sees the sign and whether it is zero.
    sees_sign: bool,
}

impl SymbolicComparison {
    fn new(direction: Compare, order: CompareOrder, dtype: DType, flush: bool) -> SymbolicComparison {
        let float = dtype.is_float();
        let (one, flips, negates) = direction.basic(!float || order == CompareOrder::Total);
        let compared_in = match dtype {
            DType::F64 | DType::U64 => dtype,
            _ if float => DType::F32,
            _ => DType::S64,
        };
        let key = Key::Compare { direction: one, dtype: compared_in, float: float.then_some((order, flush)) };
        let mixer = key.mixer();
        let commutes = one == Compare::Eq;
        let flushes = flush && float && dtype != DType::F64 && order == CompareOrder::Partial;
        let sees_sign = matches!(dtype, DType::F32 | DType::BF16) && order == CompareOrder::Partial;
        let integers = (!float).then_some(dtype);
        SymbolicComparison { mixer, direction, order, integers, flips, negates, commutes, flushes, sees_sign }
    }

    /// The comparison of integers of a type for equality.
    pub fn equal(dtype: DType) -> SymbolicComparison {
        SymbolicComparison::new(Compare::Eq, CompareOrder::Partial, dtype, false)
    }

    pub fn of(&self, a: Symbol, b: Symbol) -> Symbol {
        if let (Some(dtype), Some(x), Some(y)) = (self.integers, a.integer(), b.integer()) {
            let ordering = if dtype == DType::U64 { (x as u64).cmp(&(y as u64)) } else { x.cmp(&y) };
            return Symbol::of(Number::Integer(i64::from(self.direction.of(Some(ordering)))));
        }
        if a == b && (self.integers.is_some() || self.order == CompareOrder::Total) {
            return Symbol::of(Number::Integer(i64::from(self.direction.of(Some(std::cmp::Ordering::Equal)))));
        }
        let is_zero = |symbol: Symbol| symbol.float() == Some(0.0);
        let (a, b) = match self.sees_sign && is_zero(a) != is_zero(b) {
            true => (self.rounded(a), self.rounded(b)),
            false => (a, b),
        };
        let (a, b) = if self.flushes { (a.unflush(), b.unflush()) } else { (a, b) };
        let (a, b) = if self.flips || self.commutes && b < a { (b, a) } else { (a, b) };
        self.mixer.and(a).and(b).symbol().with_sign(self.negates)
    }
}

impl SymbolicComparison {
    /// A number rounded to bf16, where that keeps its sign and makes no zero of it: of f32 that are no subnormals, since bf16 has
    /// their exponents.
    fn rounded(&self, symbol: Symbol) -> Symbol {
        let compared = if self.flushes { symbol.flush() } else { symbol };
        if symbol.is_known() || !compared.is_normal() { symbol } else { round(compared, DType::BF16) }
    }
}

fn select(tracer: &Tracer, site: &Site) -> Symbols {
    let mixer = Key::Select.mixer();
    let (flags, on_true, on_false) = (site.of(0), site.of(1), site.of(2));
    let integers = site.instruction.shape.element_type().is_integer();
    let element = |at: usize| {
        let (flag, sides) = (flags[if flags.len() == 1 { 0 } else { at }], [on_true[at], on_false[at]]);
        let masked = integers.then(|| tracer.choose_or_zero(flag, sides)).flatten();
        masked.unwrap_or_else(|| choose(&mixer, flag, sides[0], sides[1]))
    };
    let elements = (0..on_true.len()).map(element).collect();
    let sides = [1, 2].map(|side| site.operands[side].as_array());
    let (exact, several) = (sides.iter().any(|side| side.exact), sides.iter().any(|side| side.several));
    Symbols::Array(Array { exact, several, ..Array::new(elements) })
}

/// One of two numbers by a flag, under the key of such choices.
pub fn choose(mixer: &Mixer, flag: Symbol, on_true: Symbol, on_false: Symbol) -> Symbol {
    match flag.integer() {
        Some(0) => return on_false,
        Some(_) => return on_true,
        None if on_true == on_false => return on_true,
        None => {}
    }
    let (flag, negated) = flag.split_sign();
    let (a, b) = if negated { (on_false, on_true) } else { (on_true, on_false) };
    let chosen = |a: Symbol, b: Symbol| mixer.and(flag).and(a).and(b).symbol().one_of(a, b);
    // A choice between numbers as flushing arithmetic takes them is the choice between the numbers, taken so.
    if a.is_normal() && b.is_normal() { chosen(a.unflush(), b.unflush()).flush() } else { chosen(a, b) }
}

/// `min(max(low, value), high)`.
fn clamp(tracer: &Tracer, site: &Site, dtype: DType) -> Symbols {
    let (low, values, high) = (site.of(0), site.of(1), site.of(2));
    let at = |edge: &[Symbol], i: usize| edge[if edge.len() == 1 { 0 } else { i }];
    let [larger, smaller] = [Binary::Maximum, Binary::Minimum]
        .map(|binary| PairwiseOperation::new(binary, dtype, &tracer.machine.unit, tracer));
    let element = |(i, v): (usize, &Symbol)| {
        let (low, high) = (at(low, i), at(high, i));
        let clamped = smaller.of(larger.of(low, *v), high);
        if let (Some(low), Some(high)) = (low.integer(), high.integer())
            && low <= high
        {
            tracer.ranges.borrow_mut().insert(clamped, low..=high);
        }
        clamped
    };
    Symbols::array(values.iter().enumerate().map(element).collect())
}

impl Tracer<'_> {
    /// The numbers from the least to the greatest that an integer of a type may be, as far as it is known; of `u64` nothing is.
    pub fn range(&self, symbol: Symbol, dtype: DType) -> Option<RangeInclusive<i64>> {
        let (bits, signed) = (dtype.bits(), dtype.is_signed());
        let of_type = || match (bits, signed) {
            (64, false) => None,
            (64, true) => Some(i64::MIN..=i64::MAX),
            (_, true) => Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1),
            (_, false) => Some(0..=(1 << bits) - 1),
        };
        let known = symbol.integer().map(|value| value..=value);
        known.or_else(|| self.ranges.borrow().get(&symbol).cloned()).or_else(of_type).filter(|_| bits < 64 || signed)
    }

    /// Notes between which numbers an integer lies, where nothing is known of it yet.
    pub fn note_range(&self, symbol: Symbol, range: RangeInclusive<i64>) {
        self.ranges.borrow_mut().entry(symbol).or_insert(range);
    }

    /// Notes between which numbers a maximum or minimum of integers lies, where one of them is known.
    pub fn note_extreme(&self, binary: Binary, dtype: DType, [a, b]: [Symbol; 2], result: Symbol) {
        if !dtype.is_integer() || !matches!(binary, Binary::Maximum | Binary::Minimum) || result.is_known() {
            return;
        }
        if let (true, Some(one), Some(other)) =
            (a.is_known() || b.is_known(), self.range(a, dtype), self.range(b, dtype))
        {
            let pick = |x: i64, y: i64| if binary == Binary::Maximum { x.max(y) } else { x.min(y) };
            let range = pick(*one.start(), *other.start())..=pick(*one.end(), *other.end());
            self.ranges.borrow_mut().insert(result, range);
        }
    }

    /// A comparison of integers that lie apart, whatever the arguments are.
    fn compare_ranges(&self, direction: Compare, dtype: DType, a: Symbol, b: Symbol) -> Option<Symbol> {
        if !dtype.is_integer() || a.is_known() == b.is_known() {
            return None;
        }
        let (one, other) = (self.range(a, dtype)?, self.range(b, dtype)?);
        let ordering = |x: i64, y: i64| direction.of(Some(x.cmp(&y)));
        let answer = match direction {
            // Of an order the ends decide: both answers of the ends are that of all between.
            Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => {
                let ends = [ordering(*one.start(), *other.end()), ordering(*one.end(), *other.start())];
                (ends[0] == ends[1]).then_some(ends[0])?
            }
            Compare::Eq | Compare::Ne => {
                let apart = one.end() < other.start() || other.end() < one.start();
                apart.then_some(direction == Compare::Ne)?
            }
        };
        Some(Symbol::of(Number::Integer(i64::from(answer))))
    }

    /// An integer as `clamp` leaves it, from 0 up to `last`; one that was clamped so is left as it is.
    pub fn clamp(&self, symbol: Symbol, last: usize, dtype: DType) -> Symbol {
        let within = |range: &RangeInclusive<i64>| *range.start() >= 0 && *range.end() <= last as i64;
        if self.ranges.borrow().get(&symbol).is_some_and(within) {
            return symbol;
        }
        let [low, high] = [0, last as i64].map(|edge| Symbol::of(Number::Integer(edge)));
        let [larger, smaller] = [Binary::Maximum, Binary::Minimum]
            .map(|binary| PairwiseOperation::new(binary, dtype, &self.machine.unit, self));
        smaller.of(larger.of(low, symbol), high)
    }
}

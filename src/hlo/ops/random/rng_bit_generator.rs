//! `rng-bit-generator` as the integer arithmetic that XLA's RngBitGeneratorExpander makes of it (FACTS 4.2).
//!
//! Source of the functions: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).

use crate::ir::{Binary, Compare, CompareOrder, Op, Shape, ValueId};
use crate::tensor::DType;

use crate::builder::Emitter;
use crate::builder::Value;
use crate::builder::array_operation::{binary, slice};
use crate::builder::fill::{integer, spread};
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// Bits that one word of a function has.
const WORD: i64 = 32;

/// The new state and the bits.
pub fn lower(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    let claimed = e.claimed_shape()?;
    // A compiled TPU file has bits alone: modelling choice, those that the program as written has.
    let (are_alone, parts) = match &claimed {
        Shape::Tuple(parts) => (false, parts.clone()),
        bits => (true, vec![claimed.clone(), bits.clone()]),
    };
    let [Value::Array(state)] = operands else { return Err(e.fail("one operand is needed, the state")) };
    let (state, words) = (*state, e.shape(*state).elements());
    if e.shape(state).dtype() != Some(DType::U64) || e.shape(state).dims().len() != 1 {
        return Err(e.fail(format!("the state is u64[2] or u64[3], not {}", e.shape(state))));
    }
    let [_, Shape::Array { dtype, dims }] = &parts[..] else {
        return Err(e.fail("the result is a tuple of a state and an array of bits"));
    };
    if !dtype.is_integer() || dtype.bits() < 8 {
        return Err(e.fail(format!("bits come as integers of 8 to 64 bits, not as {dtype}")));
    }
    let (dtype, dims) = (*dtype, dims.clone());
    let (state, bits) = match (e.attributes().word("algorithm").unwrap_or_default(), words) {
        ("rng_three_fry", 2) => three_fry(e, state, dtype, &dims)?,
        // The default on a CPU (FACTS 4.2); a modelling choice for TPUs.
        ("rng_philox" | "rng_default", 2 | 3) => philox(e, state, dtype, &dims)?,
        (known @ ("rng_three_fry" | "rng_philox" | "rng_default"), words) => {
            return Err(e.refuse("algorithm", format!("{known} has no state of {words} words")));
        }
        (other, _) => {
            let why = format!("unknown algorithm `{other}`; known are rng_three_fry, rng_philox and rng_default");
            return Err(e.unknown_at("algorithm", why));
        }
    };
    if are_alone {
        return Ok(Value::Array(bits));
    }
    Ok(Value::Tuple(vec![Value::Array(state), Value::Array(bits)]))
}

/// `x op number`, element by element.
fn with(e: &mut Emitter, op: Binary, x: ValueId, number: i64) -> Result<ValueId> {
    let (dtype, dims) = (e.shape(x).element_type(), e.shape(x).dims().to_vec());
    let number = integer(e, dtype, number, &dims)?;
    binary(e, op, x, number)
}

/// An element of the state.
fn word(e: &mut Emitter, state: ValueId, at: usize) -> Result<ValueId> {
    let list = slice(e, state, 0, [at, at + 1])?;
    e.reshape(list, &[])
}

/// The lower and the upper half of u64.
fn halves(e: &mut Emitter, whole: ValueId) -> Result<[ValueId; 2]> {
    let upper = with(e, Binary::ShiftRightLogical, whole, WORD)?;
    Ok([e.convert(whole, DType::U32)?, e.convert(upper, DType::U32)?])
}

/// u64 of a lower and an upper half.
fn joined(e: &mut Emitter, [lower, upper]: [ValueId; 2]) -> Result<ValueId> {
    let (lower, upper) = (e.convert(lower, DType::U64)?, e.convert(upper, DType::U64)?);
    let upper = with(e, Binary::ShiftLeft, upper, WORD)?;
    binary(e, Binary::Or, lower, upper)
}

/// A list of all that is given.
fn listed(e: &mut Emitter, words: &[ValueId]) -> Result<ValueId> {
    let mut lists = Vec::with_capacity(words.len());
    for word in words {
        let len = e.shape(*word).elements();
        lists.push(e.reshape(*word, &[len])?);
    }
    e.emit(Op::Concatenate { dim: 0 }, lists, None)
}

/// Threefry2x32 with 20 rounds: a block of two words for each counter.
fn three_fry_block(e: &mut Emitter, counter: [ValueId; 2], key: [ValueId; 2]) -> Result<[ValueId; 2]> {
    const ROTATIONS: [[i64; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let parity = with(e, Binary::Xor, key[0], 0x1bd1_1bda)?;
    let keys = [key[0], key[1], binary(e, Binary::Xor, parity, key[1])?];
    let dims = e.shape(counter[0]).dims().to_vec();
    let mut x = [0; 2];
    for (side, word) in x.iter_mut().enumerate() {
        let key = spread(e, keys[side], &dims)?;
        *word = binary(e, Binary::Add, counter[side], key)?;
    }
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x[0] = binary(e, Binary::Add, x[0], x[1])?;
            let left = with(e, Binary::ShiftLeft, x[1], rotation)?;
            let right = with(e, Binary::ShiftRightLogical, x[1], WORD - rotation)?;
            let rotated = binary(e, Binary::Or, left, right)?;
            x[1] = binary(e, Binary::Xor, x[0], rotated)?;
        }
        let second = with(e, Binary::Add, keys[(group + 2) % 3], group as i64 + 1)?;
        for (word, key) in x.iter_mut().zip([keys[(group + 1) % 3], second]) {
            let key = spread(e, key, &dims)?;
            *word = binary(e, Binary::Add, *word, key)?;
        }
    }
    Ok(x)
}

/// The counter's value at the elements of an array, row-major.
fn counters(e: &mut Emitter, first: ValueId, dims: &[usize]) -> Result<ValueId> {
    let count = dims.iter().product();
    let places = e.emit(Op::Iota { dim: 0 }, vec![], Some(Shape::array(DType::U64, &[count])))?;
    let first = spread(e, first, &[count])?;
    let counters = binary(e, Binary::Add, first, places)?;
    e.reshape(counters, dims)
}

fn three_fry(e: &mut Emitter, state: ValueId, dtype: DType, dims: &[usize]) -> Result<(ValueId, ValueId)> {
    let (key, first) = (word(e, state, 0)?, word(e, state, 1)?);
    let key_words = halves(e, key)?;
    let is_wide = dtype.bits() == 64;
    // The two words of a block lie beside each other in one dim: the first even one, or else the longest.
    let longest = || (0..dims.len()).rev().max_by_key(|dim| dims[*dim]);
    let split = (0..dims.len()).find(|dim| dims[*dim].is_multiple_of(2)).or_else(longest);
    let mut blocks = dims.to_vec();
    if let (Some(split), false) = (split, is_wide) {
        blocks[split] = dims[split].div_ceil(2);
    }
    let counter = counters(e, first, &blocks)?;
    let counter_words = halves(e, counter)?;
    let words = three_fry_block(e, counter_words, key_words)?;
    let bits = match split {
        _ if is_wide => joined(e, words)?,
        None => words[0],
        Some(split) => {
            let beside = [&blocks[..=split], &[1], &blocks[split + 1..]].concat();
            let words = [e.reshape(words[0], &beside)?, e.reshape(words[1], &beside)?];
            let pairs = e.emit(Op::Concatenate { dim: split + 1 }, words.to_vec(), None)?;
            let mut even = blocks.clone();
            even[split] *= 2;
            let pairs = e.reshape(pairs, &even)?;
            let whole = Op::Slice { start: vec![0; dims.len()], limit: dims.to_vec(), stride: vec![1; dims.len()] };
            if even == dims { pairs } else { e.emit(whole, vec![pairs], None)? }
        }
    };
    let next = with(e, Binary::Add, first, blocks.iter().product::<usize>() as i64)?;
    Ok((listed(e, &[key, next])?, e.convert(bits, dtype)?))
}

/// Philox4x32 with 10 rounds: a block of four words for each counter.
fn philox_block(e: &mut Emitter, mut x: [ValueId; 4], mut key: [ValueId; 2]) -> Result<[ValueId; 4]> {
    const MULTIPLIERS: [i64; 2] = [0xd251_1f53, 0xcd9e_8d57];
    const STEPS: [i64; 2] = [0x9e37_79b9, 0xbb67_ae85];
    let dims = e.shape(x[0]).dims().to_vec();
    for _ in 0..10 {
        let mut products = [[0; 2]; 2];
        for (side, product) in products.iter_mut().enumerate() {
            let wide = e.convert(x[2 * side], DType::U64)?;
            let whole = with(e, Binary::Multiply, wide, MULTIPLIERS[side])?;
            *product = halves(e, whole)?;
        }
        let mut mixed = [0; 2];
        for (side, mixed) in mixed.iter_mut().enumerate() {
            let key = spread(e, key[side], &dims)?;
            let upper = binary(e, Binary::Xor, products[1 - side][1], x[2 * side + 1])?;
            *mixed = binary(e, Binary::Xor, upper, key)?;
        }
        x = [mixed[0], products[1][0], mixed[1], products[0][0]];
        for (key, step) in key.iter_mut().zip(STEPS) {
            *key = with(e, Binary::Add, *key, step)?;
        }
    }
    Ok(x)
}

/// A counter of 128 bits, lower half first, and 64 bits more.
fn added(e: &mut Emitter, [lower, upper]: [ValueId; 2], more: ValueId) -> Result<[ValueId; 2]> {
    let dims = e.shape(more).dims().to_vec();
    let (lower, upper) = (spread(e, lower, &dims)?, spread(e, upper, &dims)?);
    let sum = binary(e, Binary::Add, lower, more)?;
    let less = Op::Compare { direction: Compare::Lt, order: CompareOrder::Partial };
    let carries = e.emit(less, vec![sum, lower], None)?;
    let raised = with(e, Binary::Add, upper, 1)?;
    Ok([sum, e.emit(Op::Select, vec![carries, raised, upper], None)?])
}

fn philox(e: &mut Emitter, state: ValueId, dtype: DType, dims: &[usize]) -> Result<(ValueId, ValueId)> {
    let key = word(e, state, 0)?;
    let has_long_counter = e.shape(state).elements() == 3;
    // Without a third word, the key is the counter's upper half.
    let counter = [word(e, state, 1)?, if has_long_counter { word(e, state, 2)? } else { key }];
    let count: usize = dims.iter().product();
    let words_each = if dtype.bits() == 64 { 2 } else { 1 };
    let blocks = (count * words_each).div_ceil(4);
    let places = e.emit(Op::Iota { dim: 0 }, vec![], Some(Shape::array(DType::U64, &[blocks])))?;
    let [lower, upper] = added(e, counter, places)?;
    let ([a, b], [c, d]) = (halves(e, lower)?, halves(e, upper)?);
    let key_words = halves(e, key)?;
    let mut numbers = philox_block(e, [a, b, c, d], key_words)?.to_vec();
    if words_each == 2 {
        numbers = vec![joined(e, [numbers[0], numbers[1]])?, joined(e, [numbers[2], numbers[3]])?];
    }
    let each = numbers.len();
    for number in &mut numbers {
        *number = e.reshape(*number, &[blocks, 1])?;
    }
    let bits = e.emit(Op::Concatenate { dim: 1 }, numbers, None)?;
    let bits = e.reshape(bits, &[blocks * each])?;
    let bits = slice(e, bits, 0, [0, count])?;
    let bits = e.reshape(bits, dims)?;
    let blocks = integer(e, DType::U64, blocks as i64, &[])?;
    let next = added(e, counter, blocks)?;
    let state = if has_long_counter { listed(e, &[key, next[0], next[1]])? } else { listed(e, &[key, next[0]])? };
    Ok((state, e.convert(bits, dtype)?))
}

//! Bit-level shortcuts for the conversions that hot loops make; a test holds each to [`super::round()`] over all codes.

/// `x` rounded to nearest even to bf16, held in f32. NaN stays NaN; overflow gives an infinity.
#[inline(always)]
pub fn bf16_nearest(x: f32) -> f32 {
    let bits = x.to_bits();
    // Adding 0x7fff plus the last kept bit carries into the kept half exactly when nearest-even rounds up.
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000;
    if x.is_nan() { f32::from_bits((bits | 0x0040_0000) & 0xffff_0000) } else { f32::from_bits(rounded) }
}

/// `x` with the low 16 bits cleared: bf16 rounded toward zero. A NaN stays one.
#[inline(always)]
pub fn bf16_truncate(x: f32) -> f32 {
    let quiet = if x.is_nan() { 0x0040_0000 } else { 0 };
    f32::from_bits((x.to_bits() | quiet) & 0xffff_0000)
}

/// A subnormal f32 becomes a zero of its sign; bf16 shares the exponent range, so this flushes bf16 values as well.
#[inline(always)]
pub fn flush_f32(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { f32::from_bits(x.to_bits() & 0x8000_0000) } else { x }
}

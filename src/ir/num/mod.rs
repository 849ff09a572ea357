//! Number formats as rows with their ulps (`format`), the one rounding function (`round`), and bit-level shortcuts that
//! give the same (`fast`).
//!
//! Every format here is a subset of binary64, so a value of any format is held exactly in an `f64`. Rounding happens
//! once, in [`round()`], from full information: a significand with a sticky bit, or an MPFR value with its ternary flag.

mod format;
mod round;
mod shortcut;

pub use format::{
    BF16, F4E2M1FN, F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0FNU, F16, F32, F64,
    FORMATS, Format, Specials, TF32, TOY6, exp2i, find_format, floor_log2, scale,
};
pub use round::{Direction, round, round_f64, round_mpfr};
pub use shortcut::{bf16_nearest, bf16_truncate, flush_f32};

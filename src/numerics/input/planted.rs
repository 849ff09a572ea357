//! Normals with a special value in every row. One row of this file's table is one distribution.

use crate::num::Format;

use super::parameter::{MANY, SCALE};
use super::{Argument, Input, InputSpec, ParameterDoc, Row, Sampler, Unfit, normal};

/// Plants one kind of value.
pub(super) struct Planted {
    name: &'static str,
    doc: &'static str,
    /// The value of the i-th planted element, in order of position.
    value: fn(&'static Format, usize, &mut Sampler) -> f64,
    /// Whether the format needs infinities.
    infinite: bool,
}

const COUNT: ParameterDoc = ParameterDoc::whole("count", 1.0, (1.0, MANY), "planted elements in a row");
const NEGATIVE: ParameterDoc =
    ParameterDoc::whole("negative", 0.0, (0.0, 1.0), "1: all other elements are -|z|, so a planted 0 is the largest");
static PARAMETERS: &[ParameterDoc] = &[COUNT, NEGATIVE, SCALE];

pub(super) static INF: Planted = Planted {
    name: "planted-inf",
    doc: "Normals of deviation scale with +infinity at `count` random positions of every row of the first argument.",
    value: |_, _, _| f64::INFINITY,
    infinite: true,
};

pub(super) static NAN: Planted = Planted {
    name: "planted-nan",
    doc: "Normals of deviation scale with a positive quiet NaN at `count` random positions of every row of the first \
          argument.",
    value: |_, _, _| POSITIVE_NAN,
    infinite: false,
};

pub(super) static NEG_INF: Planted = Planted {
    name: "planted-neg-inf",
    doc: "Normals of deviation scale with -infinity at `count` random positions of every row of the first argument.",
    value: |_, _, _| f64::NEG_INFINITY,
    infinite: true,
};

pub(super) static NEG_NAN: Planted = Planted {
    name: "planted-neg-nan",
    doc: "Normals of deviation scale with a negative quiet NaN at `count` random positions of every row of the first \
          argument: last in IEEE totalOrder, yet first for an argmax (FACTS 4).",
    value: |_, _, _| -POSITIVE_NAN,
    infinite: false,
};

pub(super) static NEG_ZERO: Planted = Planted {
    name: "planted-neg-zero",
    doc: "Normals of deviation scale with zeros at `count` random positions of every row of the first argument, -0, 0, \
          -0, ... from left to right: equal numbers, but not to IEEE totalOrder (FACTS 4).",
    value: |_, i, _| if i % 2 == 0 { -0.0 } else { 0.0 },
    infinite: false,
};

pub(super) static SUBNORMAL: Planted = Planted {
    name: "planted-subnormal",
    doc: "Normals of deviation scale with positive subnormals of the dtype (of bf16 if bf16 = 1), uniform among them, at \
          `count` random positions of every row of the first argument: zero where subnormals are flushed (FACTS 3.4).",
    value: |format, _, sampler| format.decode(1 + sampler.below((1 << format.fraction_bits) - 1)),
    infinite: false,
};

/// The sign bit of [`f64::NAN`] is not promised.
const POSITIVE_NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0000);

impl Input for Planted {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn check(&self, spec: &InputSpec, arguments: &[Argument]) -> Result<(), Unfit> {
        let Some(first) = arguments.first() else { return Ok(()) };
        let count = spec.get(&COUNT);
        if count > first.width() as f64 {
            let why = format!("count = {count}, but rows of `{}` have {} elements", first.name, first.width());
            return Err(Unfit::new(why).argument(0).parameter(&COUNT));
        }
        match first.dtype.format() {
            Some(format) if self.infinite && !format.has_infinities() => {
                Err(Unfit::new(format!("{} of `{}` has no infinity", format.name, first.name)).argument(0))
            }
            _ => Ok(()),
        }
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        normal::fill(row.get(&SCALE), sampler, out);
        if row.argument > 0 {
            return;
        }
        if row.get(&NEGATIVE) != 0.0 {
            out.iter_mut().for_each(|x| *x = -x.abs());
        }
        let mut positions = sampler.distinct_below(out.len(), row.get(&COUNT) as usize);
        positions.sort_unstable();
        for (i, position) in positions.into_iter().enumerate() {
            out[position] = (self.value)(row.format, i, sampler);
        }
    }
}

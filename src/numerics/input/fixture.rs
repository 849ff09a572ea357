//! Rows from published reports, value by value.

use super::{Input, ParameterDoc, Row, Sampler};

/// A fixed row, repeated to the width of whatever argument it fills.
pub(super) struct Fixture {
    name: &'static str,
    doc: &'static str,
    values: &'static [f64],
}

pub(super) static TWO_MAXIMA: Fixture = Fixture {
    name: "fixture-two-maxima",
    doc: "1.5, 20.25, 21.375, -3, 19, 21.375, 0, 21.25, repeated: two logits both exactly 21.375 (tpu-inference #3580).",
    values: &[1.5, 20.25, 21.375, -3.0, 19.0, 21.375, 0.0, 21.25],
};

pub(super) static TIED_SECOND: Fixture = Fixture {
    name: "fixture-tied-second",
    doc: "3, 2, 2, 2, 1, 0, repeated: with k = 2, `exactly k` keeps two and `all that tie` four (vllm-metal #786).",
    values: &[3.0, 2.0, 2.0, 2.0, 1.0, 0.0],
};

pub(super) static ZEROS: Fixture = Fixture {
    name: "fixture-zeros",
    doc: "-0, 0, repeated: one number to argmax, two to totalOrder (FACTS 4).",
    values: &[-0.0, 0.0],
};

pub(super) static SUBNORMAL: Fixture = Fixture {
    name: "fixture-subnormal",
    doc: "0, 1e-40, repeated: zeros where subnormals are flushed, not to totalOrder (FACTS 3.4).",
    values: &[0.0, 1e-40],
};

impl Input for Fixture {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[]
    }

    fn fill(&self, _row: &Row, _sampler: &mut Sampler, out: &mut [f64]) {
        out.iter_mut().zip(self.values.iter().cycle()).for_each(|(x, v)| *x = *v);
    }
}

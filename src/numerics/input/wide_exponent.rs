//! Magnitudes spread evenly over many binades.

use super::{Argument, Input, InputSpec, ParameterDoc, Row, Sampler, Unfit};

pub(super) struct WideExponent;

const RANGE: ParameterDoc = ParameterDoc::whole("range", 8.0, (0.0, 1022.0), "largest |exponent|, in binades");
static PARAMETERS: &[ParameterDoc] = &[RANGE];

impl Input for WideExponent {
    fn name(&self) -> &'static str {
        "wide-exponent"
    }

    fn doc(&self) -> &'static str {
        "x_i = +-s_i 2^(e_i), sign fair, s_i uniform on [1, 2), e_i uniform on the integers of [-range, range], all \
         independent; range must keep the dtype's values normal. Terms that differ by binades are what aligned and \
         truncating accumulators lose."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn check(&self, spec: &InputSpec, arguments: &[Argument]) -> Result<(), Unfit> {
        let range = spec.get(&RANGE);
        for (at, argument) in arguments.iter().enumerate() {
            let Some(format) = spec.grid(argument.dtype) else { continue };
            if range > f64::from(-format.emin()) {
                let name = &argument.name;
                let most = -format.emin();
                let why = format!("range = {range} leaves the normal numbers of `{name}` ({}: {most})", format.name);
                return Err(Unfit::new(why).argument(at).parameter(&RANGE));
            }
        }
        Ok(())
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        let range = row.get(&RANGE) as i64;
        for x in out {
            let exponent = sampler.below(2 * range as u64 + 1) as i64 - range;
            // Sign and fraction from fresh bits, the exponent field set: |exponent| <= 1022 keeps it normal.
            let fraction = sampler.bits() & !(0x7ff << 52);
            *x = f64::from_bits(fraction | ((exponent + 1023) as u64) << 52);
        }
    }
}

//! Winners at regular distances: the case that random placement of winners promises will not happen.

use super::parameter::{MANY, SCALE};
use super::{Argument, Input, InputSpec, ParameterDoc, Row, Sampler, Unfit, normal};

pub(super) struct Clustered;

const COUNT: ParameterDoc = ParameterDoc::whole("count", 40.0, (1.0, MANY), "winners in a row");
const STRIDE: ParameterDoc =
    ParameterDoc::whole("stride", 1.0, (1.0, MANY), "distance of neighbouring winners; 128 puts them in one lane");
static PARAMETERS: &[ParameterDoc] = &[COUNT, SCALE, STRIDE];

impl Input for Clustered {
    fn name(&self) -> &'static str {
        "clustered"
    }

    fn doc(&self) -> &'static str {
        "Normals of deviation scale, of which the `count` elements s, s + stride, s + 2 stride, ... exceed all others: \
         they are the row's largest normal plus scale * (1 + 4 u), u uniform on [0, 1), s uniform where they fit. \
         Approximate top-k promises its recall for winners placed at random (FACTS 5.3); ids that are adjacent, or \
         equal mod 128, share bins. Arguments after the first are plain normals."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn check(&self, spec: &InputSpec, arguments: &[Argument]) -> Result<(), Unfit> {
        let (count, stride) = (spec.get(&COUNT), spec.get(&STRIDE));
        let needed = (count - 1.0) * stride + 1.0;
        match arguments.first() {
            Some(first) if needed > first.width() as f64 => {
                let (name, width) = (&first.name, first.width());
                let why =
                    format!("{count} winners {stride} apart take {needed} elements, rows of `{name}` have {width}");
                Err(Unfit::new(why).argument(0).parameter(&COUNT))
            }
            _ => Ok(()),
        }
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        let scale = row.get(&SCALE);
        normal::fill(scale, sampler, out);
        if row.argument > 0 {
            return;
        }
        let (count, stride) = (row.get(&COUNT) as usize, row.get(&STRIDE) as usize);
        let span = (count - 1) * stride;
        let start = sampler.below(out.len().saturating_sub(span) as u64) as usize;
        let largest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for x in out.iter_mut().skip(start).step_by(stride).take(count) {
            *x = largest + scale * (1.0 + 4.0 * sampler.uniform());
        }
    }
}

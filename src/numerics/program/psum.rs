//! A sum over the chips of a torus.

use std::ops::Range;

use crate::ir::{Binary, Builder, CollectivePlan, Op, Program, Ring, ShapeError, Steps, ValueId};
use crate::tensor::DType;

use super::piece::{cast, eight_bits, row, with_number};
use super::softmax::DTYPE;
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Psum;

const CORES: ParameterDoc = ParameterDoc {
    name: "cores",
    default: "1",
    choices: &[],
    doc: "cores of a chip, of which n counts each; the first ring of each color has them all",
};

const COLORS: ParameterDoc = ParameterDoc {
    name: "colors",
    default: "strategy",
    choices: &[],
    doc: "dims in the order in which each color takes them (0 is y, 1 is x, 2 is z): 012-102; strategy: as most \
          dumps have it, one color that begins with each dim, and twice these in UniDirection",
};

impl BuiltIn for Psum {
    fn name(&self) -> &'static str {
        "psum"
    }

    fn doc(&self) -> &'static str {
        "sum = lax.psum(g) over n chips, g [n, width], each row one chip's; with mean=true lax.pmean, divided by n in the \
         dtype (FACTS 6). With a strategy the sum is that of a compiled file's plan on a torus (FACTS 6.2); without one an \
         axis of the torus after the other is summed in a ring: a shard of the elements begins at a chip of its own and \
         takes up one chip a hop. Rows do not count here. Modelling choices: where shards begin without a strategy, rings of \
         more than four chips, and what a hop carries."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "width", default: "128", choices: &[], doc: "elements of a chip" },
            ParameterDoc {
                name: "axes",
                default: "1",
                choices: &["1", "2", "3"],
                doc: "dims of the torus, as nearly equal as n can be split; the longest is summed last",
            },
            ParameterDoc {
                name: "hop",
                default: "f32",
                choices: &["f32", "own", "int8"],
                doc: "what a hop carries: f32, the dtype, or integers of 8 bits with an f32 step for each shard's elements, \
                      added in f32 (EQuARX, arXiv 2506.17615)",
            },
            ParameterDoc {
                name: "shards",
                default: "4",
                choices: &[],
                doc: "shards of the elements, whose first chips lie evenly around each ring; 1 begins everywhere at chip 0",
            },
            ParameterDoc {
                name: "strategy",
                default: "none",
                choices: &[
                    "none",
                    "StrategyND",
                    "StrategyRing",
                    "UniDirection1DRingStrategy",
                    "UniDirectionNDRingStrategy",
                ],
                doc: "the strategy of a compiled file's plan, which says colors, phases and rings; axes and shards do not \
                      count with it",
            },
            ParameterDoc {
                name: "dims",
                default: "n",
                choices: &[],
                doc: "extents of the torus, y, x and z: 2x2 or 4x2x4; chips count along x, then y, z fastest; n is one ring",
            },
            CORES,
            COLORS,
            ParameterDoc {
                name: "tile",
                default: "1024",
                choices: &[],
                doc: "elements of a tile, of which colors and shards take whole ones",
            },
            ParameterDoc { name: "mean", default: "false", choices: &["true", "false"], doc: "whether to divide by n" },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, _rows: usize) -> Result<Program, BuildError> {
        let (width, shards) = (parameters.size("width")?, parameters.size("shards")?);
        sized(&[("n", n), ("width", width), ("shards", shards)])?;
        let shards = shards.min(width);
        let dtype = parameters.float("dtype")?;
        let hop = match parameters.text("hop") {
            "own" => Hop::In(dtype),
            "int8" => Hop::EightBits,
            _ => Hop::In(DType::F32),
        };
        let mut b = Builder::new(self.name());
        let g = b.parameter("g", dtype, &[n, width])?;
        let (mut sums, mut rings_begun) = (Vec::new(), 0);
        if parameters.text("strategy") != "none" {
            sums = planned(&mut b, g, parameters, hop)?;
        }
        for shard in 0..if sums.is_empty() { shards } else { 0 } {
            let [from, to] = [shard, shard + 1].map(|end| end * width / shards);
            let own = Op::Slice { start: vec![0, from], limit: vec![n, to], stride: vec![1, 1] };
            let mut own = b.op(own, &[g])?;
            let mut chips = n;
            for ring in rings(n, parameters.size("axes")?) {
                chips /= ring;
                rings_begun += 1;
                own = around(&mut b, own, [ring, chips, shard * ring / shards], rings_begun, hop)?;
            }
            sums.push(own);
        }
        let sum = if let [sum] = sums[..] { sum } else { b.op(Op::Concatenate { dim: 1 }, &sums)? };
        let sum = cast(&mut b, sum, dtype)?;
        let sum = b.reshape(sum, &[width])?;
        let sum = if parameters.flag("mean")? { with_number(&mut b, Binary::Divide, sum, n as f64)? } else { sum };
        let sum = b.rename(sum, "sum");
        Ok(b.finish(&[("sum", sum)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}

/// The sums over the chips of `g` `[n, width]` by the plan of a strategy, piece by piece, each `[1, elements]`.
fn planned(b: &mut Builder, g: ValueId, parameters: &Parameters, hop: Hop) -> Result<Vec<ValueId>, BuildError> {
    let [n, width] = [b.shape(g).dims()[0], b.shape(g).dims()[1]];
    let strategy = parameters.text("strategy");
    let [tile, cores] = [parameters.size("tile")?, parameters.size("cores")?];
    sized(&[("tile", tile), ("cores", cores)])?;
    if !n.is_multiple_of(cores) {
        return Err(parameters.bad("cores", &format!("a divisor of n = {n}")).into());
    }
    let plan = CollectivePlan::of(strategy, &parameters.extents("dims", n / cores)?);
    let mut plan =
        plan.ok_or_else(|| parameters.bad("dims", &format!("two or three extents, as {strategy} takes them")))?;
    if parameters.text("colors") != "strategy" {
        let dims = |color: &str| color.chars().map(|dim| dim.to_digit(10).map(|dim| dim as usize)).collect();
        let orders: Option<Vec<Vec<usize>>> = parameters.text("colors").split('-').map(dims).collect();
        let colored = orders.and_then(|orders| plan.with_colors(&orders));
        plan = colored.ok_or_else(|| parameters.bad("colors", "orders of all dims such as 012-102"))?;
    }
    let plan = plan.with_cores(cores);
    let mut members = Vec::with_capacity(n);
    for chip in 0..n {
        let own = row(b, g, chip)?;
        members.push(hop.begin(b, own, [1, width])?);
    }
    let mut torus = Torus { b, hop, tile };
    let pieces = plan.sums(width.div_ceil(tile), &members, &mut torus)?;
    pieces.ok_or_else(|| parameters.bad("dims", &format!("the extents of {n} chips")).into())
}

/// The chips of a torus on their way through a plan.
struct Torus<'b> {
    b: &'b mut Builder,
    hop: Hop,
    tile: usize,
}

impl Steps<ValueId> for Torus<'_> {
    type Error = ShapeError;

    fn cut(&mut self, value: &ValueId, tiles: Range<usize>) -> Result<ValueId, ShapeError> {
        let width = self.b.shape(*value).dims()[1];
        let [from, to] = [tiles.start, tiles.end].map(|end| (end * self.tile).min(width));
        self.b.op(Op::Slice { start: vec![0, from], limit: vec![1, to], stride: vec![1, 1] }, &[*value])
    }

    fn add(&mut self, ring: Ring, arrived: ValueId, own: ValueId) -> Result<ValueId, ShapeError> {
        match self.hop {
            Hop::In(_) if ring.is_known => self.b.planned_exchange(ring.number, arrived, own),
            hop => hop.add(self.b, ring.number, arrived, own),
        }
    }
}

#[derive(Clone, Copy)]
enum Hop {
    /// Each partial sum in this type.
    In(DType),
    /// Each partial sum as whole multiples of a step, added in f32.
    EightBits,
}

impl Hop {
    /// The first chip's numbers, `[chips width]`, as partial sums of these dims.
    fn begin(self, b: &mut Builder, own: ValueId, dims: [usize; 2]) -> Result<ValueId, ShapeError> {
        let own = b.reshape(own, &dims)?;
        match self {
            Hop::In(dtype) => cast(b, own, dtype),
            Hop::EightBits => cast(b, own, DType::F32),
        }
    }

    /// Partial sums that come from the chip before, and the next chip's own numbers, in the ring of this number.
    fn add(self, b: &mut Builder, ring: usize, sum: ValueId, own: ValueId) -> Result<ValueId, ShapeError> {
        let dims = [b.shape(sum).dims()[0], b.shape(sum).dims()[1]];
        let own = self.begin(b, own, dims)?;
        match self {
            Hop::In(_) => b.exchange(ring, sum, own),
            Hop::EightBits => {
                let arrived = eight_bits(b, sum)?;
                b.binary(Binary::Add, arrived, own)
            }
        }
    }
}

/// Sizes of the rings of a torus of `n` chips, shortest first: factors of `n`, as equal as they can be.
fn rings(n: usize, axes: usize) -> Vec<usize> {
    let mut left = n;
    let mut rings = Vec::new();
    for axis in (1..=axes).rev() {
        // The largest factor whose power is at most what is left.
        let fits = |factor: &usize| left.is_multiple_of(*factor) && factor.pow(axis as u32) <= left;
        let ring =
            if axis == 1 { left } else { (1..=left).take_while(|f| f * f <= left).filter(fits).max().unwrap_or(1) };
        rings.push(ring);
        left /= ring;
    }
    rings
}

/// The sum over a ring of this number, `g` `[ring chips, width]` as `[chips, width]`, begun at chip `first`.
fn around(
    b: &mut Builder,
    g: ValueId,
    [ring, chips, first]: [usize; 3],
    number: usize,
    hop: Hop,
) -> Result<ValueId, ShapeError> {
    let width = b.shape(g).dims()[1];
    let flat = b.reshape(g, &[ring, chips * width])?;
    let begin = row(b, flat, first % ring)?;
    let mut sum = hop.begin(b, begin, [chips, width])?;
    for step in 1..ring {
        let own = row(b, flat, (first + step) % ring)?;
        sum = hop.add(b, number, sum, own)?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torus_is_as_equal_as_it_can_be() {
        assert_eq!(rings(4096, 1), [4096]);
        assert_eq!(rings(4096, 2), [64, 64]);
        assert_eq!(rings(4096, 3), [16, 16, 16]);
        assert_eq!(rings(8, 2), [2, 4]);
        assert_eq!(rings(2, 3), [1, 1, 2]);
        assert_eq!(rings(96, 3), [4, 4, 6]);
        assert_eq!(rings(7, 2), [1, 7]);
    }
}

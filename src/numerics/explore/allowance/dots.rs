//! The latitude of dots: the operands' roundings, and all orders of the additions that a compiler may take.

use crate::analysis::Precision;
use crate::ir::{DotPlan, Op, ValueId};
use crate::machine::DotSite;
use crate::machine::mxu::{DotPromise, Intake};
use crate::num::{BF16, F32, Format};
use crate::oracle::{Additions, BLOCK, Latitude, ProductOrder, Rounding};
use crate::stat::gamma;
use crate::tensor::DType;

use super::{Maker, formats};

/// The fewest products that a matrix unit adds before others join them.
const SHORTEST_BLOCK: u64 = 128;

impl Maker<'_> {
    /// The latitude of a dot of floats: no less than the passes lose that its precision asks for, and no more but for the order of
    /// additions, and for what a compiler takes apart or puts together.
    pub(super) fn dot(&self, id: ValueId, dtype: DType) -> Latitude {
        let instruction = self.instruction(id);
        let Op::Dot { dims, .. } = &instruction.op else { return Latitude::Unknown };
        let shapes = [0, 1].map(|at| &self.instruction(instruction.operands[at]).shape);
        let plan = DotPlan::new(dims, shapes[0].dims(), shapes[1].dims());
        let holds = |at: usize| self.widest.precisions()[instruction.operands[at]].first();
        let bf16_valued = [0, 1].iter().all(|at| holds(*at).is_some_and(|held| held.within(Precision::of(&BF16))));
        let dtypes = shapes.map(|shape| shape.dtype());
        let site = DotSite::of(instruction, dtypes, &plan);
        let (pieces, joined) = (self.pieces(instruction, dims), self.joined_batches(id, dims));
        let [m, k, n] = [plan.m, plan.k.saturating_mul(joined), plan.n];
        let promise = self.mode.dot_promise(&DotSite { sizes: [m, k, n], ..site }, bf16_valued);
        let Some(most) = gamma(promise.chain.max(promise.products), promise.unit_roundoff) else {
            return Latitude::Unknown;
        };
        let (floor, intake) = match promise.intake {
            Intake::Flushed(floor) => (floor, None),
            Intake::Split { below, at_most } => (0.0, Some((below, at_most))),
        };
        // Sums of pieces in a type that is narrower than the additions' have an error that no order of these has.
        let narrower = |format: &&Format| pieces > 1 && format.unit_roundoff() > promise.unit_roundoff;
        let format = self.coarsest(id, dtype).filter(narrower);
        let order = self.orders.then(|| {
            let extents = dims.lhs_contracting.iter().map(|dim| shapes[0].dims()[*dim]);
            // Of several dims that are summed over, any may be the outer one.
            let is_one_dim = joined == 1 && extents.filter(|extent| *extent > 1).count() < 2;
            in_any_order(&promise, k as u64, is_one_dim)
        });
        let order = order.map(|order| order.filter(|_| format.is_none()));
        let share = match order.as_ref().and_then(|order| order.as_ref()) {
            Some(order) => order.error(1.0, 1.0, 1.0),
            None => {
                let chain = if self.orders { promise.chain.max(promise.products) } else { promise.chain };
                let Some(gamma) = gamma(chain, promise.unit_roundoff) else { return Latitude::Unknown };
                promise.split + gamma * (1.0 + promise.spread)
            }
        };
        // Each piece is rounded once, and met by one addition for each piece behind it.
        let share = match format.map(|format| gamma(pieces as u64 + 1, format.unit_roundoff())) {
            Some(Some(gamma)) => share + gamma * (1.0 + share),
            Some(None) => return Latitude::Unknown,
            None => share,
        };
        let largest = if dtypes == [Some(DType::F64); 2] { f64::MAX } else { f64::from(f32::MAX) };
        let additions = Additions {
            least: None,
            share: share.next_up(),
            lost: ((1.0 + most) * promise.lost).next_up(),
            inits: 1,
            largest,
            intake,
            order: order.flatten().map(Box::new),
        };
        // What is added in one dot is rounded once, behind the sum.
        let may_stay = joined > 1;
        let formats = formats(dtype);
        Latitude::Rounded(Rounding { floor, additions: Some(additions), formats, may_stay, ..Rounding::default() })
    }
}

/// The additions of a dot of `k` products in every order: each pass by itself, the passes joined at the end or behind every block.
/// `is_one_dim` says whether K is one dim of the operands. `None` if it is too long for an error bound.
fn in_any_order(promise: &DotPromise, k: u64, is_one_dim: bool) -> Option<ProductOrder> {
    let u = promise.unit_roundoff;
    let passes = promise.products / k.max(1);
    let blocks = k.div_ceil(SHORTEST_BLOCK);
    let additions = promise.chain.max(k.saturating_sub(1) + passes.saturating_sub(1) * blocks);
    let before = gamma(additions, u)?;
    // Operands in parts are on a matrix unit, whose additions may truncate: that is not public (FACTS 2.4).
    let may_truncate = promise.split > 0.0 && u <= F32.unit_roundoff();
    Some(ProductOrder {
        split: promise.split + if promise.rounds_products { u } else { 0.0 },
        unit_roundoff: u,
        additions,
        // A partial sum has all parts of some products, or first parts alone, or others beside them: what is apart of a product is no
        // more than by what the magnitudes of all parts may exceed it, or than what is dropped in the end.
        apart: promise.spread + promise.split + before * (1.0 + promise.spread),
        smaller: before * promise.spread,
        is_along_k: is_one_dim,
        has_lanes: !promise.is_along_k,
        // The declared order of a vector unit has as many lanes as a register: a product meets few additions.
        in_many_lanes: if promise.is_along_k || promise.chain > k / 32 { 0 } else { promise.chain },
        truncated: may_truncate.then(|| [k.min(BLOCK as u64).saturating_sub(1), promise.chain.max(passes * blocks)]),
    })
}

//! Orders of a sum, by what they make of a mask.
//!
//! A mask is a sum of whole numbers, so that every order's result is computed here in whole numbers, rounded as the adder
//! rounds. An order is found where it gives all answers.

use crate::sum_tree;

/// The adder of a sum: a float of so many bits of significand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adder {
    /// Bits of significand, the leading one among them.
    pub bits: u32,
    /// Whether it truncates toward zero; otherwise it rounds to nearest even.
    pub truncates: bool,
}

impl Adder {
    fn round(self, value: i128) -> i128 {
        let size = value.unsigned_abs();
        let excess = (u128::BITS - size.leading_zeros()).saturating_sub(self.bits);
        let (kept, rest) = (size >> excess, size & ((1u128 << excess) - 1));
        let half = if excess == 0 { 1 } else { 1u128 << (excess - 1) };
        let is_up = !self.truncates && excess > 0 && (rest > half || rest == half && kept & 1 == 1);
        let rounded = (kept + u128::from(is_up)) << excess;
        // At most 2^61 here.
        if value < 0 { -(rounded as i128) } else { rounded as i128 }
    }

    fn add(self, a: i128, b: i128) -> i128 {
        self.round(a + b)
    }

    fn chain(self, values: impl IntoIterator<Item = i128>) -> i128 {
        values.into_iter().fold(0, |sum, value| self.add(sum, value))
    }

    fn pairwise(self, values: &[i128]) -> i128 {
        sum_tree::pairwise(values, |a, b| self.add(a, b)).unwrap_or(0)
    }

    fn halving(self, values: &[i128]) -> i128 {
        sum_tree::by_halves(values, |a, b| self.add(a, b)).unwrap_or(0)
    }

    /// Terms aligned to the largest one and cut at the adder's last bit, then summed at once.
    fn aligned(self, values: &[i128]) -> i128 {
        let largest = values.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0);
        let cut = (u128::BITS - largest.leading_zeros()).saturating_sub(self.bits);
        self.round(values.iter().map(|v| (v / (1 << cut)) << cut).sum())
    }
}

/// The way a stretch of products is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchSum {
    /// One addition after the other.
    Chain,
    /// Neighbours, level by level.
    Pairwise,
    /// All at once, exactly, and rounded once.
    Exact,
    /// All at once, aligned to the largest and cut at the adder's last bit.
    Aligned,
    /// Even and odd terms apart, each one addition after the other; then both.
    EvenOdd,
}

/// An order of a sum of K terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One stretch, from the first term.
    Whole(StretchSum),
    /// One addition after the other, from the last term.
    Backwards,
    /// Stretches of so many terms, each from zero, whose sums join one after the other.
    Blocks(usize, StretchSum),
    /// Stretches of so many terms, each of which goes on from the sum so far: the sum is one more term of it.
    Running(usize, StretchSum),
    /// So many chains, of the terms of each remainder; their sums join by halving.
    LanesHalved(usize),
    /// The same; neighbours join.
    LanesPaired(usize),
    /// The same; they join one after the other.
    LanesInOrder(usize),
    /// Chains over blocks of so many terms while two blocks are left, and over halves of what is left then; their sums are added in
    /// order. So GotoBLAS and its heirs cut K (driver/level3/level3.c, `GEMM_Q`).
    GotoBlocks(usize),
    /// Windows of 32, their sums the same way, until one is left.
    Windows,
    /// So many lanes; each sums stretches of four, and their sums the same way, until one is left; lanes join by halving
    /// (FACTS 3.11).
    LanesOfFours(usize),
    /// Vectors of so many lanes into so many accumulators, in turn; each begins anew after so many vectors. Accumulators
    /// join one after the other, and so do the lanes, as in PyTorch's sums.
    Accumulators {
        /// Lanes of a vector.
        lanes: usize,
        /// Accumulators.
        count: usize,
        /// Vectors that an accumulator takes before it begins anew.
        run: usize,
    },
    /// Blocks of so many terms, each from zero in stretches of so many, aligned to the largest and cut; the sums of blocks join one
    /// after the other. So kernels for the matrix units of GPUs move each block's sum to another accumulator.
    BlocksOfStretches {
        /// Terms of a block.
        block: usize,
        /// Terms that are aligned and added at once.
        stretch: usize,
    },
    /// Threads of a GPU, each of which takes so many adjacent terms in turn. The threads of a warp, 32, join by halving, and
    /// so do the warps.
    Threads {
        /// All threads.
        count: usize,
        /// Adjacent terms that a thread takes at once.
        adjacent: usize,
        /// Whether each of the adjacent terms has an accumulator of its own; they join in order. Otherwise a thread has one.
        apart: bool,
    },
}

/// Threads of a warp.
const WARP: usize = 32;

/// Sizes of stretches that are tried, and numbers of lanes.
const SIZES: [usize; 11] = [2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512];

/// Ways in which a stretch may be summed, the plainest first.
const INNER: [StretchSum; 5] =
    [StretchSum::Chain, StretchSum::Pairwise, StretchSum::Exact, StretchSum::Aligned, StretchSum::EvenOdd];

/// All orders of K terms that are tried, plain ones first.
pub fn orders(k: usize) -> Vec<Order> {
    let mut all: Vec<Order> = INNER.into_iter().map(Order::Whole).collect();
    all.push(Order::Backwards);
    let sizes = || SIZES.into_iter().filter(move |size| *size < k);
    all.extend(sizes().flat_map(|size| INNER.map(|inner| Order::Blocks(size, inner))));
    all.extend(sizes().flat_map(|size| INNER[1..].iter().map(move |inner| Order::Running(size, *inner))));
    all.extend(
        sizes().flat_map(|size| [Order::LanesHalved(size), Order::LanesPaired(size), Order::LanesInOrder(size)]),
    );
    // Where blocks of one size use up K, these are the same.
    all.extend(sizes().filter(|size| !k.is_multiple_of(*size)).map(Order::GotoBlocks));
    all.push(Order::Windows);
    all.extend(sizes().filter(|size| *size >= 4).map(Order::LanesOfFours));
    let accumulators = |lanes: usize| [2, 4, 8].map(|count| Order::Accumulators { lanes, count, run: 16 });
    all.extend([4, 8, 16, 32].into_iter().flat_map(accumulators));
    let stretches = |block: usize| {
        let fitting = [4, 8, 16, 32].into_iter().filter(move |stretch| *stretch < block);
        fitting.map(move |stretch| Order::BlocksOfStretches { block, stretch })
    };
    all.extend(sizes().flat_map(stretches));
    for count in [WARP, 2 * WARP, 4 * WARP, 8 * WARP] {
        let fitting = [2, 4, 8].into_iter().filter(|adjacent| adjacent * count <= k);
        all.extend(fitting.flat_map(|adjacent| [false, true].map(|apart| Order::Threads { count, adjacent, apart })));
    }
    all
}

impl Order {
    /// A description, for listings.
    pub fn describe(self) -> String {
        let within = |inner| match inner {
            StretchSum::Chain => "one addition after the other",
            StretchSum::Pairwise => "a tree of neighbours",
            StretchSum::Exact => "one exact sum, rounded once",
            StretchSum::Aligned => "one sum of terms that are aligned to the largest and cut",
            StretchSum::EvenOdd => "even and odd terms apart",
        };
        match self {
            Order::Whole(inner) => format!("{} over all of K", within(inner)),
            Order::Backwards => "one addition after the other, from the last term".to_string(),
            Order::Blocks(size, inner) => {
                format!("blocks of {size}, each from zero ({}), joined in order", within(inner))
            }
            Order::Running(size, inner) => {
                format!("stretches of {size} that go on from the sum so far ({})", within(inner))
            }
            Order::LanesHalved(lanes) => format!("{lanes} lanes, joined by halving"),
            Order::LanesPaired(lanes) => format!("{lanes} lanes, neighbours joined"),
            Order::LanesInOrder(lanes) => format!("{lanes} lanes, joined in order"),
            Order::GotoBlocks(size) => {
                format!(
                    "blocks of {size} and the rest in two halves, each from zero, joined in order, as GotoBLAS cuts K"
                )
            }
            Order::Windows => "windows of 32, and their sums the same way".to_string(),
            Order::LanesOfFours(lanes) => {
                format!("{lanes} lanes, fours in each and their sums the same way, joined by halving")
            }
            Order::Accumulators { lanes, count, run } => {
                format!(
                    "{count} accumulators of {lanes} lanes, anew after {run} vectors, joined in order, then the lanes"
                )
            }
            Order::BlocksOfStretches { block, stretch } => {
                format!(
                    "blocks of {block}, each from zero in stretches of {stretch} (aligned to the largest and cut), joined in order"
                )
            }
            Order::Threads { count, adjacent, apart } => {
                let sums = if apart { "a sum for each of them, joined in order" } else { "one sum" };
                format!(
                    "{count} threads that take {adjacent} adjacent terms in turn ({sums}), joined by halving in warps"
                )
            }
        }
    }

    fn sum(self, terms: &[i128], adder: Adder) -> i128 {
        let within = |terms: &[i128], inner| match inner {
            StretchSum::Chain => adder.chain(terms.iter().copied()),
            StretchSum::Pairwise => adder.pairwise(terms),
            StretchSum::Exact => adder.round(terms.iter().sum()),
            StretchSum::Aligned => adder.aligned(terms),
            StretchSum::EvenOdd => {
                let half = |first: usize| adder.chain(terms.iter().skip(first).step_by(2).copied());
                adder.add(half(0), half(1))
            }
        };
        let lanes = |count: usize| -> Vec<i128> {
            (0..count).map(|lane| adder.chain(terms.iter().skip(lane).step_by(count).copied())).collect()
        };
        match self {
            Order::Whole(inner) => within(terms, inner),
            Order::Backwards => adder.chain(terms.iter().rev().copied()),
            Order::Blocks(size, inner) => adder.chain(terms.chunks(size).map(|block| within(block, inner))),
            Order::Running(size, inner) => {
                terms.chunks(size).fold(0, |sum, block| within(&[&[sum], block].concat(), inner))
            }
            Order::LanesHalved(count) => adder.halving(&lanes(count)),
            Order::LanesPaired(count) => adder.pairwise(&lanes(count)),
            Order::LanesInOrder(count) => adder.chain(lanes(count)),
            Order::GotoBlocks(size) => {
                adder.chain(goto_blocks(terms, size).map(|block| adder.chain(block.iter().copied())))
            }
            Order::Windows => {
                let mut level = terms.to_vec();
                while level.len() > 32 {
                    level = level.chunks(32).map(|window| adder.chain(window.iter().copied())).collect();
                }
                adder.chain(level)
            }
            Order::LanesOfFours(count) => {
                let fours = |lane: usize| {
                    let mut level: Vec<i128> = terms.iter().skip(lane).step_by(count).copied().collect();
                    while level.len() > 1 {
                        level = level.chunks(4).map(|four| adder.chain(four.iter().copied())).collect();
                    }
                    level.first().copied().unwrap_or(0)
                };
                adder.halving(&(0..count).map(fours).collect::<Vec<i128>>())
            }
            Order::Accumulators { lanes, count, run } => {
                let width = lanes * count;
                let of = |at: usize| {
                    let own: Vec<i128> = terms.iter().skip(at).step_by(width).copied().collect();
                    adder.chain(own.chunks(run).map(|part| adder.chain(part.iter().copied())))
                };
                let lane = |lane: usize| adder.chain((0..count).map(|at| of(at * lanes + lane)));
                adder.chain((0..lanes).map(lane))
            }
            Order::BlocksOfStretches { block, stretch } => {
                let of = |block: &[i128]| Order::Running(stretch, StretchSum::Aligned).sum(block, adder);
                adder.chain(terms.chunks(block).map(of))
            }
            Order::Threads { count, adjacent, apart } => of_threads(terms, adder, [count, adjacent], apart),
        }
    }
}

/// The sum of [`Order::Threads`].
fn of_threads(terms: &[i128], adder: Adder, [count, adjacent]: [usize; 2], apart: bool) -> i128 {
    let thread = |thread: usize| {
        let rows = || terms.chunks(count * adjacent).filter_map(|row| row.chunks(adjacent).nth(thread));
        let at = |at: usize| adder.chain(rows().filter_map(|own| own.get(at).copied()));
        if apart { adder.chain((0..adjacent).map(at)) } else { adder.chain(rows().flatten().copied()) }
    };
    let threads: Vec<i128> = (0..count).map(thread).collect();
    let warps: Vec<i128> = threads.chunks(WARP).map(|warp| adder.halving(warp)).collect();
    adder.halving(&warps)
}

/// The blocks that GotoBLAS cuts K into ([`Order::GotoBlocks`]).
fn goto_blocks(terms: &[i128], size: usize) -> impl Iterator<Item = &[i128]> {
    let mut rest = terms;
    std::iter::from_fn(move || {
        let left = rest.len();
        let next = if left >= 2 * size {
            size
        } else if left > size {
            left.div_ceil(2)
        } else {
            left
        };
        let (block, others) = rest.split_at(next);
        rest = others;
        (next > 0).then_some(block)
    })
}

/// The orders that give all answers to masks of K terms: `[i, j]` are the places of M and -M, and beside them what the sum
/// was. The plainest stands first.
pub fn find_orders(k: usize, mask: i128, answers: &[([usize; 2], f32)], adder: Adder) -> Vec<Order> {
    let gives = |order: &Order, [i, j]: [usize; 2], answer: f32| {
        let mut terms = vec![1; k];
        (terms[i], terms[j]) = (mask, -mask);
        order.sum(&terms, adder) as f32 == answer
    };
    let all = answers.iter().filter(|([i, j], _)| i != j);
    orders(k).into_iter().filter(|order| all.clone().all(|(pair, answer)| gives(order, *pair, *answer))).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::OnceCell;

    use super::{Adder, find_orders, orders};
    use crate::probe::designed::{MASK, mask_columns, mask_rows};

    /// The masks tell every order from every other one that gives other sums for any pair of places.
    #[test]
    fn masks_tell_orders_apart() {
        let adder = Adder { bits: 24, truncates: false };
        for k in [32, 128] {
            let sums = |order: super::Order, pairs: &[[usize; 2]]| -> Vec<f32> {
                let of = |[i, j]: &[usize; 2]| {
                    let mut terms = vec![1; k];
                    (terms[*i], terms[*j]) = (MASK as i128, -(MASK as i128));
                    order.sum(&terms, adder) as f32
                };
                pairs.iter().map(of).collect()
            };
            let every: Vec<[usize; 2]> =
                (0..k).flat_map(|i| (0..k).map(move |j| [i, j])).filter(|[i, j]| i != j).collect();
            let asked: Vec<[usize; 2]> = mask_rows(k)
                .into_iter()
                .flat_map(|i| mask_columns(k).into_iter().map(move |j| [i, j]))
                .filter(|[i, j]| i != j)
                .collect();
            // All pairs of places are 16,256 sums of an order at K = 128: each order gives them once.
            let all = orders(k);
            let given: Vec<OnceCell<Vec<f32>>> = all.iter().map(|_| OnceCell::new()).collect();
            let of_every = |order: super::Order| {
                let at = all.iter().position(|one| *one == order).unwrap();
                given[at].get_or_init(|| sums(order, &every))
            };
            for order in all.iter().copied() {
                let answers: Vec<_> = asked.iter().copied().zip(sums(order, &asked)).collect();
                let found = find_orders(k, MASK as i128, &answers, adder);
                assert!(found.contains(&order), "{order:?} of {k}");
                for other in found.into_iter().filter(|other| *other != order) {
                    assert_eq!(of_every(order), of_every(other), "{order:?} is taken for {other:?} at {k}");
                }
            }
        }
    }

    #[test]
    fn an_adder_rounds_as_f32_does() {
        let adder = Adder { bits: 24, truncates: false };
        for value in [0i128, 1, 16_777_217, 16_777_219, -16_777_219, (1 << 60) + 1, 33_554_434, 33_554_437] {
            assert_eq!(adder.round(value) as f64, f64::from(value as f32), "{value}");
        }
        let adder = Adder { bits: 24, truncates: true };
        assert_eq!([adder.round(16_777_219), adder.round(-16_777_219)], [16_777_218, -16_777_218]);
    }
}

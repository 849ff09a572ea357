//! Loops that LLVM unrolls before it vectorizes (`LoopFullUnrollPass` at its third level).

/// LLVM's limit on the size of a loop that it unrolls (`UnrollThresholdAggressive`).
pub const UNROLLED: usize = 300;

/// The most iterations of a loop for which LLVM estimates the savings of unrolling
/// (`unroll-max-iteration-count-to-analyze`).
pub const ANALYZED: usize = 10;

/// The limit on the size of such loops: the saved branches and indices are about two of a hundred instructions.
/// Measured: the largest unrolled loops have 304, 308, 306, 308, 312, 315 and 310 instructions for 2, 4, 6, 7, 8, 9 and
/// 10 iterations.
pub const UNROLLED_IF_ANALYZED: usize = 312;

/// Instructions of a loop beside a term's own: the addition to the sum and that to the index.
pub const LOOP: usize = 2;

/// Whether LLVM unrolls a loop of so many iterations by its size alone.
pub fn is_small(iterations: usize, instructions: usize) -> bool {
    iterations.saturating_mul(instructions + LOOP) + 2 < UNROLLED
}

/// Whether LLVM unrolls a loop of so many iterations, each of so many instructions beside those of the loop.
pub fn is_unrolled(iterations: usize, instructions: usize) -> bool {
    let saves = iterations <= ANALYZED && iterations * instructions <= UNROLLED_IF_ANALYZED;
    is_small(iterations, instructions) || saves
}

/// The largest factor by which the savings of unrolling raise a loop's threshold (`UnrollMaxPercentThresholdBoost`).
const MOST_RAISED: usize = 4;

/// Whether LLVM unrolls a loop of at most [`ANALYZED`] iterations, if unrolling saves `saved` of the instructions of
/// each. The loop's threshold rises as much as the code shrinks.
pub fn is_worth_unrolling(iterations: usize, instructions: usize, saved: usize) -> bool {
    let rolled = iterations * instructions;
    let unrolled = iterations * instructions.saturating_sub(saved);
    unrolled < UNROLLED * MOST_RAISED && unrolled * unrolled < UNROLLED * rolled.max(1)
}

//! Loops that LLVM unrolls before it vectorizes (`LoopFullUnrollPass` at its third level).

/// LLVM's threshold of a loop's size that is unrolled (`UnrollThresholdAggressive`).
pub const UNROLLED: usize = 300;

/// Iterations up to which LLVM looks at what unrolling saves (`unroll-max-iteration-count-to-analyze`).
pub const ANALYZED: usize = 10;

/// What it allows such loops: the saved branches and indices are about two of a hundred instructions (measured: the largest
/// unrolled are 304, 308, 306, 308, 312, 315 and 310 instructions for 2, 4, 6, 7, 8, 9 and 10 iterations).
pub const UNROLLED_IF_ANALYZED: usize = 312;

/// Instructions of a loop beside a term's own: the addition, and that of the index.
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

/// The most that a loop's threshold is raised by for what unrolling saves (`UnrollMaxPercentThresholdBoost`).
const MOST_RAISED: usize = 4;

/// Whether LLVM unrolls a loop of at most [`ANALYZED`] iterations, each of so many instructions, of which so many are saved: its
/// threshold is raised as much as the code shrinks.
pub fn is_worth_unrolling(iterations: usize, instructions: usize, saved: usize) -> bool {
    let rolled = iterations * instructions;
    let unrolled = iterations * instructions.saturating_sub(saved);
    unrolled < UNROLLED * MOST_RAISED && unrolled * unrolled < UNROLLED * rolled.max(1)
}

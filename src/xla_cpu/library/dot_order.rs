//! The orders of XLA:CPU's f32 dots that are not one chain (FACTS 3.11).
//!
//! YNNPACK computes the dots in fusions of a kind of their own: which kernel runs, in how many lanes it sums, and where
//! columns and K are cut. The rules are those of google/XNNPACK, `ynnpack/kernels/dot/dot.cc` (the cost of a kernel),
//! `ynnpack/subgraph/dot.cc` (packing, splits of the columns) and `ynnpack/kernels/dot/schedule.cc` (splits of K). Which
//! kernels there are, the processor says (`kernels.rs`).
//!
//! Rows of a matrix times a vector are summed in vectors of eight by XLA's own code (`xla/service/cpu/`
//! `tiled_dot_emitter.cc`).

use std::ops::Range;

use rayon::prelude::*;

use crate::deadline;

use crate::ir::Convolution;
use crate::num::flush_f32;

use super::library_dot::LibraryDot;
use super::library_kernels::{KERNELS, VECTOR};
use crate::machine::mxu::{self, Passes, Unit};

/// f32 that the cache is taken to hold: 128 KiB.
const CACHE: usize = 32 * 1024;
/// The number of rows that the library assumes when it chooses a kernel, as it does not know the number yet.
const UNKNOWN: usize = 2048;

/// The order in which the products of a dot `[m,k] x [k,n]` are summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotOrder {
    sizes: [usize; 3],
    /// Partial sums of one result: a product joins the one of its number's remainder.
    lanes: usize,
    /// The same for the products that are left over when the lanes are full.
    rest: usize,
    /// Results whose lanes join neighbour by neighbour; those of the others join by halving.
    paired: usize,
    /// Runs of equally many products, one after the other, which lanes and cuts begin anew: the taps of a convolution.
    runs: usize,
    /// Rows that lie side by side, each stretch of which is shared out alike.
    row: usize,
    tasks: Vec<Task>,
}

/// Results that one call computes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Task {
    columns: Range<usize>,
    /// Products of a run that are summed before the sum joins the others.
    depth: usize,
}

/// A kernel: its block, and what the library estimates that a dot costs with it.
#[derive(Clone, Copy)]
struct Kernel {
    rows: usize,
    columns: usize,
    lanes: usize,
    cost: f32,
}

/// The cheapest kernel with at most so many lanes.
fn cheapest([m, k, n]: [usize; 3], most: usize) -> Kernel {
    let mut best = Kernel { rows: 1, columns: 1, lanes: 1, cost: f32::INFINITY };
    for &[rows, columns, lanes] in KERNELS.iter().filter(|[.., lanes]| *lanes <= most) {
        // Blocks times loads of both operands, those of the right one twice as dear.
        let blocks = m.div_ceil(rows) as f32 * n.div_ceil(columns) as f32 * k.div_ceil(lanes) as f32;
        let loads = (rows * 5 + columns * lanes / VECTOR * 11 + 9) as f32;
        let cost = blocks * (loads + VECTOR as f32 * 1e-4);
        if cost < best.cost {
            best = Kernel { rows, columns, lanes, cost };
        }
    }
    best
}

/// The number of columns that one task takes, where the right operand is not packed.
fn columns_of_a_task([m, k, n]: [usize; 3], kernel: Kernel) -> usize {
    let k = k.min(1024);
    let least = m.min(64) * n.min(64);
    let (mut columns, mut rows) = (n.min(kernel.columns.max(VECTOR)), m.min(16));
    loop {
        let area = columns * rows;
        if area >= least && ((rows + columns) * k >= 64 * 1024 || area >= 64 * 1024) {
            return columns;
        }
        if (4 * columns < rows || rows >= m) && columns < n {
            columns *= 2;
        } else if (rows < 4 * columns || columns >= n) && rows < m {
            rows *= 2;
        } else {
            return columns;
        }
    }
}

impl DotOrder {
    /// XLA's own order where one operand is a vector and the other has its products last, as `last` says of both.
    pub fn of_rows(sizes: [usize; 3], last: [bool; 2]) -> Option<DotOrder> {
        /// Lanes of a vector, and rows that are taken at a time.
        const TILE: usize = 8;
        let [m, k, n] = sizes;
        let rows = match sizes {
            [1, _, 1] => return None,
            [1, _, n] if last[1] => n,
            [m, _, 1] if last[0] => m,
            _ => return None,
        };
        let tasks = vec![Task { columns: 0..n, depth: k.max(1) }];
        Some(DotOrder { sizes: [m, k, n], lanes: TILE, rest: 1, paired: rows - rows % TILE, runs: 1, row: m, tasks })
    }

    /// The library's order for f32 operands; `transposed` says that the right one has its products last.
    pub fn of_library(sizes: [usize; 3], transposed: bool) -> DotOrder {
        DotOrder::of_runs(sizes, 1, sizes[0], |plain| transposed || sizes[0].div_ceil(plain.rows) > 10)
    }

    /// The library's order for a sum of products that it takes for a dot.
    pub fn of_sum(&LibraryDot { sizes, transposed, batches: [left, right] }: &LibraryDot) -> DotOrder {
        let many = |plain: Kernel| sizes[0].div_ceil(plain.rows) * left > 10 * right;
        DotOrder::of_runs(sizes, 1, sizes[0], |plain| transposed || many(plain))
    }

    /// The library's order for a convolution in `groups`, as dots of these sizes.
    pub fn of_convolution(sizes: [usize; 3], groups: usize, convolution: &Convolution) -> DotOrder {
        let Convolution { taps, row, .. } = *convolution;
        let row = if groups > 1 { 1 } else { row.max(1) };
        DotOrder::of_runs(sizes, taps.max(1), row, |plain| row.div_ceil(plain.rows) * (sizes[0] / row) > 10)
    }

    /// The order of products in runs, for rows of which so many lie side by side; `many` says whether packing pays for a
    /// kernel that needs none.
    fn of_runs(sizes: [usize; 3], runs: usize, row: usize, many: impl Fn(Kernel) -> bool) -> DotOrder {
        let order = |lanes, tasks| DotOrder { sizes, lanes, rest: lanes, paired: usize::MAX, runs, row, tasks };
        let [_, all, n] = sizes;
        let k = all / runs;
        let cut = |size: usize, width: usize| {
            let width = width.max(1);
            (0..size).step_by(width).map(move |at| at..size.min(at + width))
        };
        let [packed, plain] = [4, 1].map(|lanes| cheapest([UNKNOWN, k, n], lanes));
        // Packing pays where the left operand has many blocks of rows, or where the other kernels are much dearer.
        if plain.cost <= 2.0 * packed.cost && !many(plain) {
            let columns = columns_of_a_task([row, all, n], plain);
            // Tasks that differ in their rows alone sum alike.
            let of_columns = |columns: Range<usize>| {
                let depth = CACHE / (columns.len() * runs);
                Task { columns, depth }
            };
            return order(1, cut(n, columns).filter(|_| row > 0).map(of_columns).collect());
        }
        let Kernel { columns, lanes, .. } = packed;
        let tile = VECTOR / lanes;
        let fitting = columns * (CACHE / (columns * all.max(1))).max(1);
        let width = fitting.min(n.next_multiple_of(tile)).max(tile);
        let depth = CACHE / (width * lanes * runs) * lanes;
        order(lanes, cut(n, width).map(|columns| Task { columns, depth }).collect())
    }

    /// The parameters of the order of the sum at place `at`: lanes, lanes of the rest, whether neighbours join, runs,
    /// and products between two cuts. `None` where the sum is one chain.
    pub fn of_place(&self, at: usize) -> Option<[usize; 5]> {
        let column = at % self.sizes[2];
        let task = self.tasks.iter().find(|task| task.columns.contains(&column))?;
        self.of_task(task, at < self.paired)
    }

    fn of_task(&self, task: &Task, paired: bool) -> Option<[usize; 5]> {
        let (run, depth) = (self.run(), self.depth(task).min(self.run()));
        match self.lanes {
            1 if depth >= run => None,
            1 => Some([1, 1, 0, self.runs, depth]),
            lanes => Some([lanes, self.rest, usize::from(paired), self.runs, depth]),
        }
    }

    /// Products of a run.
    fn run(&self) -> usize {
        self.sizes[1] / self.runs
    }

    /// Products between two cuts. A cut that is too fine for one product is not made.
    fn depth(&self, task: &Task) -> usize {
        if task.depth == 0 { self.run().max(1) } else { task.depth }
    }

    /// Lanes and the products between two cuts, where all results have the same and there is more than one chain.
    pub fn plan_of_all(&self) -> Option<[usize; 2]> {
        let mut plans = self.tasks.iter().map(|task| self.of_task(task, true));
        let first = plans.next()?;
        let [lanes, .., depth] = first.filter(|_| self.runs == 1 && plans.all(|plan| plan == first))?;
        Some([lanes, depth.min(self.sizes[1].max(1))])
    }

    /// The products of row-major operands, on the unit of a mode, into `out`.
    pub fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        let [_, k, n] = self.sizes;
        let run = self.run();
        if k == 0 || self.tasks.iter().all(|task| self.of_task(task, true).is_none()) {
            return mxu::matmul(lhs, rhs, self.sizes, Passes::F32, unit, out);
        }
        let add = |a: f32, b: f32| {
            let sum = if unit.flush { flush_f32(flush_f32(a) + flush_f32(b)) } else { a + b };
            if sum.is_nan() { f32::NAN } else { sum }
        };
        let joined = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| add(*a, *b)).collect::<Vec<f32>>();
        let sums_of = |task: &Task| {
            let (columns, width) = (&task.columns, task.columns.len());
            let rows: Vec<&[f32]> = lhs.chunks(k).collect();
            // The sums of the products of these numbers.
            let lane = |numbers: Vec<usize>| {
                let left: Vec<f32> = rows.iter().flat_map(|row| numbers.iter().map(|at| row[*at])).collect();
                let mut right = Vec::with_capacity(numbers.len() * width);
                numbers.iter().for_each(|at| right.extend_from_slice(&rhs[at * n..][columns.clone()]));
                let mut sums = vec![0.0; rows.len() * width];
                mxu::matmul(&left, &right, [rows.len(), numbers.len(), width], Passes::F32, unit, &mut sums);
                sums
            };
            // Products of these numbers in these runs, each lane's summed run by run.
            let stretch = |runs: Range<usize>, numbers: Range<usize>, lanes: usize| {
                deadline::check();
                let of_run = |at: usize, first| numbers.clone().skip(first).step_by(lanes).map(move |l| at * run + l);
                let of_lane = |first| lane(runs.clone().flat_map(|at| of_run(at, first)).collect());
                let mut parts: Vec<Vec<f32>> = (0..lanes).map(of_lane).collect();
                while parts.len() > 1 {
                    let half = parts.len() / 2;
                    let pair = |at: usize, i: usize| match at < self.paired {
                        true => add(parts[2 * i][at], parts[2 * i + 1][at]),
                        false => add(parts[i][at], parts[i + half][at]),
                    };
                    parts = (0..half).map(|i| (0..rows.len() * width).map(|at| pair(at, i)).collect()).collect();
                }
                parts.swap_remove(0)
            };
            // Lanes that the last products do not fill have zeros in their place.
            let whole = run - run % self.lanes;
            let depth = self.depth(task);
            let starts = (0..whole).step_by(depth);
            let starts = starts.map(|at| (0..self.runs, at..whole.min(at + depth), self.lanes));
            let tails = (0..self.runs).filter(|_| whole < run).map(|at| (at..at + 1, whole..run, self.rest));
            let stretches = starts.chain(tails).map(|(runs, numbers, lanes)| stretch(runs, numbers, lanes));
            stretches.reduce(|sums, stretch| joined(&stretch, &sums)).unwrap_or_default()
        };
        let deadline = deadline::current();
        let sums: Vec<Vec<f32>> = self.tasks.par_iter().map(|task| deadline.within(|| sums_of(task))).collect();
        for (task, sums) in self.tasks.iter().zip(sums) {
            for (row, sums) in out.chunks_mut(n).zip(sums.chunks(task.columns.len())) {
                row[task.columns.clone()].copy_from_slice(sums);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DotOrder;
    use crate::cpu_row::matrix_unit;
    use crate::machine::probe::{hash, numbers};

    fn products(order: &DotOrder, [m, k, n]: [usize; 3], transposed: bool) -> Vec<f32> {
        let unit = matrix_unit();
        let mut state = 1;
        let (lhs, rhs) = (numbers(&mut state, m * k), numbers(&mut state, k * n));
        let straight: Vec<f32> = (0..k * n).map(|at| rhs[at % n * k + at / n]).collect();
        let mut out = vec![0.0; m * n];
        order.matmul(&lhs, if transposed { &straight } else { &rhs }, &unit, &mut out);
        out
    }

    /// The bits that jaxlib 0.10.2 computed: four lanes, with and without products left over, two lanes, columns and K cut
    /// in tasks of 256 and 232 columns, packed columns, and K cut alone.
    #[test]
    fn dots_of_the_library_are_those_of_xla() {
        let expected = [
            ([8, 16, 16], false, 4, 0x8045_843c_126b_0e4d),
            ([20, 15, 15], false, 4, 0x3ce5_e0e4_43c4_3d6c),
            ([300, 7, 96], true, 2, 0x19f2_caad_e7a7_26ec),
            ([15, 300, 600], false, 1, 0xb86f_4da3_ed36_5a93),
            ([80, 80, 33], false, 4, 0xe344_ac71_b13f_03c4),
            ([4, 1000, 64], true, 1, 0xe30a_ae95_29bb_5f87),
        ];
        for (sizes, transposed, lanes, bits) in expected {
            let order = DotOrder::of_library(sizes, transposed);
            assert_eq!(order.lanes, lanes, "{sizes:?}");
            assert_eq!(hash(products(&order, sizes, transposed)), bits, "{sizes:?}");
        }
    }

    /// The kernels that jaxlib 0.10.2 called on a processor with AVX-512, as seen in gdb: lanes, columns of a task or a
    /// block, and products between two cuts of K.
    #[test]
    fn the_library_cuts_as_it_was_seen_to() {
        let seen = [
            ([8, 256, 1024], false, 1, 256, 128),
            ([16, 1024, 64], false, 1, 64, 512),
            ([48, 2, 96], false, 1, 96, 341),
            ([128, 2, 160], false, 2, 160, 204),
            ([80, 1000, 200], false, 4, 32, 1024),
            ([32, 1000, 64], true, 1, 64, 512),
            ([2, 200, 31], true, 2, 32, 1024),
            ([8, 64, 10], false, 4, 12, 2728),
        ];
        for (sizes, transposed, lanes, width, depth) in seen {
            let order = DotOrder::of_library(sizes, transposed);
            let task = &order.tasks[0];
            assert_eq!((order.lanes, task.columns.len(), task.depth), (lanes, width.min(sizes[2]), depth), "{sizes:?}");
        }
    }

    /// A matrix of 21 rows times a vector: 16 of them join neighbours, the last five join halves.
    #[test]
    fn rows_times_a_vector_are_those_of_xla() {
        let sizes = [21, 75, 1];
        let order = DotOrder::of_rows(sizes, [true, false]).unwrap();
        assert_eq!(hash(products(&order, sizes, false)), 0x4d04_5c6b_8af8_d10e);
        assert_eq!(DotOrder::of_rows([1, 75, 21], [true, false]), None);
        assert_eq!(DotOrder::of_rows([2, 75, 21], [true, true]), None);
    }
}

//! Elements that indices choose: where an argument decides an index, the result is a choice among all that it may reach.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::ir::movement::{self, WindowStart};
use crate::ir::{Binary, ComputationId, GatherDims, Op, ScatterDims};
use crate::tensor::DType;

use super::pairwise::PairwiseOperation;
use super::pointwise::{SymbolicComparison, choose};
use super::run::{Result, Site, Tracer, move_elements, parts};
use super::symbol::{Mixer, Number, Symbol};
use super::symbol_key::Key;
use super::symbols::Symbols;

/// `dynamic-slice`, `dynamic-update-slice` and `gather`.
pub fn pick(tracer: &Tracer, site: &Site) -> Symbols {
    let first = site.instruction.op.first_start().unwrap_or(site.operands.len());
    let starts_of = |at: usize| {
        let dtype = site.shapes[at].element_type();
        site.of(at).iter().map(move |symbol| symbol.integer().map(|bits| dtype.start_of(bits)))
    };
    let starts: Option<Vec<i64>> = (first..site.operands.len()).flat_map(starts_of).collect();
    if let Some(starts) = starts {
        let starts_dims = if matches!(site.instruction.op, Op::Gather(_)) { site.dims(1) } else { &[] };
        return move_elements(site, first, &starts, starts_dims);
    }
    match &site.instruction.op {
        Op::DynamicSlice { sizes } => slice(tracer, site, sizes),
        Op::DynamicUpdateSlice => update(tracer, site),
        Op::Gather(numbers) => gather(tracer, site, numbers),
        other => unreachable!("{} takes no start indices", other.opcode()),
    }
}

/// Symbol of any one of several elements, without the facts that all of them share.
static EITHER: LazyLock<Symbol> = LazyLock::new(|| Key::Either.mixer().symbol());

/// Rows of an array along the dims whose index an argument decides.
struct IndexedRows {
    /// The symbol of each lane, by the other dims' indices; what is known of all its elements is known of it.
    symbols: Vec<Symbol>,
    /// Steps among lanes; 0 along the dims that lanes lie in.
    steps: Vec<usize>,
}

impl IndexedRows {
    /// Lanes of an array of these dims, along the `open` ones.
    fn new(elements: &[Symbol], dims: &[usize], open: &[bool]) -> IndexedRows {
        let mut steps = vec![0; dims.len()];
        let mut count = 1;
        for d in (0..dims.len()).rev().filter(|d| !open[*d]) {
            steps[d] = count;
            count *= dims[d];
        }
        let extents = (0..dims.len()).filter(|d| open[*d]).map(|d| dims[d]).collect();
        let mut lanes = vec![(Key::Lane { extents }.mixer(), None); count];
        movement::for_each_index(dims, |flat, index| {
            let (mixer, one) = &mut lanes[index.iter().zip(&steps).map(|(i, step)| i * step).sum::<usize>()];
            let element = elements[flat];
            *mixer = mixer.and(element);
            *one = Some(one.map_or(element, |one| EITHER.one_of(one, element)));
        });
        let symbol =
            |(mixer, one): (Mixer, Option<Symbol>)| one.map_or(mixer.symbol(), |one| mixer.symbol().one_of(one, one));
        IndexedRows { symbols: lanes.into_iter().map(symbol).collect(), steps }
    }

    fn at(&self, index: impl Iterator<Item = usize>) -> Symbol {
        self.symbols[index.zip(&self.steps).map(|(i, step)| i * step).sum::<usize>()]
    }
}

/// One place along one dim whose index an argument decides: the extent, that of the slice, where the slice starts, and the
/// place in the slice.
fn place(mixer: Mixer, extent: usize, size: usize, start: Symbol, offset: usize) -> Mixer {
    mixer.and_count(extent).and_count(size).and(start).and_count(offset)
}

/// Whether each dim has a start that is not known.
fn is_open(starts: &[Symbol], dims: &[usize], sizes: &[usize]) -> Vec<bool> {
    starts.iter().zip(dims).zip(sizes).map(|((start, d), size)| d != size && start.integer().is_none()).collect()
}

/// The start along a dim where it is known; a slice of the whole extent starts at its beginning.
fn known(start: Symbol, extent: usize, size: usize) -> usize {
    start.integer().map_or(0, |start| start.clamp(0, (extent - size) as i64) as usize)
}

/// The starts of a slice, operands from the `first` on, as HLO clamps them.
fn clamped_starts(tracer: &Tracer, site: &Site, first: usize, dims: &[usize], sizes: &[usize]) -> Vec<Symbol> {
    let clamped =
        |d: usize| tracer.clamp(site.of(first + d)[0], dims[d] - sizes[d], site.shapes[first + d].element_type());
    (0..dims.len()).map(clamped).collect()
}

fn slice(tracer: &Tracer, site: &Site, sizes: &[usize]) -> Symbols {
    let dims = site.dims(0);
    let starts = clamped_starts(tracer, site, 1, dims, sizes);
    let open = is_open(&starts, dims, sizes);
    let lanes = IndexedRows::new(site.of(0), dims, &open);
    let pick = Key::Pick.mixer();
    let mut elements = Vec::with_capacity(sizes.iter().product());
    movement::for_each_index(sizes, |_, index| {
        // A lane stands for all of an open dim: the place in the slice is what tells its elements apart.
        let from = |d: usize| if open[d] { 0 } else { known(starts[d], dims[d], sizes[d]) };
        let lane = lanes.at((0..dims.len()).map(|d| from(d) + index[d]));
        let mut mixer = pick.and(lane);
        for d in (0..dims.len()).filter(|d| open[*d]) {
            mixer = place(mixer, dims[d], sizes[d], starts[d], index[d]);
        }
        elements.push(mixer.symbol().one_of(lane, lane));
    });
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

fn update(tracer: &Tracer, site: &Site) -> Symbols {
    let (dims, sizes) = (site.dims(0), site.dims(1));
    let starts = clamped_starts(tracer, site, 2, dims, sizes);
    let open = is_open(&starts, dims, sizes);
    let lanes = IndexedRows::new(site.of(1), sizes, &open);
    let choice = Key::Update.mixer();
    let mut elements = site.of(0).to_vec();
    movement::for_each_index(dims, |flat, index| {
        let from = |d: usize| known(starts[d], dims[d], sizes[d]);
        let inside = |d: usize| open[d] || (from(d)..from(d) + sizes[d]).contains(&index[d]);
        if !(0..dims.len()).all(inside) {
            return;
        }
        let lane = lanes.at((0..dims.len()).map(|d| if open[d] { 0 } else { index[d] - from(d) }));
        let mut mixer = choice.and(elements[flat]).and(lane);
        for d in (0..dims.len()).filter(|d| open[*d]) {
            mixer = place(mixer, dims[d], sizes[d], starts[d], index[d]);
        }
        // The element stays where the window does not reach it: a fact holds if it does of both.
        elements[flat] = mixer.symbol().one_of(elements[flat], lane);
    });
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

fn gather(tracer: &Tracer, site: &Site, numbers: &GatherDims) -> Symbols {
    let (dims, out_dims) = (site.dims(0), site.instruction.shape.dims());
    let sizes = &numbers.slice_sizes;
    // Which index vectors and places of the slice lead to an element: the machine's own gather says so, of positions.
    let mut starts_dims = site.dims(1).to_vec();
    if numbers.index_vector_dim == starts_dims.len() {
        starts_dims.push(1);
    }
    let strides = movement::row_major(&starts_dims);
    let open: Vec<bool> =
        (0..dims.len()).map(|d| numbers.start_index_map.contains(&d) && dims[d] != sizes[d]).collect();
    // An index may be known for some elements and not for others.
    let mut lanes: HashMap<Vec<bool>, IndexedRows> = HashMap::new();
    let others: Vec<usize> = (0..starts_dims.len()).filter(|d| *d != numbers.index_vector_dim).collect();
    let batch_dims: Vec<usize> = (0..out_dims.len()).filter(|d| !numbers.offset_dims.contains(d)).collect();
    let sliced = |d: &usize| !numbers.collapsed_slice_dims.contains(d) && !numbers.operand_batching_dims.contains(d);
    let offset_sources: Vec<usize> = (0..dims.len()).filter(sliced).collect();
    let (starts, dtype) = (site.of(1), site.shapes[1].element_type());
    let choice = Key::Pick.mixer();
    let mut elements = Vec::with_capacity(out_dims.iter().product());
    movement::for_each_index(out_dims, |_, index| {
        let mut first = vec![0usize; starts_dims.len()];
        others.iter().zip(&batch_dims).for_each(|(d, from)| first[*d] = index[*from]);
        let first_at: usize = first.iter().zip(&strides).map(|(i, s)| i * *s as usize).sum();
        let mut offset = vec![0usize; dims.len()];
        for (from, d) in numbers.offset_dims.iter().zip(&offset_sources) {
            offset[*d] = index[*from];
        }
        for (d, from) in numbers.operand_batching_dims.iter().zip(&numbers.start_indices_batching_dims) {
            offset[*d] = first[*from];
        }
        let start_of = |d: usize| {
            let element = numbers.start_index_map.iter().position(|mapped| *mapped == d)?;
            let start = starts[first_at + element * strides[numbers.index_vector_dim] as usize];
            Some(tracer.clamp(start, dims[d] - sizes[d], dtype))
        };
        let starts: Vec<Option<Symbol>> = (0..dims.len()).map(|d| start_of(d).filter(|_| open[d])).collect();
        let open: Vec<bool> = starts.iter().map(|start| start.is_some_and(|start| !start.is_known())).collect();
        let at = |d: usize| starts[d].map_or(0, |start| known(start, dims[d], sizes[d])) + offset[d];
        // All indices of this element are known: it is the element that they name, and no choice.
        if !open.contains(&true) {
            let strides = movement::row_major(dims);
            elements.push(site.of(0)[(0..dims.len()).map(|d| at(d) * strides[d] as usize).sum::<usize>()]);
            return;
        }
        let lanes = lanes.entry(open.clone()).or_insert_with(|| IndexedRows::new(site.of(0), dims, &open));
        let lane = lanes.at((0..dims.len()).map(|d| if open[d] { 0 } else { at(d) }));
        let mut mixer = choice.and(lane);
        for (d, start) in starts.iter().enumerate().filter(|(d, _)| open[*d]) {
            mixer = place(mixer, dims[d], sizes[d], start.unwrap_or(lane), offset[d]);
        }
        elements.push(mixer.symbol().one_of(lane, lane));
    });
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

/// Updates that may reach elements, at most, where an argument decides an index; a larger scatter is one function of all that it
/// is given.
const FOLLOWED: usize = 1 << 16;

/// A scatter as steps: windows of these extents, updates in their own order, one after the other.
struct ScatterSteps<'s> {
    site: &'s Site<'s>,
    /// Extents of the arrays, and of a window along each of their dims.
    dims: &'s [usize],
    sizes: Vec<usize>,
    /// Of each update element, where its window starts along each dim and its place in the window.
    updates: Vec<(Vec<Symbol>, Vec<usize>)>,
}

/// An update that reaches an element: its number, the element's position, and the condition, if there is one.
struct Write {
    update: usize,
    at: usize,
    condition: Option<Symbol>,
}

impl<'s> ScatterSteps<'s> {
    fn new(site: &'s Site, numbers: &ScatterDims) -> ScatterSteps<'s> {
        let count = site.operands.len() / 2;
        let (dims, starts, update_dims) = (site.dims(0), site.of(count), site.dims(count + 1));
        let mut updates = Vec::with_capacity(update_dims.iter().product());
        movement::for_each_update(numbers, dims.len(), site.dims(count), update_dims, |_, windows, offsets| {
            let start = |window: &WindowStart| match window {
                WindowStart::At(place) => Symbol::of(Number::Integer(*place as i64)),
                WindowStart::Index(position) => starts[*position],
            };
            updates.push((windows.iter().map(start).collect(), offsets.to_vec()));
        });
        ScatterSteps { site, dims, sizes: numbers.window_sizes(dims.len(), update_dims), updates }
    }

    /// The places along a dim that an update may reach, from the first on; a window that does not lie inside reaches none.
    fn reach(&self, update: usize, d: usize) -> Range<usize> {
        let (starts, offsets) = &self.updates[update];
        let last = self.dims[d] - self.sizes[d];
        match starts[d].integer() {
            Some(start) if (0..=last as i64).contains(&start) => {
                start as usize + offsets[d]..start as usize + offsets[d] + 1
            }
            // HLO leaves out an update whose window is not wholly inside, and clamps no start of a scatter.
            Some(_) => 0..0,
            None => offsets[d]..last + offsets[d] + 1,
        }
    }

    /// The number of elements that all updates together may reach; none where no index is open.
    fn reached(&self) -> Option<usize> {
        let is_open = self.updates.iter().any(|(starts, _)| starts.iter().any(|start| start.integer().is_none()));
        let reach = |update: usize| (0..self.dims.len()).map(|d| self.reach(update, d).len()).product::<usize>();
        is_open.then(|| (0..self.updates.len()).map(reach).fold(0, usize::saturating_add))
    }

    /// All of it, in this order.
    fn writes(&self, tracer: &Tracer) -> Vec<Write> {
        let count = self.site.operands.len() / 2;
        let equal = SymbolicComparison::equal(self.site.shapes[count].element_type());
        let and = PairwiseOperation::new(Binary::And, DType::Pred, &tracer.machine.unit, tracer);
        let strides = movement::row_major(self.dims);
        let mut writes = Vec::new();
        for (update, (starts, offsets)) in self.updates.iter().enumerate() {
            let reach: Vec<Range<usize>> = (0..self.dims.len()).map(|d| self.reach(update, d)).collect();
            let extents: Vec<usize> = reach.iter().map(Range::len).collect();
            movement::for_each_index(&extents, |_, index| {
                let place = |d: usize| reach[d].start + index[d];
                let open = (0..extents.len()).filter(|d| starts[*d].integer().is_none());
                let hits =
                    open.map(|d| equal.of(starts[d], Symbol::of(Number::Integer((place(d) - offsets[d]) as i64))));
                let condition = hits.reduce(|one, other| and.of(one, other));
                let at = (0..extents.len()).map(|d| place(d) * strides[d] as usize).sum();
                writes.push(Write { update, at, condition });
            });
        }
        writes
    }

    /// One function of all that is given, however its dimension numbers are written.
    fn whole(&self, region: Symbol) -> Symbols {
        let mut mixer = Key::Scatter { dims: self.dims.to_vec(), window: self.sizes.clone() }.mixer().and(region);
        for (starts, offsets) in &self.updates {
            mixer =
                offsets.iter().fold(mixer.and_all(starts.iter().copied()), |mixer, offset| mixer.and_count(*offset));
        }
        let count = self.site.operands.len() / 2;
        let given =
            (0..count).chain(count + 1..2 * count + 1).flat_map(|operand| self.site.of(operand).iter().copied());
        parts(&self.site.instruction.shape, mixer.and_all(given))
    }
}

/// Updates in their own order, one after the other. Where an argument decides an index, each element is a choice by that index.
pub fn scatter(tracer: &Tracer, site: &Site, numbers: &ScatterDims, to_apply: ComputationId) -> Result<Symbols> {
    let count = site.operands.len() / 2;
    let steps = ScatterSteps::new(site, numbers);
    if steps.reached().is_some_and(|reached| reached > FOLLOWED) {
        return Ok(steps.whole(tracer.region(to_apply)?));
    }
    let writes = steps.writes(tracer);
    tracer.spend(site.instruction, writes.len() * 8)?;
    let mut arrays: Vec<Vec<Symbol>> = (0..count).map(|at| site.of(at).to_vec()).collect();
    let choice = Key::Select.mixer();
    for Write { update, at, condition } in writes {
        let current: Vec<Symbol> = arrays.iter().map(|array| array[at]).collect();
        let updates = (0..count).map(|array| site.of(count + 1 + array)[update]);
        let arguments = current.iter().copied().chain(updates).map(|symbol| Symbols::array(vec![symbol])).collect();
        let results = tracer.call(to_apply, arguments, None)?;
        for ((array, result), current) in arrays.iter_mut().zip(results.arrays()).zip(current) {
            let result = result.elements[0];
            array[at] = condition.map_or(result, |condition| choose(&choice, condition, result, current));
        }
    }
    Ok(Symbols::from_parts(arrays.into_iter().map(Symbols::array).collect()))
}

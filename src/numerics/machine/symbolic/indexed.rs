//! Elements that indices choose: where an argument decides an index, the result is a choice among all that it may reach.

use crate::ir::{ComputationId, GatherDims, Op, ScatterDims, movement};

use super::run::{Result, Site, Tracer, move_elements, whole};
use super::symbol::{Mixer, Number, Symbol};
use super::symbols::Symbols;

/// `dynamic-slice`, `dynamic-update-slice` and `gather`.
pub fn pick(site: &Site) -> Symbols {
    let first = site.instruction.op.first_start().unwrap_or(site.operands.len());
    let starts: Option<Vec<i64>> =
        (first..site.operands.len()).flat_map(|at| site.of(at)).map(|symbol| symbol.integer()).collect();
    if let Some(starts) = starts {
        let starts_dims = if matches!(site.instruction.op, Op::Gather(_)) { site.dims(1) } else { &[] };
        return move_elements(site, first, &starts, starts_dims);
    }
    match &site.instruction.op {
        Op::DynamicSlice { sizes } => slice(site, sizes),
        Op::DynamicUpdateSlice => update(site),
        Op::Gather(numbers) => gather(site, numbers),
        other => unreachable!("{} takes no start indices", other.opcode()),
    }
}

/// Rows of an array along the dims whose index an argument decides.
struct Lanes {
    /// The symbol of each lane, by the other dims' indices.
    symbols: Vec<Symbol>,
    /// Steps among lanes; 0 along the dims that lanes lie in.
    steps: Vec<usize>,
}

impl Lanes {
    /// Lanes of an array of these dims, along the `open` ones.
    fn new(elements: &[Symbol], dims: &[usize], open: &[bool]) -> Lanes {
        let mut steps = vec![0; dims.len()];
        let mut count = 1;
        for d in (0..dims.len()).rev().filter(|d| !open[*d]) {
            steps[d] = count;
            count *= dims[d];
        }
        let extents: Vec<String> = (0..dims.len()).filter(|d| open[*d]).map(|d| dims[d].to_string()).collect();
        let mut mixers = vec![Mixer::new(&format!("lane {}", extents.join(" "))); count];
        movement::for_each_index(dims, |flat, index| {
            let lane = &mut mixers[index.iter().zip(&steps).map(|(i, step)| i * step).sum::<usize>()];
            *lane = lane.and(elements[flat]);
        });
        Lanes { symbols: mixers.into_iter().map(Mixer::symbol).collect(), steps }
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

/// Which dims have a start that is not known.
fn is_open(starts: &[Symbol], dims: &[usize], sizes: &[usize]) -> Vec<bool> {
    starts.iter().zip(dims).zip(sizes).map(|((start, d), size)| d != size && start.integer().is_none()).collect()
}

/// The start along a dim where it is known; a slice of the whole extent starts at its beginning.
fn known(start: Symbol, extent: usize, size: usize) -> usize {
    start.integer().map_or(0, |start| start.clamp(0, (extent - size) as i64) as usize)
}

fn slice(site: &Site, sizes: &[usize]) -> Symbols {
    let dims = site.dims(0);
    let starts: Vec<Symbol> = (1..=dims.len()).map(|at| site.of(at)[0]).collect();
    let open = is_open(&starts, dims, sizes);
    let lanes = Lanes::new(site.of(0), dims, &open);
    let pick = Mixer::new("pick");
    let mut elements = Vec::with_capacity(sizes.iter().product());
    movement::for_each_index(sizes, |_, index| {
        let from = |d: usize| if open[d] { 0 } else { known(starts[d], dims[d], sizes[d]) };
        let mut mixer = pick.and(lanes.at((0..dims.len()).map(|d| from(d) + index[d])));
        for d in (0..dims.len()).filter(|d| open[*d]) {
            mixer = place(mixer, dims[d], sizes[d], starts[d], index[d]);
        }
        elements.push(mixer.symbol());
    });
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

fn update(site: &Site) -> Symbols {
    let (dims, sizes) = (site.dims(0), site.dims(1));
    let starts: Vec<Symbol> = (2..2 + dims.len()).map(|at| site.of(at)[0]).collect();
    let open = is_open(&starts, dims, sizes);
    let lanes = Lanes::new(site.of(1), sizes, &open);
    let choice = Mixer::new("update");
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
        elements[flat] = mixer.symbol();
    });
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

fn gather(site: &Site, numbers: &GatherDims) -> Symbols {
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
    let lanes = Lanes::new(site.of(0), dims, &open);
    let others: Vec<usize> = (0..starts_dims.len()).filter(|d| *d != numbers.index_vector_dim).collect();
    let batch_dims: Vec<usize> = (0..out_dims.len()).filter(|d| !numbers.offset_dims.contains(d)).collect();
    let sliced = |d: &usize| !numbers.collapsed_slice_dims.contains(d) && !numbers.operand_batching_dims.contains(d);
    let offset_sources: Vec<usize> = (0..dims.len()).filter(sliced).collect();
    let starts = site.of(1);
    let choice = Mixer::new("pick");
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
            Some(starts[first_at + element * strides[numbers.index_vector_dim] as usize])
        };
        let mut mixer = choice.and(lanes.at((0..dims.len()).map(|d| if open[d] { 0 } else { offset[d] })));
        for d in (0..dims.len()).filter(|d| open[*d]) {
            let start = start_of(d).unwrap_or(Symbol::of(Number::Integer(0)));
            mixer = place(mixer, dims[d], sizes[d], clamped(start, dims[d] - sizes[d]), offset[d]);
        }
        elements.push(mixer.symbol());
    });
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

/// A known index is clamped here, so that all that lead to one element are one.
fn clamped(start: Symbol, last: usize) -> Symbol {
    start.integer().map_or(start, |start| Symbol::of(Number::Integer(start.clamp(0, last as i64))))
}

/// Updates in their own order, one after the other.
pub fn scatter(tracer: &Tracer, site: &Site, dims: &ScatterDims, to_apply: ComputationId) -> Result<Symbols> {
    let count = site.operands.len() / 2;
    let starts: Option<Vec<i64>> = site.of(count).iter().map(|symbol| symbol.integer()).collect();
    let Some(starts) = starts else {
        let mixer = Mixer::new(&format!("scatter {dims:?}")).and(tracer.region(to_apply)?);
        return Ok(whole(site, mixer));
    };
    let update_dims = site.dims(count + 1);
    let positions = movement::scatter_positions(dims, site.dims(0), &starts, site.dims(count), update_dims);
    tracer.spend(site.instruction, positions.len() * 8)?;
    let mut arrays: Vec<Vec<Symbol>> = (0..count).map(|at| site.of(at).to_vec()).collect();
    for (from, at) in positions.iter().enumerate() {
        let Some(at) = *at else { continue };
        let current = arrays.iter().map(|array| array[at]);
        let updates = (0..count).map(|update| site.of(count + 1 + update)[from]);
        let arguments = current.chain(updates).map(|symbol| Symbols::array(vec![symbol])).collect();
        let results = tracer.call(to_apply, arguments, None)?;
        let results: Vec<Symbol> = results.arrays().iter().map(|array| array.elements[0]).collect();
        arrays.iter_mut().zip(results).for_each(|(array, result)| array[at] = result);
    }
    Ok(Symbols::from_parts(arrays.into_iter().map(Symbols::array).collect()))
}

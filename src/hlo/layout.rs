//! Memory positions of an array's elements, by its layout and tiles: a `bitcast` needs them.
//!
//! Source: openxla `docs/tiled_layout.md`.

use crate::ir::Shape;
use crate::tensor::DType;

use super::ast::Layout;

/// The dim along which elements lie side by side, where a layout says that it is another than the last one of several elements.
pub(super) fn minor_dim(dims: &[usize], layout: Option<&Layout>) -> Option<usize> {
    let minor_to_major = &layout.filter(|layout| layout.minor_to_major.len() == dims.len())?.minor_to_major;
    let is_long = |dim: &usize| dims.get(*dim).is_some_and(|extent| *extent > 1);
    let minor = minor_to_major.iter().map(|dim| *dim as usize).find(is_long)?;
    (dims.iter().rposition(|extent| *extent > 1) != Some(minor)).then_some(minor)
}

/// For each element of `to` (row-major), the element of `from` at the same address; `None` if one has none, as where it
/// lies in the other's padding.
pub(super) fn same_address(from: (&[usize], Option<&Layout>), to: (&[usize], Option<&Layout>)) -> Option<Vec<usize>> {
    let (from, to) = (Addresses::new(from.0, from.1)?, Addresses::new(to.0, to.1)?);
    if from.is_row_major() && to.is_row_major() && from.elements() == to.elements() {
        return Some((0..to.elements()).collect());
    }
    let mut holder = vec![usize::MAX; from.size()];
    for (flat, address) in from.addresses().enumerate() {
        *holder.get_mut(address)? = flat;
    }
    to.addresses().map(|address| holder.get(address).copied().filter(|h| *h != usize::MAX)).collect()
}

/// Number of places in memory that an array takes, padding included; `None` if the layout does not fit these dims.
pub(super) fn places(dims: &[usize], layout: Option<&Layout>) -> Option<usize> {
    Some(Addresses::new(dims, layout)?.size())
}

/// The same as dims that the elements of `from` are seen in and the order in which these are `to`'s, major to minor; `None`
/// where one layout pads a dim that the other has not just so, or the two cut memory up so that neither refines the other.
pub(super) fn as_transpose(
    from: (&[usize], Option<&Layout>),
    to: (&[usize], Option<&Layout>),
) -> Option<(Vec<usize>, Vec<usize>)> {
    let all_dims = [from.0, to.0];
    let (mut from, mut to) = (Addresses::new(from.0, from.1)?.digits()?, Addresses::new(to.0, to.1)?.digits()?);
    // Pieces of memory that both see as part of one dim, minor to major: how many, and the place in each.
    let mut pieces: Vec<CommonRun> = Vec::new();
    while let (Some(a), Some(b)) = (from.pop(), to.pop()) {
        let size = a.size.min(b.size);
        if a.size % size != 0 || b.size % size != 0 {
            return None;
        }
        pieces.push((size, [(a.dim, a.step), (b.dim, b.step)]));
        for (list, digit) in [(&mut from, a), (&mut to, b)] {
            if digit.size > size {
                list.push(Digit { size: digit.size / size, step: digit.step * size, ..digit });
            }
        }
    }
    if !from.is_empty() || !to.is_empty() {
        return None;
    }
    let mut pieces = without_padding(pieces, all_dims)?;
    pieces.retain(|(size, _)| *size != 1);
    // In logical order: dims one after another, in each the larger steps first.
    let order = |side: usize| {
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|piece| (pieces[*piece].1[side].0, std::cmp::Reverse(pieces[*piece].1[side].1)));
        order
    };
    let (seen, wanted) = (order(0), order(1));
    let place = |piece: usize| seen.iter().position(|other| *other == piece);
    let permutation = wanted.into_iter().map(place).collect::<Option<_>>()?;
    Some((seen.into_iter().map(|piece| pieces[piece].0).collect(), permutation))
}

/// A piece of memory that both arrays see as part of one dim: its size, and the dim and the place in it for each.
type CommonRun = (usize, [(usize, usize); 2]);

/// The pieces, with those of a dim that both pad in the same way as one: it lies in both as it is, and only its own elements
/// count. `None` where padding is anything else.
fn without_padding(mut pieces: Vec<CommonRun>, dims: [&[usize]; 2]) -> Option<Vec<CommonRun>> {
    for side in [0, 1] {
        for (dim, size) in dims[side].iter().enumerate() {
            let own: Vec<CommonRun> = pieces.iter().filter(|piece| piece.1[side].0 == dim).copied().collect();
            if own.iter().map(|piece| piece.0).product::<usize>() == *size {
                continue;
            }
            let other = own.first()?.1[1 - side].0;
            let alone = pieces.iter().filter(|piece| piece.1[1 - side].0 == other).count() == own.len();
            let alike = own.iter().all(|(_, [a, b])| a.1 == b.1 && [a, b][1 - side].0 == other);
            if !alone || !alike || dims[1 - side][other] != *size {
                return None;
            }
            // The piece of the largest steps stands for all.
            let step = own.iter().map(|piece| piece.1[side].1).max()?;
            pieces.retain(|piece| piece.1[side].0 != dim || piece.1[side].1 == step);
            pieces.iter_mut().filter(|piece| piece.1[side].0 == dim).for_each(|piece| piece.0 = *size);
        }
    }
    Some(pieces)
}

/// Part of a logical dim that lies evenly in memory: an index in it is worth so many steps of the dim's own.
#[derive(Clone, Copy)]
struct Digit {
    dim: usize,
    size: usize,
    step: usize,
}

/// The address function of one layout.
struct Addresses {
    dims: Vec<usize>,
    /// Logical dims from major to minor.
    major_to_minor: Vec<usize>,
    tiles: Vec<Vec<usize>>,
    /// Extents after each tiling: entry 0 before any.
    extents: Vec<Vec<usize>>,
}

/// As many places as an array may have elements; `None` for more.
fn countable(extents: &[usize]) -> Option<()> {
    let shape = Shape::array(DType::Pred, extents);
    shape.is_countable().then_some(())
}

impl Addresses {
    fn new(dims: &[usize], layout: Option<&Layout>) -> Option<Addresses> {
        let rank = dims.len();
        let major_to_minor: Vec<usize> = match layout {
            Some(layout) if !layout.minor_to_major.is_empty() => {
                layout.minor_to_major.iter().rev().map(|d| *d as usize).collect()
            }
            _ => (0..rank).collect(),
        };
        let mut sorted = major_to_minor.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return None;
        }
        let mut tiles = Vec::new();
        let mut extents: Vec<usize> = major_to_minor.iter().map(|d| dims[*d]).collect();
        let mut all = Vec::new();
        for tile in layout.map(|l| &l.tiles[..]).unwrap_or_default() {
            let tile: Vec<usize> = tile.iter().map(|t| *t as usize).collect();
            if tile.contains(&0) {
                return None;
            }
            // A tile of higher rank than the array sees leading dims of one element.
            while extents.len() < tile.len() {
                extents.insert(0, 1);
            }
            all.push(extents.clone());
            let split = extents.len() - tile.len();
            let outer = extents[split..].iter().zip(&tile).map(|(e, t)| e.div_ceil(*t));
            extents = extents[..split].iter().copied().chain(outer).chain(tile.iter().copied()).collect();
            tiles.push(tile);
            // Addresses are counted in machine words, also of arrays without elements.
            countable(&extents)?;
        }
        countable(&extents)?;
        all.push(extents);
        Some(Addresses { dims: dims.to_vec(), major_to_minor, tiles, extents: all })
    }

    /// The parts of dims as they lie in memory, major to minor, without those of one element; with padding they have places for
    /// more than the dim has elements. `None` for tiles over more dims than there are, and for arrays without elements.
    fn digits(&self) -> Option<Vec<Digit>> {
        let mut digits: Vec<Digit> =
            self.major_to_minor.iter().map(|dim| Digit { dim: *dim, size: self.dims[*dim], step: 1 }).collect();
        for tile in &self.tiles {
            let split = digits.len().checked_sub(tile.len())?;
            let parts = digits.split_off(split);
            let cut = |part: &dyn Fn(Digit, usize) -> Digit| -> Vec<Digit> {
                parts.iter().zip(tile).map(|(digit, tile)| part(*digit, *tile)).collect()
            };
            digits.extend(cut(&|digit, tile| Digit {
                size: digit.size.div_ceil(tile),
                step: digit.step * tile,
                ..digit
            }));
            digits.extend(cut(&|digit, tile| Digit { size: tile, ..digit }));
        }
        digits.retain(|digit| digit.size != 1);
        (!digits.iter().any(|digit| digit.size == 0)).then_some(digits)
    }

    /// Whether elements lie in their logical order, without padding.
    fn is_row_major(&self) -> bool {
        self.tiles.is_empty() && self.major_to_minor.is_sorted()
    }

    fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Places in memory, padding included.
    fn size(&self) -> usize {
        self.extents.last().map_or(1, |e| e.iter().product())
    }

    /// The addresses of all elements in their logical order: each dim's index has a part in it of its own.
    fn addresses(&self) -> impl Iterator<Item = usize> {
        let mut index = vec![0; self.dims.len()];
        let mut of_dim = |dim: usize| -> Vec<usize> {
            let addresses = (0..self.dims[dim]).map(|i| {
                index[dim] = i;
                self.address(&index)
            });
            let addresses = addresses.collect();
            index[dim] = 0;
            addresses
        };
        let parts: Vec<Vec<usize>> = (0..self.dims.len()).map(&mut of_dim).collect();
        (0..self.elements()).map(move |mut rest| {
            let part = |of_dim: &Vec<usize>| {
                let part = of_dim[rest % of_dim.len()];
                rest /= of_dim.len();
                part
            };
            parts.iter().rev().map(part).sum()
        })
    }

    fn address(&self, index: &[usize]) -> usize {
        let mut physical: Vec<usize> = self.major_to_minor.iter().map(|d| index[*d]).collect();
        for (tile, extents) in self.tiles.iter().zip(&self.extents) {
            while physical.len() < extents.len() {
                physical.insert(0, 0);
            }
            let split = physical.len() - tile.len();
            let outer: Vec<usize> = physical[split..].iter().zip(tile).map(|(i, t)| i / t).collect();
            let inner: Vec<usize> = physical[split..].iter().zip(tile).map(|(i, t)| i % t).collect();
            physical.truncate(split);
            physical.extend(outer);
            physical.extend(inner);
        }
        let extents = self.extents.last().map_or(&[][..], |e| e);
        physical.iter().zip(extents).fold(0, |address, (i, n)| address * n + i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(minor_to_major: &[u64], tiles: &[&[u64]]) -> Layout {
        let tiles = tiles.iter().map(|t| t.to_vec()).collect();
        Layout { minor_to_major: minor_to_major.to_vec(), tiles, rest: String::new() }
    }

    /// The example of openxla `docs/tiled_layout.md`: F32[3,5] tiled by (2,2).
    #[test]
    fn the_documented_example_comes_out() {
        let layout = layout(&[1, 0], &[&[2, 2]]);
        let addresses = Addresses::new(&[3, 5], Some(&layout));
        let addresses: Vec<usize> = addresses.map(|a| a.addresses().collect()).unwrap_or_default();
        assert_eq!(addresses, [0, 1, 4, 5, 8, 2, 3, 6, 7, 10, 12, 13, 16, 17, 20]);
    }

    #[test]
    fn a_tile_row_seen_as_a_dim_is_a_reshape() {
        let (from, to) = (layout(&[1, 0], &[&[8, 128]]), layout(&[2, 0, 1], &[&[8, 128]]));
        let moved = same_address((&[8, 1024], Some(&from)), (&[8, 8, 128], Some(&to)));
        assert_eq!(moved, Some((0..8192).collect()));
    }

    #[test]
    fn padding_is_dropped_but_never_read() {
        let tiled = layout(&[1, 0], &[&[8, 128]]);
        let moved = same_address((&[2, 9], Some(&tiled)), (&[2, 8], Some(&tiled)));
        assert_eq!(moved, Some((0..18).filter(|i| i % 9 < 8).collect()));
        assert_eq!(same_address((&[2, 8], Some(&tiled)), (&[2, 9], Some(&tiled))), None);
    }

    /// That element by element the transpose is what the addresses say.
    fn assert_is_transpose(from: (&[usize], Option<&Layout>), to: (&[usize], Option<&Layout>)) {
        let (seen, permutation) = as_transpose(from, to).unwrap();
        let wanted: Vec<usize> = permutation.iter().map(|dim| seen[*dim]).collect();
        let steps: Vec<usize> = permutation.iter().map(|dim| seen[dim + 1..].iter().product()).collect();
        let element = |mut flat: usize| {
            let parts = wanted.iter().zip(&steps).rev();
            parts.map(|(size, step)| (flat % size * step, flat /= size).0).sum::<usize>()
        };
        let elements = from.0.iter().product();
        assert_eq!(same_address(from, to), Some((0..elements).map(element).collect()), "{:?}", to.0);
    }

    #[test]
    fn minor_dims_are_those_that_are_not_last() {
        let of = |dims: &[usize], minor_to_major: &[u64]| minor_dim(dims, Some(&layout(minor_to_major, &[])));
        assert_eq!(of(&[12, 10, 2], &[0, 1, 2]), Some(0));
        assert_eq!(of(&[12, 10, 2], &[2, 0, 1]), None);
        // Dims of one element lie anywhere.
        assert_eq!([of(&[12, 1], &[0, 1]), of(&[12, 10, 1], &[2, 0, 1])], [None, Some(0)]);
        assert_eq!(minor_dim(&[12, 10], None), None);
    }

    #[test]
    fn layouts_without_padding_are_transposes() {
        let tiled = layout(&[1, 0], &[&[8, 128], &[2, 1]]);
        let others = [
            (vec![16, 2, 128], layout(&[2, 0, 1], &[&[8, 128], &[2, 1]])),
            (vec![2, 256, 8], layout(&[1, 2, 0], &[&[8, 128], &[2, 1]])),
            (vec![256, 16], layout(&[0, 1], &[&[8, 128], &[2, 1]])),
            (vec![16, 256], layout(&[0, 1], &[])),
            (vec![4096], layout(&[0], &[])),
        ];
        for (dims, other) in &others {
            assert_is_transpose((&[16, 256], Some(&tiled)), (dims, Some(other)));
        }
    }

    /// Rows of 576 are padded to 640: where both arrays have them so, the rest is a transpose.
    #[test]
    fn the_same_padding_is_seen_through() {
        let tiles: &[&[u64]] = &[&[8, 128], &[2, 1]];
        let (minor_last, minor_middle) = (layout(&[2, 1, 0], tiles), layout(&[1, 2, 0], tiles));
        assert_is_transpose((&[1, 576, 48], Some(&minor_middle)), (&[6, 8, 576], Some(&minor_last)));
        assert_is_transpose((&[2, 9], Some(&layout(&[1, 0], tiles))), (&[9, 2], Some(&layout(&[0, 1], tiles))));
        let rows = layout(&[1, 0], tiles);
        assert_eq!(as_transpose((&[2, 9], Some(&rows)), (&[2, 9], Some(&rows))), Some((vec![2, 9], vec![0, 1])));
        // The same places, but of fewer elements, or of rows that are columns to the other.
        assert_eq!(as_transpose((&[2, 9], Some(&rows)), (&[2, 8], Some(&rows))), None);
        assert_eq!(as_transpose((&[8, 120], Some(&rows)), (&[8, 120], Some(&layout(&[0, 1], tiles)))), None);
    }

    #[test]
    fn other_orders_are_transposes() {
        let moved = same_address((&[2, 3], None), (&[3, 2], Some(&layout(&[0, 1], &[]))));
        assert_eq!(moved, Some(vec![0, 3, 1, 4, 2, 5]));
    }
}

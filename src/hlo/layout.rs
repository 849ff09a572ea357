//! Where an array's elements lie in memory, as its layout and tiles say: what a `bitcast` needs.
//!
//! Source: openxla `docs/tiled_layout.md`.

use super::ast::Layout;

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

/// The same as dims that the elements of `from` are seen in and the order in which these are `to`'s, major to minor; `None`
/// where a layout pads, or the two cut memory up so that neither refines the other.
pub(super) fn as_transpose(
    from: (&[usize], Option<&Layout>),
    to: (&[usize], Option<&Layout>),
) -> Option<(Vec<usize>, Vec<usize>)> {
    let (mut from, mut to) = (Addresses::new(from.0, from.1)?.digits()?, Addresses::new(to.0, to.1)?.digits()?);
    // Pieces of memory that both see as part of one dim, minor to major: how many, and the place in each.
    let mut pieces: Vec<(usize, [(usize, usize); 2])> = Vec::new();
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
        }
        all.push(extents);
        Some(Addresses { dims: dims.to_vec(), major_to_minor, tiles, extents: all })
    }

    /// The parts of dims as they lie in memory, major to minor, without those of one element; `None` where there is padding.
    fn digits(&self) -> Option<Vec<Digit>> {
        let mut digits: Vec<Digit> =
            self.major_to_minor.iter().map(|dim| Digit { dim: *dim, size: self.dims[*dim], step: 1 }).collect();
        for tile in &self.tiles {
            let split = digits.len().checked_sub(tile.len())?;
            let parts = digits.split_off(split);
            let cut = |part: &dyn Fn(Digit, usize) -> Digit| -> Vec<Digit> {
                parts.iter().zip(tile).map(|(digit, tile)| part(*digit, *tile)).collect()
            };
            if parts.iter().zip(tile).any(|(digit, tile)| digit.size % tile != 0) {
                return None;
            }
            digits.extend(cut(&|digit, tile| Digit { size: digit.size / tile, step: digit.step * tile, ..digit }));
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

    /// Element by element, the transposes are what the addresses say.
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
            let moved = same_address((&[16, 256], Some(&tiled)), (dims, Some(other)));
            let (seen, permutation) = as_transpose((&[16, 256], Some(&tiled)), (dims, Some(other))).unwrap();
            let wanted: Vec<usize> = permutation.iter().map(|dim| seen[*dim]).collect();
            let steps: Vec<usize> = permutation.iter().map(|dim| seen[dim + 1..].iter().product()).collect();
            let element = |mut flat: usize| {
                let parts = wanted.iter().zip(&steps).rev();
                parts.map(|(size, step)| (flat % size * step, flat /= size).0).sum::<usize>()
            };
            assert_eq!(moved, Some((0..4096).map(element).collect()), "{dims:?}");
        }
        let padded = layout(&[1, 0], &[&[8, 128]]);
        assert_eq!(as_transpose((&[2, 9], Some(&padded)), (&[2, 9], Some(&padded))), None);
    }

    #[test]
    fn other_orders_are_transposes() {
        let moved = same_address((&[2, 3], None), (&[3, 2], Some(&layout(&[0, 1], &[]))));
        assert_eq!(moved, Some(vec![0, 3, 1, 4, 2, 5]));
    }
}

//! The plan of a collective in a compiled TPU file: which parts of the data are added along which rings of the torus.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use crate::name::quantity;

/// The plan of an all-reduce or reduce-scatter, from `collective_algorithm_config` (FACTS 6.2).
///
/// The data is cut into one part a color. A color takes the dims of the torus one after the other (its phases), and in each
/// adds up along rings: a ring of n devices cuts what it has into n shards, and shard s comes together on device s of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollectivePlan {
    /// The compiler's name of the code that it emits: `RotatedPincerEmitter`.
    pub emitter: String,
    /// The compiler's name of the order of exchanges: `UniDirectionNDRingStrategy`.
    pub strategy: String,
    /// The phases of each color, in their order; each color takes all devices of a group.
    pub colors: Vec<Vec<Phase>>,
}

/// One phase of a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Phase {
    /// The dim of the torus: 0 is y, 1 is x, 2 is z; `None` for one ring over all devices of the group.
    pub dim: Option<usize>,
    /// Devices in a ring.
    pub ring: usize,
}

/// A ring in which an addition takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Its number, among the rings of one collective.
    pub number: usize,
    /// Whether its order of additions is known.
    pub is_known: bool,
}

/// The steps of a collective, on what a device has of the data: its tiles, in the order of memory.
pub trait Steps<V> {
    /// The reason why a step cannot be taken.
    type Error;

    /// Some of the tiles that a value holds, counted from its own first one.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn cut(&mut self, value: &V, tiles: Range<usize>) -> Result<V, Self::Error>;

    /// The sum of two values in a ring: what arrives, and what the device has.
    ///
    /// # Errors
    /// If the step cannot be taken.
    fn add(&mut self, ring: Ring, arrived: V, own: V) -> Result<V, Self::Error>;
}

/// The direction in which a ring hands on partial sums.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From both sides at once, half of the ring each: a pincer.
    Both,
    /// From each device to the next.
    Up,
    /// From each device to the one before.
    Down,
}

/// The axes of a group's devices: a dim of the torus, or the cores of a chip, with its extent.
type GroupAxes = Vec<(Option<usize>, usize)>;

impl CollectivePlan {
    /// The plan of a strategy on a torus of these extents (y, x, z), as the dumps have it (FACTS 6.2); `None` for a strategy
    /// that is not known, and for extents that it does not take.
    pub fn of(strategy: &str, extents: &[usize]) -> Option<CollectivePlan> {
        let devices = extents.iter().product();
        let one = vec![Phase { dim: None, ring: devices }];
        let colors = match (strategy, extents.len()) {
            ("StrategyRing", _) => vec![one],
            ("UniDirection1DRingStrategy", _) => vec![one; 2],
            ("StrategyND" | "UniDirectionNDRingStrategy", dims @ (2 | 3)) => {
                let color = |first: usize| {
                    let dims = (0..dims).map(|step| (first + step) % dims);
                    dims.map(|dim| Phase { dim: Some(dim), ring: extents[dim] }).collect()
                };
                let both = if strategy == "StrategyND" { dims } else { 2 * dims };
                (0..both).map(color).collect()
            }
            _ => return None,
        };
        let (emitter, strategy) = ("RotatedPincerEmitter".to_string(), strategy.to_string());
        (devices > 0).then_some(CollectivePlan { emitter, strategy, colors })
    }

    /// The plan on chips of so many cores: each color's first ring has all of them (FACTS 6.2).
    #[must_use]
    pub fn with_cores(mut self, cores: usize) -> CollectivePlan {
        for phase in self.colors.iter_mut().filter_map(|color| color.first_mut()) {
            phase.ring = phase.ring.saturating_mul(cores);
        }
        self
    }

    /// The plan with these colors instead, each the dims of the torus in the order in which it takes them; `None` if one does not
    /// take each dim once.
    pub fn with_colors(mut self, orders: &[Vec<usize>]) -> Option<CollectivePlan> {
        let phases = self.colors.first()?.clone();
        let phase = |dim: &usize| phases.iter().find(|phase| phase.dim == Some(*dim)).copied();
        self.colors = orders.iter().map(|order| order.iter().map(phase).collect()).collect::<Option<_>>()?;
        let takes_all = self.colors.iter().all(|color| color.len() == phases.len());
        (takes_all && self.devices().is_some()).then_some(self)
    }

    /// The devices of a group, if all colors take equally many and each dim once.
    pub fn devices(&self) -> Option<usize> {
        let devices = |color: &Vec<Phase>| color.iter().try_fold(1usize, |n, phase| n.checked_mul(phase.ring));
        let first = devices(self.colors.first()?)?;
        let has_dims_once = |color: &Vec<Phase>| {
            let dims = color.iter().enumerate();
            dims.clone().all(|(at, phase)| color[..at].iter().all(|before| before.dim != phase.dim))
        };
        let fits = |color: &Vec<Phase>| !color.is_empty() && devices(color) == Some(first) && has_dims_once(color);
        (first > 0 && self.colors.iter().all(fits)).then_some(first)
    }

    /// Whether a ring of so many devices adds in an order that published results pin: two numbers commute, and rings of four
    /// chips were read off a v4 pod (FACTS 6.2).
    fn is_known(&self, ring: usize) -> bool {
        let is_pincer = self.strategy == "StrategyND" && self.emitter == "RotatedPincerEmitter";
        ring <= 2 || ring == 4 && is_pincer && self.axes().iter().all(|(dim, _)| dim.is_some())
    }

    /// Whether the order in all of its rings is known.
    pub fn is_pinned(&self) -> bool {
        self.colors.iter().flatten().all(|phase| self.is_known(phase.ring))
    }

    fn way(&self, color: usize) -> Way {
        match self.strategy.starts_with("UniDirection") {
            true if color < self.colors.len().div_ceil(2) => Way::Up,
            true => Way::Down,
            false => Way::Both,
        }
    }

    /// The two arms of a ring of `n`, at whose end lies device `shard`: devices in the order in which they are added.
    fn arms(&self, color: usize, n: usize, shard: usize) -> [Vec<usize>; 2] {
        let at = |steps: usize| (shard + steps) % n;
        match self.way(color) {
            Way::Up => [(1..=n).map(at).collect(), Vec::new()],
            Way::Down => [(0..n).rev().map(at).collect(), Vec::new()],
            Way::Both => {
                let near = n.div_ceil(2);
                [(0..near).rev().map(at).collect(), (near..n).map(at).collect()]
            }
        }
    }

    /// The axes of a group's devices, the slowest first, as JAX lays one axis of a mesh over a torus: x, y, z, core.
    fn axes(&self) -> GroupAxes {
        // Where a chip has cores, each color's first ring has them, beside the chips along its dim.
        let phases = || self.colors.iter().flatten();
        let extent = |dim: usize| phases().filter(|phase| phase.dim == Some(dim)).map(|phase| phase.ring).min();
        let mut axes: GroupAxes = [1, 0, 2].into_iter().filter_map(|dim| Some((Some(dim), extent(dim)?))).collect();
        let devices = self.devices().unwrap_or_default();
        let chips: usize = axes.iter().map(|(_, extent)| extent).product();
        if axes.is_empty() || chips == 0 || chips != devices {
            axes.push((None, if axes.is_empty() { devices } else { devices / chips.max(1) }));
        }
        axes
    }

    /// The sums of what a group's devices have of so many tiles, piece by piece in the order of memory; `None` where the devices
    /// are not as many as the plan's. Each color takes an equal share of the tiles, and each of its rings cuts what it has into
    /// equal shards; where that does not come out even, the last ones are short (a modelling choice).
    ///
    /// # Errors
    /// As the steps.
    pub fn sums<V: Clone, S: Steps<V>>(
        &self,
        tiles: usize,
        members: &[V],
        steps: &mut S,
    ) -> Result<Option<Vec<V>>, S::Error> {
        if self.devices() != Some(members.len()) {
            return Ok(None);
        }
        let mut sum = Sum { plan: self, steps, rings: 0, pieces: Vec::new() };
        for (color, share) in shares(tiles.max(1), self.colors.len()).into_iter().enumerate() {
            let own = sum.cut(members, tiles.max(1), share.clone())?;
            sum.phases(color, 0, own, self.axes(), share.len())?;
        }
        Ok(Some(sum.pieces))
    }
}

/// A collective on its way.
struct Sum<'p, V, S> {
    plan: &'p CollectivePlan,
    steps: &'p mut S,
    rings: usize,
    pieces: Vec<V>,
}

impl<V: Clone, S: Steps<V>> Sum<'_, V, S> {
    /// Some of the tiles of values of so many.
    fn cut(&mut self, values: &[V], tiles: usize, share: Range<usize>) -> Result<Vec<V>, S::Error> {
        if share == (0..tiles) {
            return Ok(values.to_vec());
        }
        values.iter().map(|value| self.steps.cut(value, share.clone())).collect()
    }

    /// The phases of a color from this one on, of values of so many tiles that stand along these axes.
    fn phases(
        &mut self,
        color: usize,
        at: usize,
        values: Vec<V>,
        axes: GroupAxes,
        tiles: usize,
    ) -> Result<(), S::Error> {
        let phases = &self.plan.colors[color][at..];
        let Some(phase) = phases.first() else {
            self.pieces.extend(values);
            return Ok(());
        };
        // The ring's own axes go last: its members then stand side by side.
        let is_own = |(dim, _): &(Option<usize>, usize)| *dim == phase.dim || dim.is_none();
        let values = with_last(&values, &axes, is_own);
        let left: GroupAxes = axes.into_iter().filter(|axis| !is_own(axis)).collect();
        // Two numbers commute: rings of two add all of their shards alike.
        let shards = if phases.iter().all(|phase| phase.ring <= 2) { 1 } else { phase.ring };
        for (shard, share) in shares(tiles, shards).into_iter().enumerate() {
            let own = self.cut(&values, tiles, share.clone())?;
            let sums =
                own.chunks(phase.ring).map(|members| self.ring(color, members, shard)).collect::<Result<_, _>>()?;
            self.phases(color, at + 1, sums, left.clone(), share.len())?;
        }
        Ok(())
    }

    /// The sum over a ring, at whose end lies device `shard`.
    fn ring(&mut self, color: usize, members: &[V], shard: usize) -> Result<V, S::Error> {
        let ring = Ring { number: self.rings, is_known: self.plan.is_known(members.len()) };
        self.rings += 1;
        let [near, far] = self.plan.arms(color, members.len(), shard);
        let mut sum = self.arm(ring, members, &near)?;
        if !far.is_empty() {
            let far = self.arm(ring, members, &far)?;
            sum = self.steps.add(ring, sum, far)?;
        }
        Ok(sum)
    }

    /// The sum over an arm of a ring, of one device or more.
    fn arm(&mut self, ring: Ring, members: &[V], arm: &[usize]) -> Result<V, S::Error> {
        let mut sum = members[arm[0]].clone();
        for device in &arm[1..] {
            sum = self.steps.add(ring, sum, members[*device].clone())?;
        }
        Ok(sum)
    }
}

/// Equal shares of so many tiles, those without any left out.
fn shares(tiles: usize, shares: usize) -> Vec<Range<usize>> {
    let size = tiles.div_ceil(shares.max(1)).max(1);
    let end = |share: usize| (share * size).min(tiles);
    (0..shares).map(|share| end(share)..end(share + 1)).filter(|share| !share.is_empty()).collect()
}

/// Values of an array of these axes, with some of the axes behind the others.
fn with_last<V: Clone>(values: &[V], axes: &GroupAxes, is_last: impl Fn(&(Option<usize>, usize)) -> bool) -> Vec<V> {
    let order: Vec<usize> =
        [false, true].iter().flat_map(|last| (0..axes.len()).filter(|at| is_last(&axes[*at]) == *last)).collect();
    let step = |axis: usize| axes[axis + 1..].iter().map(|(_, extent)| extent).product::<usize>();
    let place = |place: usize| {
        let mut rest = place;
        let digit = |axis: &usize| {
            let digit = rest % axes[*axis].1;
            rest /= axes[*axis].1;
            digit * step(*axis)
        };
        order.iter().rev().map(digit).sum::<usize>()
    };
    (0..values.len()).filter_map(|at| values.get(place(at)).cloned()).collect()
}

impl Display for CollectivePlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.strategy, self.emitter)?;
        let phases = self.colors.iter().map(Vec::len).max().unwrap_or_default();
        write!(f, ", {}, {}", quantity(self.colors.len(), "color"), quantity(phases, "phase"))?;
        let mut told: Vec<&Vec<Phase>> = Vec::new();
        for phases in &self.colors {
            if told.contains(&phases) {
                continue;
            }
            told.push(phases);
            let own = self.colors.iter().enumerate().filter(|(_, other)| *other == phases);
            let own: Vec<String> = own.map(|(color, _)| color.to_string()).collect();
            let steps: Vec<String> = phases.iter().map(Phase::to_string).collect();
            let colors = if own.len() == 1 { "color" } else { "colors" };
            write!(f, "; {colors} {}: {}", own.join(", "), steps.join(", then "))?;
        }
        Ok(())
    }
}

impl Display for Phase {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.dim {
            Some(dim) => write!(f, "dim {dim} in rings of {}", self.ring),
            None => write!(f, "all in a ring of {}", self.ring),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values are ranges of tiles; a step notes each cut, and none may be empty.
    struct Ranges(Vec<Range<usize>>);

    impl Steps<Range<usize>> for Ranges {
        type Error = String;

        fn cut(&mut self, value: &Range<usize>, tiles: Range<usize>) -> Result<Range<usize>, String> {
            let part = value.start + tiles.start..value.start + tiles.end;
            if part.is_empty() || part.end > value.end {
                return Err(format!("{tiles:?} of {value:?}"));
            }
            self.0.push(part.clone());
            Ok(part)
        }

        fn add(&mut self, _: Ring, arrived: Range<usize>, own: Range<usize>) -> Result<Range<usize>, String> {
            if arrived == own { Ok(own) } else { Err(format!("{arrived:?} and {own:?}")) }
        }
    }

    /// Colors take each dim once, and the cores of a chip are in the ring that comes first.
    #[test]
    fn colors_take_each_dim_once() {
        let plan = || CollectivePlan::of("StrategyND", &[4, 2, 4]).unwrap();
        let of = |orders: &[&[usize]]| {
            let orders: Vec<Vec<usize>> = orders.iter().map(|order| order.to_vec()).collect();
            Some(plan().with_colors(&orders)?.with_cores(2).colors)
        };
        let phase = |dim, ring| Phase { dim: Some(dim), ring };
        let second = vec![phase(2, 8), phase(0, 4), phase(1, 2)];
        assert_eq!(of(&[&[0, 2, 1], &[2, 0, 1]]), Some(vec![vec![phase(0, 8), phase(2, 4), phase(1, 2)], second]));
        for orders in [&[&[0, 1][..]][..], &[&[0, 0, 1]], &[&[0, 1, 3]], &[&[0, 1, 2, 2]], &[]] {
            assert_eq!(of(orders), None, "{orders:?}");
        }
    }

    /// Values are written as they are added.
    struct Written;

    impl Steps<String> for Written {
        type Error = String;

        fn cut(&mut self, value: &String, _: Range<usize>) -> Result<String, String> {
            Ok(value.clone())
        }

        fn add(&mut self, _: Ring, arrived: String, own: String) -> Result<String, String> {
            Ok(format!("({arrived}{own})"))
        }
    }

    /// A pincer's longer arm is the one that ends at the shard's own device, and so it has the device in the middle of an odd ring;
    /// four devices are added so on a v4 pod (FACTS 6.2). One way goes round the whole ring.
    #[test]
    fn rings_of_any_length_are_added_in_their_order() {
        let pieces = |strategy: &str, ring: usize| {
            let plan = CollectivePlan::of(strategy, &[ring]).unwrap();
            let members: Vec<String> = (0..ring).map(|device| device.to_string()).collect();
            plan.sums(ring * plan.colors.len(), &members, &mut Written).unwrap().unwrap()
        };
        assert_eq!(pieces("StrategyRing", 3), ["((10)2)", "((21)0)", "((02)1)"]);
        assert_eq!(pieces("StrategyRing", 4), ["((10)(23))", "((21)(30))", "((32)(01))", "((03)(12))"]);
        let of_five = ["(((21)0)(34))", "(((32)1)(40))", "(((43)2)(01))", "(((04)3)(12))", "(((10)4)(23))"];
        assert_eq!(pieces("StrategyRing", 5), of_five);
        let [up, down] = [["((12)0)", "((20)1)", "((01)2)"], ["((21)0)", "((02)1)", "((10)2)"]];
        assert_eq!(pieces("UniDirection1DRingStrategy", 3), [up, down].concat());
        let [up, down] = ["((((12)3)4)0)", "((((43)2)1)0)"];
        let of_five = pieces("UniDirection1DRingStrategy", 5);
        assert_eq!([&of_five[0], &of_five[5]], [up, down]);
    }

    /// Fewer tiles than colors and shards leave some without any; nothing at all is one piece, as it is.
    #[test]
    fn the_pieces_of_any_number_of_tiles_are_all_of_them() {
        for (strategy, extents) in [
            ("StrategyRing", &[4][..]),
            ("UniDirection1DRingStrategy", &[4]),
            ("StrategyND", &[2, 2]),
            ("UniDirectionNDRingStrategy", &[4, 4]),
        ] {
            let plan = CollectivePlan::of(strategy, extents).unwrap();
            let devices = plan.devices().unwrap();
            for tiles in 0..40 {
                let members = vec![0..tiles; devices];
                let pieces = plan.sums(tiles, &members, &mut Ranges(Vec::new())).unwrap().unwrap();
                let covered: Vec<usize> = pieces.iter().cloned().flatten().collect();
                assert_eq!(covered, (0..tiles).collect::<Vec<_>>(), "{strategy}, {tiles} tiles: {pieces:?}");
                assert!(!pieces.is_empty(), "{strategy}, {tiles} tiles");
            }
            assert_eq!(plan.sums(4, &vec![0..4; devices - 1], &mut Ranges(Vec::new())), Ok(None));
        }
    }
}

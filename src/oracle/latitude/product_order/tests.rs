use crate::ir::{Builder, Precision};
use crate::tensor::{DType, Data, Tensor};
use crate::{Additions, Enclosed, Enclosure, Latitude, Rounding};

use super::{BLOCK, ProductOrder, STRETCHES};

const U: f64 = 1.0 / (1u64 << 24) as f64;

/// The additions of `k` f32 products, which lose nothing but by them.
fn order(k: usize) -> ProductOrder {
    ProductOrder {
        split: 0.0,
        unit_roundoff: U,
        additions: k as u64 - 1,
        apart: 0.0,
        smaller: 0.0,
        is_along_k: true,
        has_lanes: true,
        in_many_lanes: 0,
        truncated: None,
    }
}

/// The distance from their exact dot at which the enclosure of these products lets a result be.
fn allowed(products: &[f32], order: ProductOrder) -> f64 {
    let k = products.len();
    let mut b = Builder::new("dot");
    let x = b.parameter("x", DType::F32, &[1, k]).unwrap();
    let y = b.parameter("y", DType::F32, &[k, 1]).unwrap();
    let dot = b.matmul(x, y, Precision::Highest, DType::F32).unwrap();
    let program = b.finish(&[("dot", dot)]).unwrap();
    let mut latitudes = vec![Latitude::Exact { floor: 0.0 }; program.entry().instructions.len()];
    let (share, order) = (order.error(1.0, 1.0, 1.0), Some(Box::new(order)));
    let largest = f64::from(f32::MAX);
    let additions = Additions { share, least: None, lost: 0.0, inits: 1, largest, intake: None, order };
    latitudes[dot] = Latitude::Rounded(Rounding { additions: Some(additions), ..Rounding::default() });
    let ones = Tensor::new(&[k, 1], Data::F32(vec![1.0; k]));
    let arguments = [Tensor::new(&[1, k], Data::F32(products.to_vec())), ones];
    let enclosure = Enclosure::new(&program);
    let kept = enclosure.of(&arguments, &latitudes, &program.outputs()).unwrap();
    match kept.of(program.outputs()[0]) {
        Enclosed::Floats(found) => (found[0].hi - found[0].lo) / 2.0,
        Enclosed::Integers(_) => panic!("a dot of floats"),
    }
}

/// The sum of these one after the other, and u times the magnitudes of the partial sums on the way.
fn chain(terms: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let mut terms = terms.into_iter();
    let first = terms.next().unwrap_or_default();
    terms.fold([first, 0.0], |[sum, error], term| [sum + term, error + U * (sum + term).abs()])
}

/// The largest error of additions in orders that are permitted: one chain, chains in blocks with the products of one sign first,
/// stretches with those of one sign first, and lanes.
fn in_orders(products: &[f32]) -> Vec<(&'static str, f64)> {
    let exact: Vec<f64> = products.iter().map(|product| f64::from(*product)).collect();
    let joined = |parts: Vec<[f64; 2]>| -> f64 {
        let mut sums: Vec<f64> = parts.iter().map(|[sum, _]| *sum).collect();
        sums.sort_by(|one, other| other.total_cmp(one));
        parts.iter().map(|[_, error]| error).sum::<f64>() + chain(sums)[1]
    };
    let sorted = |block: &[f64]| {
        let mut block = block.to_vec();
        block.sort_by(|one, other| other.total_cmp(one));
        block
    };
    let lanes =
        |count: usize| joined((0..count).map(|lane| chain(exact[lane..].iter().copied().step_by(count))).collect());
    let in_blocks: Vec<f64> = exact.chunks(BLOCK).flat_map(sorted).collect();
    let stretch = products.len().div_ceil(STRETCHES);
    vec![
        ("one chain", chain(exact.iter().copied())[1]),
        ("blocks in any order", chain(in_blocks)[1]),
        ("stretches", joined(exact.chunks(stretch).map(|stretch| chain(stretch.iter().copied())).collect())),
        ("8 lanes", lanes(8)),
        ("64 lanes", lanes(64)),
    ]
}

/// Products that cancel neighbour by neighbour, that rise and fall over blocks, and that do so in lanes alone; each kind where what
/// one order errs by is far more than what the others do.
#[test]
fn additions_in_each_permitted_order_stay_within_the_enclosure() {
    let k = 1 << 14;
    let wave = |period: usize| {
        (0..k).map(|at| if (at / period).is_multiple_of(2) { 1.0f32 } else { -1.0 }).collect::<Vec<f32>>()
    };
    for (name, products) in [
        ("all of one sign", vec![1.0; k]),
        ("neighbours cancel", wave(1)),
        ("lanes of one sign", wave(4)),
        ("blocks cancel", wave(BLOCK)),
        ("halves cancel", wave(k / 2)),
    ] {
        for has_lanes in [true, false] {
            let allowed = allowed(&products, ProductOrder { has_lanes, ..order(k) });
            for (order, error) in in_orders(&products) {
                let is_permitted = has_lanes || !order.ends_with("lanes");
                assert!(!is_permitted || error <= allowed, "{name}: {order} errs by {error:e}, {allowed:e} is allowed");
            }
        }
    }
    // Neighbours that cancel never add up to more than a block of one sign.
    let any_order = allowed(&wave(1), ProductOrder { is_along_k: false, ..order(k) });
    let along_k = allowed(&wave(1), ProductOrder { has_lanes: false, ..order(k) });
    assert!(along_k < 0.2 * any_order, "{along_k:e} {any_order:e}");
}

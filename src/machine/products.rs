//! Products in flight: f32 products that are not rounded yet, on their way to the sum that rounds them.

use super::addend::Addend;
use super::elements::Elements;
use super::vector::Side;

/// Products in flight, exact in f64: one list of products for each of those that an element has. Those of an element join
/// its sum one after the other, the first list first.
#[derive(Clone, Debug)]
pub struct Products(Vec<Elements<f64>>);

/// The neutral term of a sum, which changes no sum.
const NEUTRAL: f64 = -0.0;

impl Products {
    /// One product an element.
    pub fn new(products: Vec<f64>) -> Products {
        Products(vec![Elements::from(products)])
    }

    /// A function of several arrays, list by list: where one has fewer lists, a neutral term takes the place.
    pub fn joint(all: &[Products], function: impl Fn(&[&[f64]]) -> Vec<f64>) -> Products {
        let count = all.iter().map(|products| products.0.len()).max().unwrap_or_default();
        let of_list = |at: usize| {
            let neutral: Vec<Vec<f64>> = all.iter().map(|products| vec![NEUTRAL; products.len()]).collect();
            let lists = all.iter().zip(&neutral);
            let lists: Vec<&[f64]> = lists.map(|(own, neutral)| own.0.get(at).map_or(&neutral[..], |l| l)).collect();
            Elements::from(function(&lists))
        };
        Products((0..count).map(of_list).collect())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.first().map_or(0, |list| list.len())
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The product of each element; `None` where elements have several.
    pub fn single(&self) -> Option<&[f64]> {
        match &self.0[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// These products, then others.
    pub fn then(mut self, others: Products) -> Products {
        self.0.extend(others.0);
        self
    }

    /// A function of each product.
    pub fn map(&self, function: impl Fn(f64) -> f64) -> Products {
        Products(
            self.0.iter().map(|list| Elements::from(list.iter().map(|v| function(*v)).collect::<Vec<_>>())).collect(),
        )
    }

    /// The products of other elements, list by list.
    pub fn by_list(&self, function: impl Fn(&Elements<f64>) -> Elements<f64>) -> Products {
        Products(self.0.iter().map(function).collect())
    }

    /// The products of elements that a broadcast spreads over `count`.
    pub fn spread(&self, each: usize, count: usize) -> Products {
        self.by_list(|list| Elements::from(Side::broadcast(list, each).write_out(count)))
    }

    /// All products of each element, element by element, and how many each has.
    pub fn by_element(&self) -> (Vec<f64>, usize) {
        let all = (0..self.len()).flat_map(|at| self.0.iter().map(move |list| list[at]));
        (all.collect(), self.0.len())
    }

    /// The products rounded after all, those of an element one after the other.
    pub fn to_f32(&self, flush: bool) -> Vec<f32> {
        let (all, count) = self.by_element();
        all.chunks(count.max(1)).map(|products| products.rounded(flush)).collect()
    }

    /// One element, rounded after all; `None` where there is none.
    pub fn element(&self, at: usize) -> Option<f32> {
        let products: Option<Vec<f64>> = self.0.iter().map(|list| list.get(at).copied()).collect();
        // Rounding in the order in which they would have joined: a sum of two products is no single rounding.
        products.map(|products| (&products[..]).rounded(false))
    }

    /// The numbers that elements are, in f64.
    pub fn in_f64(&self) -> Vec<f64> {
        match self.single() {
            Some(products) => products.to_vec(),
            None => {
                let (all, count) = self.by_element();
                all.chunks(count.max(1)).map(|products| products.iter().sum()).collect()
            }
        }
    }

    /// Whether both have the same bits.
    pub fn has_bits_of(&self, other: &Products) -> bool {
        let same = |(a, b): (&Elements<f64>, &Elements<f64>)| {
            std::ptr::eq(&a[..], &b[..]) || a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits()))
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }
}

#[cfg(test)]
mod tests {
    use super::Products;

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn products_join_in_their_order() {
        // 1 + 2^-25 is rounded to 1, and 1 + 2^-24 to even. In the other order, or rounded once, the sum is the next number.
        let (first, second) = (1.0 + 2f64.powi(-25), 2f64.powi(-24));
        let products = Products::new(vec![first]).then(Products::new(vec![second]));
        assert_eq!(products.by_element(), (vec![first, second], 2));
        assert_eq!((products.element(0), products.to_f32(false)), (Some(1.0), vec![1.0]));
        assert_eq!((products.in_f64(), products.element(1)), (vec![first + second], None));
        let turned = Products::new(vec![second]).then(Products::new(vec![first]));
        assert_eq!(turned.element(0), Some(1.0 + f32::EPSILON));
        assert!(products.single().is_none() && !products.has_bits_of(&turned));
        let alone = Products::new(vec![first]);
        assert!(!products.has_bits_of(&alone) && !alone.has_bits_of(&products) && alone.has_bits_of(&alone.clone()));
    }

    #[test]
    fn products_are_flushed_where_they_are_rounded() {
        let subnormal = 2f64.powi(-130);
        let products = Products::new(vec![subnormal, -subnormal, 1.0]);
        let rounded = |flush| products.to_f32(flush).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(rounded(false), [0x0008_0000, 0x8008_0000, 0x3f80_0000]);
        assert_eq!(rounded(true), [0, 0x8000_0000, 0x3f80_0000]);
    }

    /// A product that one array lacks is -0: added to any number, it changes nothing.
    #[test]
    fn missing_products_change_no_sum() {
        let several = Products::new(vec![1.0]).then(Products::new(vec![2.0]));
        let joint = Products::joint(&[several, Products::new(vec![3.0])], |lists| lists.concat());
        let (all, count) = joint.by_element();
        assert_eq!((bits(&all), count), (bits(&[1.0, 2.0, 3.0, -0.0]), 2));
        assert_eq!(joint.spread(2, 4).by_element().0[..4], [1.0, 2.0, 1.0, 2.0]);
    }
}

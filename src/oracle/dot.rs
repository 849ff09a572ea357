use super::interval::Interval;
#[derive(Default)]
pub struct Counts {
    pub grid: u64,
    pub dot2: u64,
    pub exact: u64,
}
pub struct CertifiedDots {
    pub rounded: Vec<f64>,
    pub enclosure: Vec<Interval>,
    pub counts: Counts,
}
pub fn certified_dots(_: &[f64], _: &[f64], _: usize, _: usize, _: usize, _: bool) -> CertifiedDots {
    CertifiedDots { rounded: vec![], enclosure: vec![], counts: Counts::default() }
}
pub fn exact_dot(_: impl Iterator<Item = f64>, _: impl Iterator<Item = f64>) -> rug::Float {
    rug::Float::new(53)
}

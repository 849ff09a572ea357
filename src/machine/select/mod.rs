macro_rules! e { ($n:ident {$d:ident=$ds:literal $(, $v:ident = $s:literal)*}) => { #[derive(Clone,Copy,Debug,PartialEq,Eq,Default)] pub enum $n { #[default] $d, $($v),* }
 impl $n { pub const ALL: &'static [$n] = &[$n::$d, $($n::$v),*]; pub fn name(self)->&'static str { match self { $n::$d=>$ds, $($n::$v=>$s),* } } pub fn named(s:&str)->Option<$n>{ Self::ALL.iter().copied().find(|v| v.name()==s)} pub fn doc(self)->&'static str {""} } } }
use crate::ir::Comparator;
e!(Binning{Strided="strided",Contiguous="contiguous",Interleaved="interleaved"});
e!(Fault{None="none",PartialReduceBatch="partial-reduce-batch"});
pub struct Reduction {
    pub bins: usize,
    pub log2_reduction: u32,
    pub binning: Binning,
    pub flush: bool,
    pub fault: Fault,
}
pub fn argmax(_: &[f32], _: bool, _: bool) -> (f32, usize) {
    (0.0, 0)
}
pub fn greater_keep(_: &[f32], i: (f32, i64), _: &[i64], _: bool) -> (f32, i64) {
    i
}
pub fn top_k(_: &[f32], k: usize, _: bool) -> Vec<usize> {
    (0..k).collect()
}
pub fn sort_indices(r: &[f32], _: Comparator, _: bool) -> Vec<usize> {
    (0..r.len()).collect()
}
pub fn partial_reduce_batch(_: &[f32], _: &[i64], _: usize, _: &Reduction) -> Vec<(Vec<f32>, Vec<i64>)> {
    vec![]
}
pub fn aggregate(v: &[f32], i: &[i64], _: usize, _: usize, _: bool) -> (Vec<f32>, Vec<i64>) {
    (v.to_vec(), i.to_vec())
}

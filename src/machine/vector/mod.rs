macro_rules! e { ($n:ident {$d:ident=$ds:literal $(, $v:ident = $s:literal)*}) => { #[derive(Clone,Copy,Debug,PartialEq,Eq,Default)] pub enum $n { #[default] $d, $($v),* }
 impl $n { pub const ALL: &'static [$n] = &[$n::$d, $($n::$v),*]; pub fn name(self)->&'static str { match self { $n::$d=>$ds, $($n::$v=>$s),* } } pub fn named(s:&str)->Option<$n>{ Self::ALL.iter().copied().find(|v| v.name()==s)} pub fn doc(self)->&'static str {""} } } }
use crate::ir::*;
use crate::tensor::DType;
e!(Divide{Exact="exact",ByReciprocal="by-reciprocal"});
e!(ZeroTie{Second="second",Positive="positive"});
e!(ErrorModel{CorrectlyRounded="cr",Seeded="seeded",Worst="worst"});
e!(Eup{PreV5="a",V5="b",V6="c",Exact="d"});
e!(SumOrder{Chain="chain",Lanes="lanes",Tree32="tree32"});
e!(StepRounding{F32="f32",Bf16="bf16"});
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOrder {
    Sequential,
    Blocked(usize),
}
impl ScanOrder {
    pub const ALL: &'static [ScanOrder] = &[ScanOrder::Sequential, ScanOrder::Blocked(16), ScanOrder::Blocked(128)];
    pub fn name(self) -> &'static str {
        match self {
            ScanOrder::Sequential => "sequential",
            ScanOrder::Blocked(16) => "blocked16",
            _ => "blocked128",
        }
    }
    pub fn named(s: &str) -> Option<ScanOrder> {
        Self::ALL.iter().copied().find(|v| v.name() == s)
    }
    pub fn doc(self) -> &'static str {
        ""
    }
}
#[derive(Clone, Copy, Debug)]
pub struct VectorUnit {
    pub flush: bool,
    pub divide: Divide,
    pub zero_tie: ZeroTie,
    pub eup: Eup,
    pub error: ErrorModel,
}
pub fn unary(_: Unary, _: &mut [f32], _: &VectorUnit) {}
pub fn unary_f64(_: Unary, _: &mut [f64], _: &VectorUnit) {}
pub fn binary(_: Binary, a: &[f32], _: &[f32], _: &VectorUnit) -> Vec<f32> {
    a.to_vec()
}
pub fn binary_f64(_: Binary, a: &[f64], _: &[f64], _: &VectorUnit) -> Vec<f64> {
    a.to_vec()
}
pub fn round_to(_: DType, _: &mut [f32]) {}
pub fn reduce_precision(_: u32, _: u32, _: &mut [f32]) {}
pub fn compare(_: Compare, _: CompareOrder, a: &[f32], _: &[f32], _: &VectorUnit) -> Vec<bool> {
    vec![false; a.len()]
}
pub fn compare_f64(_: Compare, _: CompareOrder, a: &[f64], _: &[f64], _: &VectorUnit) -> Vec<bool> {
    vec![false; a.len()]
}
pub fn sum(_: &[f32], _: SumOrder, _: StepRounding, _: &VectorUnit) -> f32 {
    0.0
}
pub fn running_sum(r: &[f32], _: ScanOrder, _: StepRounding, _: &VectorUnit) -> Vec<f32> {
    r.to_vec()
}
pub fn extreme(_: &[f32], i: f32, _: bool, _: &VectorUnit) -> f32 {
    i
}

pub struct EB{pub relative:f64} impl Eup{pub fn bound(self,_:Unary)->EB{EB{relative:0.0}}}

macro_rules! e { ($n:ident {$d:ident=$ds:literal $(, $v:ident = $s:literal)*}) => { #[derive(Clone,Copy,Debug,PartialEq,Eq,Default)] pub enum $n { #[default] $d, $($v),* }
 impl $n { pub const ALL: &'static [$n] = &[$n::$d, $($n::$v),*]; pub fn name(self)->&'static str { match self { $n::$d=>$ds, $($n::$v=>$s),* } } pub fn named(s:&str)->Option<$n>{ Self::ALL.iter().copied().find(|v| v.name()==s)} pub fn doc(self)->&'static str {""} } } }
e!(Accumulation{Block="block",Chain="chain",Pairwise="pairwise",Exact="exact",Trunc="trunc"});
e!(Split{Mixed="mixed",Rne="rne",Trunc="trunc"});
e!(Passes{One="default",Three="high",Six="highest",F32="f32",Exact="exact"});
pub struct Unit {
    pub block: usize,
    pub accumulation: Accumulation,
    pub split: Split,
}
pub fn matmul(_l: &[f32], _r: &[f32], s: [usize; 3], _p: Passes, _u: &Unit) -> Vec<f32> {
    vec![0.0; s[0] * s[2]]
}

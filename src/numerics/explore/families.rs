//! The families of what a compiler may do.

use crate::rewrite::Freedom;

/// Choices of one kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name, for `--permit`.
    pub name: &'static str,
    /// Kinds of choices of a compiler, with their evidence.
    pub doc: &'static str,
    /// Whether it is permitted where nothing else is said.
    pub by_default: bool,
    /// The freedom that it gives.
    pub(super) freedom: Freedom,
}

/// All families.
pub static FAMILIES: &[&Family] =
    &[&ROUNDING, &NARROWING, &ACCUMULATION, &ORDER, &CONTRACTION, &RECIPROCAL, &ALGEBRA, &MESH, &FUNCTIONS];

static ROUNDING: Family = Family {
    name: "rounding",
    doc: "Each reader of a value that was computed in f32 and rounded may read it before its rounding: rules A and B, read \
          in XLA's source (FACTS 1.3), behind moves and in compare, select and sort as the TPU compiler's fusions have it \
          (FACTS 9). Guards end it: reduce-precision, optimization-barrier.",
    by_default: true,
    freedom: Freedom::Rounding,
};

static NARROWING: Family = Family {
    name: "narrowing",
    doc: "An f32 sum that is only used as bf16 may be a bf16 sum of bf16 operands, as the TPU compiler emits it (FACTS 9).",
    by_default: true,
    freedom: Freedom::Narrowing,
};

static ACCUMULATION: Family = Family {
    name: "accumulation",
    doc: "A bf16 sum may add in f32 and be rounded once, or round every addition, each sum for itself: XLA rounds every one on CPUs, \
          none on GPUs (FACTS 1.3); of TPUs it is not public (FACTS 9). Not asked unless named: a mode says which of the two its \
          unit does (`narrow=`), and no flag changes it.",
    by_default: false,
    freedom: Freedom::Accumulation,
};

static ORDER: Family = Family {
    name: "order",
    doc: "A float sum may be taken in any order: HLO leaves it open (FACTS 3.2). The products of a dot are added along K, whatever \
          blocks K is cut into (FACTS 10.1): in blocks of 256 in any order, in 64 stretches or lanes, these in any order. Enclosed \
          for all of these; witnesses are searched among the orders that the machine models, and K in 2, 4 and 8 blocks.",
    by_default: true,
    freedom: Freedom::Order,
};

static CONTRACTION: Family = Family {
    name: "contraction",
    doc: "An f32 product that a sum reads, behind moves, negations and choices perhaps, may be added before it is rounded, as \
          compilers contract in fusions (FACTS 3.12); one that several read is computed for each of them. So may a quotient that is \
          a product with the reciprocal. Enclosed element by element; witnesses contract all of an array that one sum alone reads, \
          of two products of one sum the first.",
    by_default: true,
    freedom: Freedom::Contraction,
};

static RECIPROCAL: Family = Family {
    name: "reciprocal",
    doc: "A division by a constant or a broadcast may be a product with the reciprocal, rounded to f32 or to the declared type: \
          XLA's simplifier does so (FACTS 3.5), and the TPU compiler divides bf16 by constants so (FACTS 9).",
    by_default: true,
    freedom: Freedom::Reciprocal,
};

static ALGEBRA: Family = Family {
    name: "algebra",
    doc: "A compiler may compute with an expression as if floats were real numbers where XLA's algebraic simplifier does, whatever \
          the flag says (FACTS 9.1): constants that scale or shift one after the other become one, quotients of quotients, roots \
          and exponentials become products, a common factor is taken out. Every form is enclosed; witnesses are searched among \
          those with constants folded. A reduce-precision or an optimization-barrier between two operations ends it.",
    by_default: true,
    freedom: Freedom::Algebra,
};

static MESH: Family = Family {
    name: "mesh",
    doc: "What several devices have may be added up in any order: all-reduce and reduce-scatter leave it open, and on TPUs it is not \
          public (FACTS 6.1). What is sent from device to device is of the declared type. Enclosed for all orders; witnesses are \
          searched backwards, in a ring that begins halfway, and in pairs.",
    by_default: true,
    freedom: Freedom::Mesh,
};

static FUNCTIONS: Family = Family {
    name: "functions",
    doc: "A function or a quotient may err as far as is published of the chip (FACTS 3.3), where the mode rounds it correctly: no \
          compiler's choice, but what a chip's own results are held to (`--against`). Nothing is published of `power` and `atan2` on \
          TPUs. Of `cpu` it is as far as OpenCL C 3.0 (7.4) lets libraries err, CUDA's and SLEEF's among them. Enclosed; no witness \
          is searched.",
    by_default: false,
    freedom: Freedom::Functions,
};

/// The families that results of a chip or a compiler are held to where nothing else is said.
pub fn families_of_results() -> impl Iterator<Item = &'static Family> {
    default_families().chain([&FUNCTIONS])
}

/// The families that are permitted where nothing else is said.
pub fn default_families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().copied().filter(|family| family.by_default)
}

/// The family of this name.
pub fn find_family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().find(|family| family.name == name)
}

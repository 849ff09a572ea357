//! A chip with a backend for tests of the machine alone: units that flush and sum in windows, and a compiler that plans nothing but
//! what the name of a sum says: `left first`, `right first`, `terms`, `terms that join`, and all products.

use crate::analysis::Regions;
use crate::ir::{Computation, DotPlan, Instruction, LibraryFunction, Shape};
use crate::rewrite::{self, Policy};
use crate::tensor::DType;

use super::backend::{Backend, Code, DotKernel, Kernel, Ties, default_plan};
use super::chip::{CPU, Chip, TPU7X, V2, V3, V4, V5E, V5P, V6E};
use super::code_note::CodeNote;
use super::mode::ChipRows;
use super::value::Value;
use super::vector::{Divide, ScanOrder, StepRounding, SumOrder};

struct Planner;

impl Backend for Planner {
    fn name(&self) -> &'static str {
        "planner"
    }

    fn title(&self) -> &'static str {
        "the planner"
    }

    fn excess(&self) -> &'static Policy {
        &rewrite::CPU
    }

    fn dump_folder(&self) -> &'static str {
        "planned"
    }

    fn plan(&self, computation: &Computation, uses: &[usize], _: &Regions, _: bool) -> Vec<Kernel> {
        let mut kernels = default_plan(computation, uses);
        for (kernel, instruction) in kernels.iter_mut().zip(&computation.instructions) {
            let places = instruction.shape.elements();
            let code = match instruction.name.as_str() {
                "left first" => Code::SumOfTwo { left_first: vec![true; places].into() },
                "right first" => Code::SumOfTwo { left_first: vec![false; places].into() },
                "terms" => Code::Terms { first: 0, joins: false },
                "terms that join" => Code::Terms { first: 0, joins: true },
                _ => continue,
            };
            kernel.code = code;
        }
        kernels
    }

    fn notes(&self, computation: &Computation, _: &[usize], _: &Regions) -> Vec<CodeNote> {
        vec![CodeNote::default(); computation.instructions.len()]
    }

    fn dot(&self, _: &Instruction, _: [Option<DType>; 2], _: &DotPlan) -> Option<Box<dyn DotKernel>> {
        None
    }

    fn call(&self, _: &LibraryFunction, _: Vec<Value>, shapes: &[&Shape]) -> Value {
        Value::from_parts(shapes.iter().map(|shape| Value::empty(shape)).collect())
    }

    fn ties(&self) -> Ties {
        Ties::InOrder
    }
}

static PLANNING: Chip = Chip {
    name: "planned",
    doc: "",
    flush: true,
    divide: Divide::BroadcastByReciprocal,
    narrow: StepRounding::Bf16,
    sum: SumOrder::Tree32,
    backend: Some(&Planner),
    scan: ScanOrder::Blocked(16),
    ..CPU
};

/// The machine's own chips and this one.
pub static CHIPS: ChipRows =
    ChipRows { rows: &[&V2, &V3, &V4, &V5E, &V5P, &V6E, &TPU7X, &CPU, &PLANNING], left_out: &[] };

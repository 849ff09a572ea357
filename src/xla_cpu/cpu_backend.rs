//! XLA:CPU as a backend of the machine.

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, Computation, DotPlan, Fusion, Instruction, LibraryFunction, Op, Shape, Unary};
use crate::machine::vector::SumOrder;
use crate::machine::{Backend, Code, DotKernel, Kernel, Ties, Value};
use crate::tensor::DType;

use super::codegen::{
    Contractions, Inner, find_contractions, find_folded_columns, find_folded_functions, find_inner_products,
    find_kept_wide, find_sum_loops, with_code,
};
use super::library::{self, DotSum};

/// The code generator and the libraries of jaxlib 0.10.2.
pub struct XlaCpu;

impl Backend for XlaCpu {
    fn name(&self) -> &'static str {
        "xla-cpu"
    }

    fn plan(&self, computation: &Computation, uses: &[usize], regions: &Regions) -> Vec<Kernel> {
        let sums = |region| regions.reducer(region) == Some(Reducer::Binary(Binary::Add));
        // Arrays without elements have no code.
        let coded = with_code(computation);
        let computation = &*coded;
        let contractions = find_contractions(computation, uses, sums);
        let inner = find_inner_products(computation, (&contractions, uses), sums);
        let Contractions { products, rounded, left_first } = contractions;
        let folded = find_folded_columns(computation, &products);
        let functions = find_folded_functions(computation);
        let sum_loops = find_sum_loops(computation, (&products, &inner, uses), sums);
        let kept_wide = find_kept_wide(computation, uses, sums);
        let code = |id: usize, instruction: &Instruction| match (&instruction.op, inner[id]) {
            (Op::Binary(_), _) if products[id] || inner[id] == Some(Inner::Product) => {
                Code::Product { rounded: folded[id] }
            }
            (_, Some(Inner::Sum(first))) => Code::Terms { first },
            (_, Some(_)) => Code::InFlight { several: true },
            (_, None) if products[id] => Code::InFlight { several: false },
            (Op::Binary(_), None) => match left_first.get(&id) {
                Some(left_first) => Code::SumOfTwo { left_first: left_first.clone() },
                None => Code::Unit,
            },
            (Op::Convert, None) if kept_wide[id] => Code::Unrounded,
            (Op::Unary(Unary::Exponential), None) if is_in_library(instruction) => Code::LibraryExponential,
            (Op::Unary(_), None) => functions[id].map_or(Code::Unit, Code::Folded),
            _ => Code::Unit,
        };
        let kernel = |(id, instruction): (usize, &Instruction)| Kernel {
            rounded_operands: rounded.get(&id).copied().unwrap_or_default(),
            code: code(id, instruction),
            sum_loop: sum_loops[id],
            ..Kernel::default()
        };
        computation.instructions.iter().enumerate().map(kernel).collect()
    }

    fn sum_order(&self, fusion: Option<Fusion>, dtype: DType, last: bool) -> Option<SumOrder> {
        // Of other types nothing is known: they are summed as elsewhere.
        let in_library = matches!(fusion, Some(Fusion::Custom { .. })) && dtype == DType::F32;
        in_library.then_some(SumOrder::Ynn { lanes: if last { 16 } else { 1 } })
    }

    fn dot(&self, instruction: &Instruction, dtypes: [Option<DType>; 2], plan: &DotPlan) -> Option<Box<dyn DotKernel>> {
        DotSum::new(instruction, dtypes, plan).map(|sum| Box::new(sum) as Box<dyn DotKernel>)
    }

    fn call(&self, function: &LibraryFunction, operands: Vec<Value>, shapes: &[&Shape]) -> Value {
        library::call(function, operands, shapes)
    }

    fn ties(&self) -> Ties {
        Ties::Introsort
    }
}

/// Whether YNNPACK computes an instruction of f32.
fn is_in_library(instruction: &Instruction) -> bool {
    instruction.shape.dtype() == Some(DType::F32) && matches!(instruction.fusion, Some(Fusion::Custom { .. }))
}

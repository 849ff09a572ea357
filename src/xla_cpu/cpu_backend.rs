//! XLA:CPU as a backend of the machine.

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, Computation, DotPlan, Fusion, Instruction, LibraryFunction, Op, Shape, Unary, WindowDim};
use crate::machine::{
    Backend, Code, CodeNote, CodedColumns, CodedOrder, DotKernel, Kernel, Named, SumCodes, Ties, Value,
};
use crate::rewrite::{self, Policy};
use crate::tensor::DType;

use super::coded_sum::CodedSum;
use super::codegen::{
    Contractions, FoldedFunction, Inner, find_contractions, find_folded_columns, find_folded_functions,
    find_inner_products, find_kept_wide, find_sum_loops, with_code,
};
use super::function::CodedFunction;
use super::library::{self, DotSum, Introsort, LibrarySum};
use super::sum_loop_order::SumLoop;

/// The code generator and the libraries of jaxlib 0.10.2.
pub struct XlaCpu;

impl Backend for XlaCpu {
    fn name(&self) -> &'static str {
        "xla-cpu"
    }

    fn title(&self) -> &'static str {
        "XLA:CPU"
    }

    fn excess(&self) -> &'static Policy {
        &rewrite::CPU
    }

    fn dump_folder(&self) -> &'static str {
        "cpu"
    }

    fn plan(&self, computation: &Computation, uses: &[usize], regions: &Regions, keeps_orders: bool) -> Vec<Kernel> {
        let sums = |region| regions.reducer(region) == Some(Reducer::Binary(Binary::Add));
        // Arrays without elements have no code.
        let written = computation;
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
            (_, Some(Inner::Sum(first))) => Code::Terms { first, joins: keeps_orders },
            (_, Some(_)) => Code::InFlight { several: true },
            (_, None) if products[id] => Code::InFlight { several: false },
            (Op::Binary(_), None) => match left_first.get(&id) {
                Some(left_first) => Code::SumOfTwo { left_first: left_first.clone() },
                None => Code::Unit,
            },
            (Op::Convert, None) if kept_wide[id] => Code::Unrounded,
            (Op::Unary(Unary::Exponential), None) if is_in_library(instruction) => {
                let function = CodedFunction::LibraryExponential.into_code();
                Code::Function(CodedColumns { function, columns: None })
            }
            (Op::Unary(_), None) => functions[id].map_or(Code::Unit, |FoldedFunction { columns, nearest }| {
                let function = CodedFunction::Folded { nearest }.into_code();
                Code::Function(CodedColumns { function, columns: Some(columns) })
            }),
            _ => Code::Unit,
        };
        let kernel = |(id, instruction): (usize, &Instruction)| Kernel {
            rounded_operands: rounded.get(&id).copied().unwrap_or_default(),
            code: code(id, instruction),
            sums: sum_codes(written, id, sum_loops[id], keeps_orders),
            ..Kernel::default()
        };
        computation.instructions.iter().enumerate().map(kernel).collect()
    }

    fn notes(&self, computation: &Computation, uses: &[usize], regions: &Regions) -> Vec<CodeNote> {
        let sums = |region| regions.reducer(region) == Some(Reducer::Binary(Binary::Add));
        let written = computation;
        let coded = with_code(computation);
        let contractions = find_contractions(&coded, uses, sums);
        let inner = find_inner_products(&coded, (&contractions, uses), sums);
        let sum_loops = find_sum_loops(&coded, (&contractions.products, &inner, uses), sums);
        let note = |(id, instruction): (usize, &Instruction)| {
            let adds = match instruction.op {
                Op::Binary(Binary::Add | Binary::Subtract) => true,
                Op::Reduce { .. } => !matches!(sum_loops[id], SumLoop::ChainOfRounded(_)),
                _ => false,
            };
            let is_exact = |(position, operand): (usize, &usize)| contractions.is_exact_for(id, position, *operand);
            let in_library = instruction.fusion().is_some_and(Fusion::is_library);
            CodeNote {
                adds_products: adds && instruction.operands.iter().enumerate().any(is_exact),
                order: match instruction.op {
                    _ if in_library => Some(CodedOrder::Library),
                    Op::Reduce { .. } => Some(CodedOrder::from(sum_loops[id])),
                    _ => None,
                },
                is_library_exponential: is_in_library(instruction) && instruction.op == Op::Unary(Unary::Exponential),
            }
        };
        written.instructions.iter().enumerate().map(note).collect()
    }

    fn dot(&self, instruction: &Instruction, dtypes: [Option<DType>; 2], plan: &DotPlan) -> Option<Box<dyn DotKernel>> {
        DotSum::new(instruction, dtypes, plan).map(|sum| Box::new(sum) as Box<dyn DotKernel>)
    }

    fn call(&self, function: &LibraryFunction, operands: Vec<Value>, shapes: &[&Shape]) -> Value {
        library::call(function, operands, shapes)
    }

    fn ties(&self) -> Ties {
        Ties::Unstable(Named(&Introsort))
    }
}

/// The orders of a sum, if the instruction is one. A mode that has an order of its own for sums keeps none of numbers.
fn sum_codes(computation: &Computation, id: usize, sum_loop: SumLoop, keeps_orders: bool) -> SumCodes {
    let instruction = &computation.instructions[id];
    let by_library = || match (&instruction.op, &instruction.operands[..]) {
        _ if !instruction.fusion().is_some_and(Fusion::is_library) => None,
        (Op::Reduce { dims, .. }, [array, _]) => {
            Some(LibrarySum::over(computation.instructions[*array].shape.dims(), dims))
        }
        (Op::ReduceWindow { window, .. }, _) if window.0.iter().all(is_apart) => {
            // Elements of a window that lie side by side are one run.
            let (dims, within) = window.dims_by_window(instruction.shape.dims());
            Some(LibrarySum::over(&dims, &within))
        }
        _ => None,
    };
    let of_numbers = || CodedSum::of_numbers(sum_loop).or_else(|| by_library().map(CodedSum::Library));
    let numbers = if keeps_orders { of_numbers() } else { None };
    let products = CodedSum::of_products(sum_loop, keeps_orders);
    SumCodes { numbers: numbers.map(CodedSum::into_code), products: products.map(CodedSum::into_code) }
}

/// Whether a window's places along a dim lie beside each other.
fn is_apart(dim: &WindowDim) -> bool {
    *dim == WindowDim { stride: dim.size, ..WindowDim::of_size(dim.size) }
}

/// Whether YNNPACK computes an instruction of f32.
fn is_in_library(instruction: &Instruction) -> bool {
    instruction.shape.dtype() == Some(DType::F32) && matches!(instruction.fusion(), Some(Fusion::Custom { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_row::arithmetic;
    use crate::ir::Builder;
    use crate::machine::evaluate;
    use crate::tensor::{Data, Tensor};

    /// A refinement of the order of sums holds in compiled fusions, too: in one chain nothing can be added to a large number.
    #[test]
    fn a_mode_with_an_order_of_its_own_has_no_loops_of_code() {
        let mut builder = Builder::new("summed");
        let x = builder.parameter("x", DType::F32, &[4096]).unwrap();
        let square = builder.binary(Binary::Multiply, x, x).unwrap();
        let sum = builder.reduce(Binary::Add, square, 0.0, &[0]).unwrap();
        let mut program = builder.finish(&[("sum", sum)]).unwrap();
        let entry = program.entry;
        let made = program.computations[entry].instructions.iter_mut().filter(|i| !matches!(i.op, Op::Parameter(_)));
        made.for_each(|instruction| instruction.record(|compiled| compiled.fusion = Some(Fusion::Compiled(0))));
        let mut values = vec![1.0; 4096];
        values[0] = 2f32.powi(12);
        let arguments = [Tensor::new(&[4096], Data::F32(values))];
        let of = |mode: &str| evaluate(&program, &arithmetic(mode), &arguments).unwrap()[0].data().to_f32s()[0];
        assert_eq!(of("xla-cpu/default/as-compiled+reduce=chain"), 2f32.powi(24));
        assert!(of("xla-cpu/default/as-compiled") > 2f32.powi(24) + 2000.0);
    }
}

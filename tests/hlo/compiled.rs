//! Forms that compilers write and JAX does not.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Op, PartialReduce, Program};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

fn program(text: &str) -> Program {
    lower(&parse(text).unwrap_or_else(|error| panic!("{error}"))).unwrap_or_else(|error| panic!("{error}")).program
}

fn results(program: &Program, arguments: &[Tensor]) -> Vec<Tensor> {
    subject::evaluate(program, &"cpu/f32/as-compiled".parse::<Mode>().unwrap(), arguments).unwrap()
}

fn opcodes(program: &Program) -> Vec<&'static str> {
    program.entry().instructions.iter().map(|instruction| instruction.op.opcode()).collect()
}

/// A row's maximum, or sum, spread over the row: each window of 2n - 1 shows all of it.
#[test]
fn windows_that_show_everything_are_reduced_once() {
    let windowed = |window: &str, dims: &str, region: &str| {
        format!(
            "HloModule m\nby {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] {region}(a, b)\n}}\nENTRY \
             main {{\n  x = f32[3,5] parameter(0)\n  o = f32[] constant(-7)\n  ROOT r = f32[{dims}] reduce-window(x, o), \
             window={{{window}}}, to_apply=by\n}}\n"
        )
    };
    let values: Vec<f64> = (0..15).map(|i| f64::from(i * 37 % 17) - 8.0).collect();
    let x = Tensor::new(&[3, 5], Data::from_f64s(DType::F32, &values).unwrap());
    let of = |window: &str, dims: &str, region: &str| {
        let program = program(&windowed(window, dims, region));
        (opcodes(&program).contains(&"reduce-window"), results(&program, std::slice::from_ref(&x))[0].data().to_f64s())
    };
    let spread = |by: fn(f64, f64) -> f64| -> Vec<f64> {
        values.chunks(5).flat_map(|row| [row.iter().copied().fold(-7.0, by); 5]).collect()
    };
    assert_eq!(of("size=1x9 pad=0_0x4_4", "3,5", "maximum"), (false, spread(f64::max)));
    assert_eq!(of("size=1x9 pad=0_0x4_4", "3,5", "add"), (false, spread(|a, b| a + b)));
    // As many windows as one likes, each of which shows all.
    let (is_window, two) = of("size=1x6 pad=0_0x1_1", "3,2", "maximum");
    assert_eq!((is_window, two), (false, spread(f64::max).chunks(5).flat_map(|row| [row[0]; 2]).collect()));
    // One element short of it, the outer ones miss one.
    let (is_window, scanned) = of("size=1x8 pad=0_0x4_3", "3,5", "add");
    assert!(is_window && scanned != spread(|a, b| a + b));
    // Both dims at once; one window alone stays one.
    let total = values.iter().sum::<f64>() - 7.0;
    assert_eq!(of("size=5x9 pad=2_2x4_4", "3,5", "add"), (false, vec![total; 15]));
    assert_eq!(of("size=1x5", "3,1", "add"), (true, spread(|a, b| a + b).into_iter().step_by(5).collect()));
}

/// Compiled TPU files mix bf16 and f32: the result is rounded to what is claimed (FACTS 9).
#[test]
fn operands_of_several_float_types_are_taken_in_the_widest() {
    let third = 1.0 / 3.0_f32;
    let x = Tensor::new(&[2], Data::F32(vec![third, 2.0]));
    let p = Tensor::new(&[2], Data::Pred(vec![true, false]));
    let select = "HloModule m\nENTRY main {\n  p = pred[2] parameter(0)\n  x = f32[2] parameter(1)\n  o = bf16[] constant(7)\n  b \
                  = bf16[2] broadcast(o), dimensions={}\n  ROOT s = DTYPE[2] select(p, x, b)\n}\n";
    let of =
        |dtype: &str| results(&program(&select.replace("DTYPE", dtype)), &[p.clone(), x.clone()])[0].data().to_f64s();
    assert_eq!(of("f32"), [f64::from(third), 7.0]);
    assert_eq!(of("bf16"), [0.333984375, 7.0]);
    let pad = "HloModule m\nENTRY main {\n  x = f32[2] parameter(0)\n  o = bf16[] constant(-inf)\n  ROOT s = bf16[3] pad(x, o), \
               padding=1_0\n}\n";
    assert_eq!(results(&program(pad), &[x])[0].data().to_f64s(), [f64::NEG_INFINITY, 0.333984375, 2.0]);
}

/// Before 0.9, JAX hands over no configuration.
#[test]
fn a_partial_reduce_without_configuration_has_its_bins_in_its_shape() {
    let text = "HloModule m\nby {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] \
                parameter(3)\n  ROOT c = pred[] compare(a, b), direction=GT\n}\nENTRY main {\n  x = f32[2,1024] parameter(0)\n  n = \
                s32[2,1024] iota(), iota_dimension=1\n  o = f32[] constant(-inf)\n  m = s32[] constant(-1)\n  ROOT r = \
                (f32[2,256], s32[2,256]) custom-call(x, n, o, m), custom_call_target=\"PartialReduce\", \
                called_computations={by}\n}\n";
    let program = program(text);
    let expected = PartialReduce { log2_reduction: 2, reduction_dim: 1, top_k: 0, recall_target: 0.0 };
    assert!(program.entry().instructions.iter().any(|i| i.op == Op::PartialReduce(expected.clone())));
}

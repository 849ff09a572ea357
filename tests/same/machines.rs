//! Operations on all machines, in each type and in f32 with conversions around them: where symbols are the same, so are bits.

use std::collections::{BTreeMap, HashMap};

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Binary, Unary};
use ulpgate::machine::{CHIPS, Mode, Naming, Permits, Prepared, Symbol};
use ulpgate::tensor::{DType, Tensor};

use crate::{Random, differ, fill};

const TYPES: [DType; 5] = [DType::F32, DType::BF16, DType::F16, DType::F8E4M3FN, DType::F64];
const REFINEMENTS: [&str; 12] = [
    "v5e/high/as-compiled",
    "v5e/highest/as-compiled",
    "v5e/default/as-compiled+acc=tiled",
    "v5e/default/as-compiled+narrow=bf16",
    "v5e/default/as-compiled+exp=worst",
    "v4/default/as-compiled+exp=worst",
    "v4/default/as-compiled+exp=seeded",
    "v6e/default/as-compiled+exp=seeded",
    "v5e/default/as-compiled+reduce=chain",
    "xla-cpu/default/as-compiled+rsqrt=intel",
    "xla-cpu/default/as-compiled+scan=sequential",
    "xla-cpu/default/as-compiled+reduce=lanes",
];

fn modes() -> Vec<Mode> {
    let chips = CHIPS.iter().map(|chip| format!("{}/default/as-compiled", chip.name));
    chips.chain(REFINEMENTS.map(str::to_string)).map(|mode| mode.parse().unwrap()).collect()
}

/// A program whose result is that of `operation` on `x` and `y`, in their own type or in f32 between conversions.
fn written(operation: &str, dtype: DType, [from, to]: [&str; 2], wide: bool) -> String {
    let inner = if wide { DType::F32 } else { dtype };
    let region = |name: &str, operation: &str| {
        format!(
            "{name} {{ a = {inner}[] parameter(0)\n b = {inner}[] parameter(1)\n ROOT r = {inner}[] {operation}(a, b) }}\n"
        )
    };
    let regions = ["add", "multiply", "maximum", "minimum"].map(|of| region(of, of)).concat();
    let picks = format!(
        "ge {{ a = {inner}[] parameter(0)\n b = {inner}[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }}\n"
    );
    let (result, body) = (operation.contains("-> own").then_some(to), operation.replace("-> own", ""));
    let mut lines = format!(
        "HloModule m\n{regions}{picks}ENTRY main {{\n x = {dtype}[{from}] parameter(0)\n y = {dtype}[{from}] parameter(1)\n"
    );
    let [mut x, mut y] = ["x", "y"];
    if wide {
        lines += &format!(" wx = f32[{from}] convert(x)\n wy = f32[{from}] convert(y)\n");
        [x, y] = ["wx", "wy"];
    }
    let body = body.replace('X', x).replace('Y', y).replace('I', "init");
    let init = if dtype == DType::F32 && body.contains("init") && !wide { "0.5" } else { "0" };
    if body.contains("init") {
        lines += &format!(" init = {inner}[] constant({init})\n");
    }
    let shape = result.unwrap_or(to);
    lines += &format!(" r = {inner}[{shape}] {}\n", body.trim());
    lines += &match wide {
        true => format!(" ROOT out = {dtype}[{shape}] convert(r)\n}}\n"),
        false => format!(" ROOT out = {inner}[{shape}] copy(r)\n}}\n"),
    };
    lines
}

/// Programs over `[from]`, with results of `[to]`.
fn operations() -> Vec<(String, [&'static str; 2])> {
    let integers = [Unary::CountLeadingZeros, Unary::Not, Unary::PopulationCount, Unary::IsFinite];
    let unary = Unary::ALL.iter().filter(|unary| !integers.contains(unary)).map(|unary| format!("{}(X)", unary.name()));
    let of_integers = [
        Binary::And,
        Binary::MultiplyHigh,
        Binary::Or,
        Binary::Xor,
        Binary::ShiftLeft,
        Binary::ShiftRightArithmetic,
        Binary::ShiftRightLogical,
    ];
    let binary = Binary::ALL.iter().filter(|binary| !of_integers.contains(binary));
    let binary = binary.map(|binary| format!("{}(X, Y)", binary.name()));
    let precisions = [(8, 7), (5, 10), (8, 3), (4, 3)]
        .map(|(exponent, mantissa)| format!("reduce-precision(X), exponent_bits={exponent}, mantissa_bits={mantissa}"));
    let elementwise = unary.chain(binary).chain(precisions).chain(["clamp(Y, X, Y)".to_string()]);
    let mut all: Vec<(String, [&str; 2])> = elementwise.map(|operation| (operation, ["1500", "1500"])).collect();
    for reducer in ["add", "multiply", "maximum", "minimum"] {
        for (dims, shapes) in
            [("1", ["8,100", "8"]), ("0", ["100,8", "8"]), ("0,2", ["3,5,40", "5"]), ("1", ["7,20", "7"])]
        {
            all.push((format!("reduce(X, I), dimensions={{{dims}}}, to_apply={reducer}"), shapes));
        }
        for (window, shapes) in [
            ("size=1x100 pad=0_0x99_0", ["4,100", "4,100"]),
            ("size=1x100 pad=0_0x0_99", ["4,100", "4,100"]),
            ("size=1x32 stride=1x32 pad=0_0x14_14", ["4,100", "4,4"]),
            ("size=3x3 stride=2x2", ["9,9", "4,4"]),
        ] {
            all.push((format!("reduce-window(X, I), window={{{window}}}, to_apply={reducer}"), shapes));
        }
    }
    for (dims, shapes) in [
        ("lhs_contracting_dims={1}, rhs_contracting_dims={1}", ["6,300", "6,6"]),
        ("lhs_contracting_dims={0}, rhs_contracting_dims={0}", ["300,6", "6,6"]),
        (
            "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}",
            ["2,5,70", "2,5,5"],
        ),
    ] {
        all.push((format!("dot(X, Y), {dims}"), shapes));
        all.push((format!("dot(X, Y), {dims}, operand_precision={{highest,highest}}"), shapes));
    }
    all.push((
        "convolution(X, Y), window={size=5x5 pad=2_2x2_2}, dim_labels=bf01_oi01->bf01".to_string(),
        ["3,3,5,5", "3,3,5,5"],
    ));
    all.push(("select-and-scatter(X, Y, I), window={size=1x1}, select=ge, scatter=add".to_string(), ["6,6", "6,6"]));
    all
}

/// The results of one program on one machine.
pub struct Run {
    pub name: String,
    pub symbols: Vec<Vec<Symbol>>,
    pub results: Vec<Vec<Tensor>>,
}

pub fn run(name: String, text: &str, mode: &Mode, inputs: &[Vec<Tensor>]) -> Option<Run> {
    // What has no meaning for a type, or no machine behind it, says nothing.
    let import = lower(&parse(text).unwrap()).ok()?;
    let prepared = Prepared::new(&import.program);
    let shapes = import.program.entry().parameter_shapes();
    let naming =
        |argument: usize, dims: &[usize]| Naming { argument, origin: vec![0; dims.len()], extents: dims.to_vec() };
    let namings: Vec<Naming> = shapes.iter().enumerate().map(|(at, shape)| naming(at, shape.dims())).collect();
    let traced = prepared.trace(mode, &namings, Permits::default(), u64::MAX).ok()?;
    let results = inputs.iter().map(|inputs| prepared.evaluate(mode, &prepared.bind(inputs).unwrap()));
    Some(Run { name, symbols: traced.results, results: results.collect::<Result<_, _>>().ok()? })
}

#[test]
fn one_symbol_has_one_value_on_all_machines() {
    let mut random = Random(17);
    let modes = modes();
    let (mut runs, mut groups) = (0, 0);
    let mut wrong: BTreeMap<[String; 2], [f64; 2]> = BTreeMap::new();
    for (operation, shapes) in operations() {
        for dtype in TYPES {
            let dims: Vec<usize> = shapes[0].split(',').map(|extent| extent.parse().unwrap()).collect();
            let inputs: Vec<Vec<Tensor>> =
                (0..2).map(|_| vec![fill(&mut random, dtype, &dims), fill(&mut random, dtype, &dims)]).collect();
            let wide = if matches!(dtype, DType::F32 | DType::F64) { vec![false] } else { vec![false, true] };
            let mut seen: HashMap<(usize, Symbol), Vec<(usize, usize)>> = HashMap::new();
            let mut all = Vec::new();
            for wide in wide {
                let text = written(&operation, dtype, shapes, wide);
                for mode in &modes {
                    let name = format!("{operation} of {dtype}{} on {mode}", if wide { " in f32" } else { "" });
                    all.extend(run(name, &text, mode, &inputs));
                }
            }
            runs += all.len();
            for (number, run) in all.iter().enumerate() {
                for (result, symbols) in run.symbols.iter().enumerate() {
                    for (at, symbol) in symbols.iter().enumerate() {
                        let others = seen.entry((result, *symbol)).or_default();
                        // One of each symbol is enough: equality is transitive.
                        let Some((first, place)) = others.first().copied() else {
                            others.push((number, at));
                            groups += 1;
                            continue;
                        };
                        let other: &Run = &all[first];
                        for (a, b) in other.results.iter().zip(&run.results) {
                            let values = [a[result].data().get_f64(place), b[result].data().get_f64(at)];
                            if differ(&a[result], place, &b[result], at) {
                                wrong.entry([&other.name, &run.name].map(String::clone)).or_insert(values);
                            }
                        }
                    }
                }
            }
        }
    }
    let wrong: Vec<String> =
        wrong.iter().map(|([one, other], [a, b])| format!("{one}: {a:?}; {other}: {b:?}")).collect();
    assert!(wrong.is_empty(), "one symbol, and other bits:\n{}", wrong.join("\n"));
    assert!(runs > 4000 && groups > 100_000, "{runs} runs, {groups} symbols");
}

/// A dot whose rows and columns are all alike: its results differ where they are summed in another order, and there alone. XLA:CPU
/// sums rows of a matrix times a vector eight at a time, and those left over otherwise.
#[test]
fn one_symbol_has_one_value_in_all_places_of_a_dot() {
    let mut random = Random(31);
    for ([m, k, n], by_place) in [([12, 40, 1], true), ([1, 40, 12], true), ([5, 300, 9], false), ([8, 40, 1], false)] {
        let text = format!(
            "HloModule m\nENTRY main {{\n x = f32[{k}] parameter(0)\n y = f32[{k}] parameter(1)\n \
             a = f32[{m},{k}] broadcast(x), dimensions={{1}}\n b = f32[{n},{k}] broadcast(y), dimensions={{1}}\n \
             ROOT r = f32[{m},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n}}\n"
        );
        let inputs: Vec<Vec<Tensor>> =
            (0..20).map(|_| vec![fill(&mut random, DType::F32, &[k]), fill(&mut random, DType::F32, &[k])]).collect();
        for mode in ["xla-cpu/default/as-compiled", "v5e/highest/as-compiled", "cpu/default/as-compiled"] {
            let run = run(mode.to_string(), &text, &mode.parse().unwrap(), &inputs).unwrap();
            let symbols = &run.symbols[0];
            let differs = |at: usize| run.results.iter().any(|results| differ(&results[0], 0, &results[0], at));
            for at in 0..m * n {
                assert!(symbols[at] != symbols[0] || !differs(at), "{m} {k} {n} on {mode}: {at}");
            }
            let is_apart = (0..m * n).any(|at| symbols[at] != symbols[0] && differs(at));
            assert_eq!(is_apart, by_place && mode.starts_with("xla-cpu"), "{m} {k} {n} on {mode}");
        }
    }
}

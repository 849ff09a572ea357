//! `scan`: against steps that the tests take themselves, in both worlds, and against the loop that XLA makes of it.

use ulpgate::hlo::{lower, parse};
use ulpgate::same::{Settings, Verdict, compare};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program};

const REGIONS: &str = "running { x = f32[] parameter(0)\n c = f32[] parameter(1)\n d = f32[] subtract(x, c)\n e = f32[] add(c, x)\n \
     ROOT t = (f32[], f32[]) tuple(d, e) }\n\
    sums { x = f32[] parameter(0)\n c = f32[] parameter(1)\n d = f32[] add(x, c)\n ROOT t = (f32[], f32[]) tuple(d, d) }\n\
    rows { x = f32[3] parameter(0)\n c = f32[3] parameter(1)\n d = f32[3] multiply(x, c)\n e = f32[3] subtract(c, x)\n \
     ROOT t = (f32[3], f32[3]) tuple(d, e) }\n\
    two { x = f32[] parameter(0)\n y = s32[] parameter(1)\n c = f32[] parameter(2)\n d = s32[] parameter(3)\n a = f32[] add(x, c)\n \
     b = s32[] multiply(y, d)\n ROOT t = (s32[], f32[], f32[], s32[]) tuple(b, a, a, b) }\n\
    doubled { x = f32[] parameter(0)\n ROOT d = f32[] add(x, x) }\n\
    last { x = f32[] parameter(0)\n c = f32[] parameter(1)\n ROOT d = f32[] subtract(x, c) }\n\
    complexes { x = c64[] parameter(0)\n c = c64[] parameter(1)\n d = c64[] add(x, c)\n ROOT t = (c64[], c64[]) tuple(d, d) }\n";

fn text(parameters: &str, root: &str) -> String {
    format!("HloModule m\n\n{REGIONS}ENTRY e {{\n  {parameters}\n  ROOT r = {root}\n}}\n")
}

/// The results of a program in both worlds, which are equal.
#[track_caller]
fn results(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let program = program(text);
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program, arguments);
    assert_eq!(machine, truth, "{text}");
    machine
}

fn floats(dims: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(dims, Data::from_f64s(DType::F32, values).unwrap())
}

const X: [f64; 4] = [1.0, -3.0, 7.0, 0.5];

/// Outputs of all steps, and the value carried out of the last.
fn steps<'x>(
    xs: impl Iterator<Item = &'x f64>,
    mut carry: f64,
    step: impl Fn(f64, f64) -> [f64; 2],
) -> (Vec<f64>, f64) {
    let mut outputs = Vec::new();
    for x in xs {
        let [output, next] = step(*x, carry);
        outputs.push(output);
        carry = next;
    }
    (outputs, carry)
}

#[test]
fn each_step_takes_what_the_one_before_carries_on() {
    let parameters = "x = f32[4] parameter(0)\n  c = f32[] parameter(1)";
    let arguments = [floats(&[4], &X), floats(&[], &[0.25])];
    let step = |x: f64, c: f64| [x - c, c + x];
    let scan = |more: &str| {
        text(
            parameters,
            &format!("(f32[4], f32[]) scan(x, c), dimensions={{0}}, num_carries=1{more}, to_apply=running"),
        )
    };
    let (outputs, last) = steps(X.iter(), 0.25, step);
    assert_eq!(results(&scan(""), &arguments), [outputs.clone(), vec![last]]);
    assert_eq!(results(&scan(", is_reverse=false, is_associative=false"), &arguments), [outputs, vec![last]]);
    let (mut outputs, last) = steps(X.iter().rev(), 0.25, step);
    outputs.reverse();
    assert_eq!(results(&scan(", is_reverse=true"), &arguments), [outputs, vec![last]]);
}

#[test]
fn arrays_are_cut_along_any_dim() {
    let numbers: Vec<f64> = (0..12).map(|i| f64::from(i * i % 7) - 2.0).collect();
    let start = [2.0, -1.0, 3.0];
    let parameters = "x = f32[3,4] parameter(0)\n  c = f32[3] parameter(1)";
    let root = "(f32[3,4], f32[3]) scan(x, c), dimensions={1}, num_carries=1, to_apply=rows";
    let found = results(&text(parameters, root), &[floats(&[3, 4], &numbers), floats(&[3], &start)]);
    let (mut outputs, mut carried) = (vec![0.0; 12], Vec::new());
    for row in 0..3 {
        let (own, last) = steps(numbers[4 * row..4 * row + 4].iter(), start[row], |x, c| [x * c, c - x]);
        outputs[4 * row..4 * row + 4].copy_from_slice(&own);
        carried.push(last);
    }
    assert_eq!(found, [outputs, carried]);
    let parameters = "x = f32[4,3] parameter(0)\n  c = f32[3] parameter(1)";
    let root = "(f32[4,3], f32[3]) scan(x, c), dimensions={0}, num_carries=1, to_apply=rows";
    let found = results(&text(parameters, root), &[floats(&[4, 3], &numbers), floats(&[3], &start)]);
    for row in 0..3 {
        let column: Vec<f64> = (0..4).map(|step| numbers[3 * step + row]).collect();
        let (own, last) = steps(column.iter(), start[row], |x, c| [x * c, c - x]);
        assert_eq!((0..4).map(|step| found[0][3 * step + row]).collect::<Vec<f64>>(), own);
        assert_eq!(found[1][row], last);
    }
}

#[test]
fn inputs_outputs_and_carries_may_be_several_or_none() {
    let parameters =
        "x = f32[4] parameter(0)\n  y = s32[4] parameter(1)\n  c = f32[] parameter(2)\n  d = s32[] parameter(3)";
    let whole = |dims: &[usize], values: &[i64]| Tensor::new(dims, Data::from_i64s(DType::S32, values).unwrap());
    let arguments = [floats(&[4], &X), whole(&[4], &[2, -3, 5, 7]), floats(&[], &[1.0]), whole(&[], &[3])];
    let root = "(s32[4], f32[4], f32[], s32[]) scan(x, y, c, d), dimensions={0}, num_carries=2, to_apply=two";
    let found = results(&text(parameters, root), &arguments);
    assert_eq!(found, [vec![6.0, -18.0, -90.0, -630.0], vec![2.0, -1.0, 6.0, 6.5], vec![6.5], vec![-630.0]]);
    let one = "x = f32[4] parameter(0)";
    let root = "f32[4] scan(x), dimensions={0}, num_carries=0, to_apply=doubled";
    assert_eq!(results(&text(one, root), &arguments[..1]), [X.map(|x| x + x).to_vec()]);
    let two = "x = f32[4] parameter(0)\n  c = f32[] parameter(1)";
    let root = "f32[] scan(x, c), dimensions={0}, num_carries=1, to_apply=last";
    let last = X.iter().fold(1.0, |c, x| x - c);
    assert_eq!(results(&text(two, root), &[floats(&[4], &X), floats(&[], &[1.0])]), [vec![last]]);
    // Without steps what is carried in is carried out.
    let none = "x = f32[0] parameter(0)\n  c = f32[] parameter(1)";
    let root = "(f32[0], f32[]) scan(x, c), dimensions={0}, num_carries=1, to_apply=running";
    assert_eq!(results(&text(none, root), &[floats(&[0], &[]), floats(&[], &[5.0])]), [vec![], vec![5.0]]);
    let complex =
        "a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  x = c64[4] complex(a, b)\n  c = c64[] constant((1, -1))";
    let root = "(c64[4], c64[]) scan(x, c), dimensions={0}, num_carries=1, to_apply=complexes";
    let found = results(&text(complex, root), &[floats(&[4], &X), floats(&[4], &[1.0, 2.0, 3.0, 4.0])]);
    assert_eq!(found[..2], [vec![2.0, -1.0, 6.0, 6.5], vec![0.0, 2.0, 5.0, 9.0]]);
    assert_eq!(found[2..], [vec![6.5], vec![9.0]]);
}

/// Sums of small integers are exact in any order; a zero's sign and the direction show that the first number is the one carried in.
#[test]
fn an_associative_scan_is_a_running_sum() {
    for (more, forth) in [("", true), (", is_reverse=true", false)] {
        for (dims, dim) in [(vec![4], 0), (vec![4, 2], 0), (vec![2, 4], 1)] {
            let count: usize = dims.iter().product();
            let rest: Vec<usize> = dims.iter().enumerate().filter(|(at, _)| *at != dim).map(|(_, n)| *n).collect();
            let [whole, part] = [&dims, &rest].map(|dims| {
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                format!("f32[{}]", dims.join(","))
            });
            let region = format!(
                "own {{ x = {part} parameter(0)\n c = {part} parameter(1)\n d = {part} add(x, c)\n ROOT t = ({part}, {part}) tuple(d, d) }}\n"
            );
            let text = |flag: &str| {
                format!(
                    "HloModule m\n{region}ENTRY e {{\n  x = {whole} parameter(0)\n  c = {part} parameter(1)\n  \
                     ROOT r = ({whole}, {part}) scan(x, c), dimensions={{{dim}}}, num_carries=1{more}, is_associative={flag}, \
                     to_apply=own\n}}\n"
                )
            };
            let numbers: Vec<f64> = (0..count).map(|i| (i * 5 % 11) as f64 - 4.0).collect();
            let start: Vec<f64> = (0..rest.iter().product()).map(|i| 100.0 + i as f64).collect();
            let arguments = [floats(&dims, &numbers), floats(&rest, &start)];
            let found = results(&text("true"), &arguments);
            assert_eq!(found, results(&text("false"), &arguments), "{dims:?} {more}");
            if dims.len() == 1 {
                let xs: Vec<f64> = if forth { numbers.clone() } else { numbers.iter().rev().copied().collect() };
                let (mut own, last) = steps(xs.iter(), start[0], |x, c| [x + c, x + c]);
                if !forth {
                    own.reverse();
                }
                assert_eq!(found, [own, vec![last]]);
            }
        }
    }
    let zeros = text(
        "x = f32[2] parameter(0)\n  c = f32[] parameter(1)",
        "(f32[2], f32[]) scan(x, c), dimensions={0}, num_carries=1, is_associative=true, to_apply=sums",
    );
    let minus = results(&zeros, &[floats(&[2], &[-0.0, -0.0]), floats(&[], &[-0.0])]);
    assert!(minus.iter().flatten().all(|x| *x == 0.0 && x.is_sign_negative()), "{minus:?}");
}

#[test]
fn an_order_that_is_open_is_never_proven_to_be_the_steps_one() {
    let of = |flag: &str, region: &str| {
        text(
            "x = f32[4] parameter(0)\n  c = f32[] parameter(1)",
            &format!(
                "(f32[4], f32[]) scan(x, c), dimensions={{0}}, num_carries=1, is_associative={flag}, to_apply={region}"
            ),
        )
    };
    assert!(!is_proven(&of("true", "sums"), &of("false", "sums")));
    let error = lower(&parse(&of("true", "running")).unwrap()).unwrap_err().to_string();
    assert!(error.contains("any order") && error.contains("opcode `scan`"), "{error}");
}

fn is_proven(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| lower(&parse(text).unwrap()).unwrap());
    let settings = Settings::new(&"v5e/default/off".parse().unwrap());
    compare(&one, &other, &settings).is_ok_and(|answer| matches!(answer.verdict, Verdict::Same))
}

/// The loop that XLA's `ScanExpander` makes of a scan.
#[test]
fn a_scan_is_the_loop_that_xla_makes_of_it() {
    let parameters = "x = f32[4] parameter(0)\n  c = f32[] parameter(1)";
    let scan = text(parameters, "(f32[4], f32[]) scan(x, c), dimensions={0}, num_carries=1, to_apply=running");
    let expanded = |sign: &str| {
        format!(
            "HloModule m\n\n{REGIONS}\
        cond {{ s = (s64[], f32[4], f32[4], f32[]) parameter(0)\n i = s64[] get-tuple-element(s), index=0\n n = s64[] constant(4)\n \
         ROOT r = pred[] compare(i, n), direction=LT }}\n\
        body {{ s = (s64[], f32[4], f32[4], f32[]) parameter(0)\n i = s64[] get-tuple-element(s), index=0\n \
         x = f32[4] get-tuple-element(s), index=1\n y = f32[4] get-tuple-element(s), index=2\n c = f32[] get-tuple-element(s), index=3\n \
         p = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={{1}}\n q = f32[] reshape(p)\n d = f32[] {sign}(q, c)\n e = f32[] add(c, q)\n \
         o = f32[1] reshape(d)\n u = f32[4] dynamic-update-slice(y, o, i)\n one = s64[] constant(1)\n j = s64[] add(i, one)\n \
         ROOT t = (s64[], f32[4], f32[4], f32[]) tuple(j, x, u, e) }}\n\
        ENTRY e {{\n  {parameters}\n  n = s64[] constant(0)\n  z = f32[] constant(0)\n  y = f32[4] broadcast(z), dimensions={{}}\n  \
         t = (s64[], f32[4], f32[4], f32[]) tuple(n, x, y, c)\n  w = (s64[], f32[4], f32[4], f32[]) while(t), condition=cond, body=body\n  \
         a = f32[4] get-tuple-element(w), index=2\n  b = f32[] get-tuple-element(w), index=3\n  ROOT r = (f32[4], f32[]) tuple(a, b)\n}}\n"
        )
    };
    assert!(is_proven(&scan, &scan));
    assert!(is_proven(&scan, &expanded("subtract")));
    assert!(!is_proven(&scan, &expanded("multiply")));
    assert!(!is_proven(&scan, &scan.replace("num_carries=1", "num_carries=1, is_reverse=true")));
}

#[test]
fn a_scan_that_contradicts_itself_is_refused_with_the_reason() {
    let parameters = "x = f32[4] parameter(0)\n  y = f32[5] parameter(1)\n  c = f32[] parameter(2)";
    for (root, why) in [
        ("(f32[4], f32[]) scan(x, c), dimensions={1}, num_carries=1, to_apply=running", "no dim 1"),
        ("(f32[4], f32[]) scan(x, c), dimensions={0}, num_carries=2, to_apply=running", "a scan has an input"),
        ("(f32[4], f32[]) scan(x, c), dimensions={0}, num_carries=3, to_apply=running", "a scan has an input"),
        ("(f32[4], f32[]) scan(x, c), dimensions={0,0}, num_carries=1, to_apply=running", "one dim"),
        ("(f32[4], f32[]) scan(x, c), num_carries=1, to_apply=running", "dimensions"),
        (
            "(f32[4], f32[4], f32[]) scan(x, c), dimensions={0}, num_carries=1, to_apply=running",
            "2 values, 3 are claimed",
        ),
        ("(f32[5], f32[]) scan(x, c), dimensions={0}, num_carries=1, to_apply=running", ""),
        ("(s32[4], f32[]) scan(x, c), dimensions={0}, num_carries=1, to_apply=running", "a step gives f32[]"),
        (
            "(s32[4], f32[], f32[], s32[]) scan(x, y, c, c), dimensions={0}, num_carries=2, to_apply=two",
            "numbers of steps",
        ),
        ("(f32[4], f32[]) scan(x, x), dimensions={0}, num_carries=1, to_apply=running", ""),
    ] {
        let error = lower(&parse(&text(parameters, root)).unwrap()).unwrap_err().to_string();
        assert!(
            error.starts_with("line ") && (error.contains("`scan`") || why.is_empty()) && error.contains(why),
            "{root}: {error}"
        );
    }
}

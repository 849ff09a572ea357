//! Lowering of HLO text: every reference file becomes a program.

use std::fs;
use std::path::{Path, PathBuf};

use ulpgate::analysis::Regions;
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Op;
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program};

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "hlo") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_reference_file_is_a_program() {
    let [reference, more] =
        ["hlo", "hlo_more"].map(|name| files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)));
    assert_eq!((reference.len(), more.len()), (315, 205));
    let mut failed = Vec::new();
    for path in reference.into_iter().chain(more) {
        let text = fs::read_to_string(&path).unwrap();
        let module = parse(&text).unwrap();
        if let Err(error) = lower(&module) {
            failed.push(format!("{}: {error}", path.display()));
        }
    }
    assert!(failed.is_empty(), "{} files:\n{}", failed.len(), failed.join("\n"));
}

/// Reducers and comparators that compilers write are recognised, so that none is interpreted element by element.
#[test]
fn every_region_of_the_reference_files_is_known() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo"));
    let mut count = 0;
    for path in files {
        let import = lower(&parse(&fs::read_to_string(&path).unwrap()).unwrap()).unwrap();
        let regions = Regions::new(&import.program);
        for instruction in &import.program.entry().instructions {
            for region in instruction.op.callees() {
                let known = match instruction.op {
                    Op::Sort { .. } => regions.comparator_but_for_rounding(region).is_some(),
                    _ => regions.reducer_but_for_rounding(region).is_some(),
                };
                assert!(known, "{} in {}", import.program.computations[region].name, path.display());
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}

/// The results of a program in both worlds, which must agree: on the machine in f32, and over the real numbers.
fn results(text: &str, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let [machine, truth] = worlds::both("v5e/f32/as-compiled", &program(text), arguments);
    assert_eq!(machine, truth);
    machine
}

fn floats(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

fn integer(value: i64) -> Tensor {
    Tensor::new(&[], Data::from_i64s(DType::S32, &[value]).unwrap())
}

/// A predicate picks the first of two, an index picks by number, and one out of range picks the last.
#[test]
fn conditionals_pick() {
    let branches = "one {\n  a.1 = f32[2] parameter(0)\n  ROOT n.1 = f32[2] negate(a.1)\n}\n\n\
         two {\n  a.2 = f32[2] parameter(0)\n  ROOT n.2 = f32[2] add(a.2, a.2)\n}\n\n\
         three {\n  a.3 = f32[2] parameter(0)\n  ROOT n.3 = f32[2] abs(a.3)\n}\n\n";
    let by_index = format!(
        "HloModule m\n\n{branches}ENTRY e {{\n  x = f32[2] parameter(0)\n  i = s32[] parameter(1)\n  ROOT c = f32[2] \
         conditional(i, x, x, x), branch_computations={{one, two, three}}\n}}\n"
    );
    let x = floats(&[2], &[3.0, -1.5]);
    for (index, expected) in [(0, [-3.0, 1.5]), (1, [6.0, -3.0]), (2, [3.0, 1.5]), (3, [3.0, 1.5]), (-1, [3.0, 1.5])] {
        assert_eq!(results(&by_index, &[x.clone(), integer(index)]), [expected]);
    }
    let by_predicate = format!(
        "HloModule m\n\n{branches}ENTRY e {{\n  x = f32[2] parameter(0)\n  i = s32[] parameter(1)\n  z = s32[] \
         constant(0)\n  p = pred[] compare(i, z), direction=GT\n  ROOT c = f32[2] conditional(p, x, x), \
         true_computation=one, false_computation=two\n}}\n"
    );
    assert_eq!(results(&by_predicate, &[x.clone(), integer(1)]), [[-3.0, 1.5]]);
    assert_eq!(results(&by_predicate, &[x, integer(0)]), [[6.0, -3.0]]);
}

/// Starts are clamped so that the whole update stays inside.
#[test]
fn updates_are_clamped() {
    let text = "HloModule m\n\nENTRY e {\n  x = f32[2,4] parameter(0)\n  u = f32[1,2] parameter(1)\n  i = s32[] \
                parameter(2)\n  j = s32[] parameter(3)\n  ROOT d = f32[2,4] dynamic-update-slice(x, u, i, j)\n}\n";
    let (x, u) = (floats(&[2, 4], &[0.0; 8]), floats(&[1, 2], &[1.0, 2.0]));
    for (starts, at) in [([0, 1], 1), ([1, 2], 6), ([7, 9], 6), ([-3, -3], 0)] {
        let mut expected = vec![0.0; 8];
        (expected[at], expected[at + 1]) = (1.0, 2.0);
        let arguments = [x.clone(), u.clone(), integer(starts[0]), integer(starts[1])];
        assert_eq!(results(text, &arguments), [expected], "{starts:?}");
    }
}

/// Halves go away from zero, or to even.
#[test]
fn halves_round_as_their_opcode_says() {
    let halves = floats(&[6], &[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
    for (opcode, expected) in [
        ("round-nearest-afz", [-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]),
        ("round-nearest-even", [-2.0, -2.0, -0.0, 0.0, 2.0, 2.0]),
    ] {
        let text = format!("HloModule m\n\nENTRY e {{\n  x = f32[6] parameter(0)\n  ROOT r = f32[6] {opcode}(x)\n}}\n");
        assert_eq!(results(&text, std::slice::from_ref(&halves)), [expected]);
    }
}

/// TPU fusions widen and round while they move: such an operation is computed in its operand's type, then converted.
#[test]
fn moving_may_convert() {
    let text = "HloModule m\n\nENTRY e {\n  x = bf16[2] parameter(0)\n  w = f32[2,2] broadcast(x), dimensions={0}\n  \
                h = f32[] constant(1.00390625)\n  b = bf16[2] broadcast(h), dimensions={}\n  ROOT t = (f32[2,2], bf16[2]) \
                tuple(w, b)\n}\n";
    let x = Tensor::new(&[2], Data::from_f64s(DType::BF16, &[1.5, -3.0]).unwrap());
    let program = program(text);
    let results = subject::evaluate(&program, &"v5e/default/as-compiled".parse().unwrap(), &[x]).unwrap();
    assert_eq!(results[0].data().to_f64s(), [1.5, 1.5, -3.0, -3.0]);
    assert_eq!((results[1].dtype(), results[1].data().to_f64s()), (DType::BF16, vec![1.0, 1.0]));
}

/// The TPU compiler fuses a conversion into the copy beside it: `astype(bf16)` behind a transpose.
#[test]
fn copies_convert() {
    let text = "HloModule m\n\nENTRY e {\n  x = f32[2] parameter(0)\n  c = bf16[2] copy(x)\n  ROOT w = f32[2] \
                convert(c)\n}\n";
    let program = program(text);
    let rounded = program.entry().instructions.iter().any(|i| i.shape.dtype() == Some(DType::BF16));
    assert!(rounded, "{program:?}");
    let mode: Mode = "v5e/f32/as-compiled".parse().unwrap();
    let out = subject::evaluate(&program, &mode, &[floats(&[2], &[1.003_906_3, -3.0])]).unwrap();
    assert_eq!(out[0].data().to_f64s(), [1.0, -3.0]);
}

/// A TPU sort takes bf16 operands with a region over f32, and orders the same.
#[test]
fn sorts_widen_to_their_region() {
    let text = "HloModule m\n\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = \
                s32[] parameter(3)\n  ROOT l = pred[] compare(a, b), direction=LT\n}\n\nENTRY e {\n  x = bf16[4] \
                parameter(0)\n  n = s32[4] iota(), iota_dimension=0\n  s = (f32[4], s32[4]) sort(x, n), dimensions={0}, \
                is_stable=true, to_apply=less\n  v = f32[4] get-tuple-element(s), index=0\n  p = s32[4] \
                get-tuple-element(s), index=1\n  ROOT t = (f32[4], s32[4]) tuple(v, p)\n}\n";
    let x = Tensor::new(&[4], Data::from_f64s(DType::BF16, &[2.0, -1.0, 2.0, 0.5]).unwrap());
    assert_eq!(results(text, &[x]), [[-1.0, 0.5, 2.0, 2.0], [1.0, 3.0, 0.0, 2.0]]);
}

/// A region that takes updates in bf16 sees updates of f32 unrounded, also where it takes the array in f32.
#[test]
fn scatters_widen_to_their_updates() {
    let text = "HloModule m\n\nadded {\n  a = f32[] parameter(0)\n  b = bf16[] parameter(1)\n  c = f32[] convert(b)\n  ROOT s = \
                f32[] add(a, c)\n}\n\nENTRY e {\n  x = f32[4] parameter(0)\n  i = s32[2] constant({2, 0})\n  u = f32[2] \
                parameter(1)\n  ROOT r = f32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, \
                scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=added\n}\n";
    let arguments = [floats(&[4], &[0.5, 0.0, 0.0, 3.0]), floats(&[2], &[1.0 + 1.0 / 4096.0, -2.0])];
    assert_eq!(results(text, &arguments), [[-1.5, 0.0, 1.0 + 1.0 / 4096.0, 3.0]]);
}

/// A loop may carry one array and no tuple.
#[test]
fn loops_over_one_array_run() {
    let text = "HloModule m\n\nsmall {\n  s = f32[] parameter(0)\n  l = f32[] constant(100)\n  ROOT c = pred[] compare(s, \
                l), direction=LT\n}\n\ntwice {\n  b = f32[] parameter(0)\n  ROOT d = f32[] add(b, b)\n}\n\nENTRY e {\n  x \
                = f32[] parameter(0)\n  ROOT w = f32[] while(x), condition=small, body=twice\n}\n";
    assert_eq!(results(text, &[floats(&[], &[3.0])]), [[192.0]]);
}

/// A sum of predicates is their disjunction, a product their conjunction.
#[test]
fn predicates_add_and_multiply() {
    for (opcode, expected) in [("add", [0.0, 1.0, 1.0, 1.0]), ("multiply", [0.0, 0.0, 0.0, 1.0])] {
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  p = pred[4] parameter(0)\n  q = pred[4] parameter(1)\n  r = pred[4] \
             {opcode}(p, q)\n  ROOT n = s32[4] convert(r)\n}}\n"
        );
        let [p, q] = [[false, false, true, true], [false, true, false, true]]
            .map(|bits| Tensor::new(&[4], Data::Pred(bits.to_vec())));
        assert_eq!(results(&text, &[p, q]), [expected], "{opcode}");
    }
}

/// A bitcast to another type of the same width moves elements as the two layouts say.
#[test]
fn bitcasts_between_types_follow_layouts() {
    let text = "HloModule m\n\nENTRY e {\n  x = f32[2,2]{1,0} parameter(0)\n  ROOT b = s32[2,2]{0,1} bitcast(x)\n}\n";
    let bits = |v: f32| f64::from(v.to_bits());
    let [a, b, c, d] = [1.0f32, 2.0, 3.0, 4.0];
    let expected = [bits(a), bits(c), bits(b), bits(d)];
    assert_eq!(results(text, &[floats(&[2, 2], &[a, b, c, d])]), [expected]);
}

/// A value inside a fusion may be written without the tiles of its user: libtpu 0.0.50.1 writes `bf16[64,4,16]{0,2,1:T(8,128)(2,1)}
/// bitcast(bf16[64,64]{0,1})`. The order of dims alone says what it holds.
#[test]
fn a_bitcast_to_tiles_of_what_has_none_follows_the_order_of_dims() {
    let rows: Vec<f32> = (0u8..12).map(f32::from).collect();
    let x = floats(&[2, 6], &rows);
    let result = |shape: &str| {
        let text = format!(
            "HloModule m\n\nf {{\n  p = f32[2,6]{{0,1}} parameter(0)\n  n = f32[2,6]{{0,1}} negate(p)\n  ROOT b = {shape} bitcast(n)\n}}\n\n\
             ENTRY e {{\n  x = f32[2,6]{{0,1}} parameter(0)\n  ROOT r = {shape} fusion(x), kind=kLoop, calls=f\n}}\n"
        );
        results(&text, std::slice::from_ref(&x)).remove(0)
    };
    let expected = |order: [usize; 12]| order.map(|at| -f64::from(rows[at])).to_vec();
    assert_eq!(result("f32[2,2,3]{0,2,1:T(8,128)}"), expected([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
    assert_eq!(result("f32[6,2]{1,0:T(8,128)}"), expected([0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]));
    // Two arrays with tiles lie in memory as these say.
    let text = "HloModule m\n\nENTRY e {\n  x = f32[2,6]{1,0:T(8,128)} parameter(0)\n  ROOT b = f32[2,2,3]{2,1,0:T(8,128)} bitcast(x)\n}\n";
    let why = lower(&parse(text).unwrap()).unwrap_err().why;
    assert!(why.contains("the two layouts do not hold the same elements"), "{why}");
}

/// Starts of a slice are scalars, or, as in older files, one array.
#[test]
fn starts_of_slices_may_be_one_array() {
    let values: Vec<f32> = (0u8..12).map(f32::from).collect();
    let x = floats(&[3, 4], &values);
    let starts = Tensor::new(&[2], Data::from_i64s(DType::S32, &[1, 2]).unwrap());
    let program = |line: &str| {
        format!(
            "HloModule m\n\nENTRY e {{\n  x = f32[3,4] parameter(0)\n  i = s32[2] parameter(1)\n  u = f32[1,1] constant({{{{-1}}}})\n  ROOT r = {line}\n}}\n"
        )
    };
    let taken = program("f32[2,2] dynamic-slice(x, i), dynamic_slice_sizes={2,2}");
    assert_eq!(results(&taken, &[x.clone(), starts.clone()]), [[6.0, 7.0, 10.0, 11.0]]);
    let put = program("f32[3,4] dynamic-update-slice(x, u, i)");
    let expected: Vec<f64> = (0..12).map(|at| if at == 6 { -1.0 } else { f64::from(at) }).collect();
    assert_eq!(results(&put, &[x, starts]), [expected]);
    let why =
        lower(&parse(&program("f32[2,2] dynamic-slice(x, u), dynamic_slice_sizes={2,2}")).unwrap()).unwrap_err().why;
    assert!(why.contains("3 operands are needed, 2 are given"), "{why}");
}

/// Compiled dots mix float types, and take predicates for masks.
#[test]
fn dots_widen_their_operands() {
    for (dtype, ones) in
        [("bf16", Data::from_f64s(DType::BF16, &[1.0, 0.0])), ("pred", Some(Data::Pred(vec![true, false])))]
    {
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  x = f32[2,2] parameter(0)\n  y = {dtype}[2,1] parameter(1)\n  ROOT d = f32[2,1] \
             dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, operand_precision={{highest,highest}}\n}}\n"
        );
        let y = Tensor::new(&[2, 1], ones.unwrap());
        assert_eq!(results(&text, &[floats(&[2, 2], &[1.5, 2.0, 3.25, 4.0]), y]), [[1.5, 3.25]], "{dtype}");
    }
}

/// Elements are compared and chosen, not tuples of arrays.
#[test]
fn operations_on_elements_take_no_tuples() {
    for line in ["compare(t, t), direction=EQ", "select(p, t, t)", "negate(t)", "add(t, t)", "maximum(t, t)"] {
        let text = format!(
            "HloModule m\nENTRY e {{\n  x = f32[2] parameter(0)\n  p = pred[2] parameter(1)\n  \
             t = (f32[2], f32[2]) tuple(x, x)\n  ROOT r = (f32[2], f32[2]) {line}\n}}\n"
        );
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("array is needed"), "{line}: {error}");
    }
}

/// An operand that is a tuple never reaches what computes with arrays, whatever shape is claimed.
#[test]
fn arrays_are_asked_for_before_they_are_used() {
    let why = |line: &str| {
        let text = format!(
            "HloModule m\n\nb {{\n  ROOT v = f32[2] parameter(0)\n}}\n\nENTRY e {{\n  x = f32[2] parameter(0)\n  \
             t = (f32[2], f32[2]) tuple(x, x)\n  f = f32[] constant(1)\n  ROOT r = {line}\n}}\n"
        );
        lower(&parse(&text).unwrap()).unwrap_err().why
    };
    for line in ["f32[2] bitcast(t)", "s32[2] bitcast(t)", "f32[2] convolution(t, t), dim_labels=bf_io->bf"] {
        assert_eq!(why(line), "an operand is a tuple, where an array is needed", "{line}");
    }
    let branches = "branch_computations={b, b}";
    let first = "the first operand must be a predicate or an index";
    assert_eq!(why(&format!("f32[2] conditional(t, x, x), {branches}")), first);
    assert_eq!(why(&format!("f32[2] conditional(f, x, x), {branches}")), "the index is no integer");
    assert!(why("(f32[2], f32[2]) bitcast(x)").contains("(f32[2], f32[2])"));
    assert_eq!(why("f32[2] custom-call(x), custom_call_target=\"TopK\""), "TopK gives values and indices");
}

/// An attribute that is wrong is refused where it stands; one that is missing, at its instruction.
#[test]
fn attributes_are_refused_at_their_place() {
    let place = |line: &str| {
        let text = format!("HloModule m\n\nENTRY e {{\n  x = f32[2,2] parameter(0)\n  ROOT r = f32[2,2] {line}\n}}\n");
        let error = lower(&parse(&text).unwrap()).unwrap_err();
        (error.at.line, error.at.column, error.why)
    };
    let wrong = place("transpose(x), metadata={}, dimensions={one,0}");
    assert_eq!(wrong, (5, 48, "dimensions is not a list of numbers".to_string()));
    let wrong = place("slice(x), slice={[0:2], [0]}");
    assert_eq!(wrong, (5, 31, "slice is not a list of [start:limit:stride]".to_string()));
    let unknown = "operand_precision={high,hgih}";
    let wrong = place(&format!("dot(x, x), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {unknown}"));
    assert_eq!(wrong, (5, 84, "unknown operand_precision `hgih`".to_string()));
    let config = "backend_config={\"top_k\":2}";
    let (_, column, why) = place(&format!("custom-call(x), custom_call_target=\"PartialReduce\", {config}"));
    assert_eq!((column, why.as_str()), (73, "backend_config has no number `log2_reduction`"));
    let config = "backend_config={\"top_k\":2,\"top_k\":3}";
    let (_, column, why) = place(&format!("custom-call(x), custom_call_target=\"PartialReduce\", {config}"));
    assert_eq!((column, why.as_str()), (73, "backend_config has \"top_k\" twice"));
    assert_eq!(place("slice(x)"), (5, 8, "the attribute slice is missing".to_string()));
}

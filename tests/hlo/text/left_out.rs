//! Parts of a text that XLA's parser infers: shapes, instructions without a line, dims of a broadcast, elements of tuples.

use ulpgate::hlo::ast::Operands;
use ulpgate::hlo::{lower, parse};

/// Regions that instructions below call.
const REGIONS: &str = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = add(a, b) }\n\
    less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = compare(a, b), direction=LT }\n\
    both { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = add(a, b)\n ROOT r = tuple(c, c) }\n\
    pairs { a = f32[] parameter(0)\n b = s32[] parameter(1)\n c = f32[] parameter(2)\n d = s32[] parameter(3)\n ROOT r = tuple(a, b) }\n\
    goes_on { s = (s32[], f32[4]) parameter(0)\n ROOT r = pred[] constant(false) }\n\
    next { ROOT s = (s32[], f32[4]) parameter(0) }\n\
    double { a = f32[4] parameter(0)\n ROOT r = add(a, a) }\n";

const PARAMETERS: &[&str] = &[
    "x = f32[4] parameter(0)",
    "m = f32[3,4] parameter(1)",
    "n = s32[] parameter(2)",
    "z = f32[] parameter(3)",
    "t = (s32[], f32[4]) parameter(4)",
    "i = s32[5,1] parameter(5)",
    "v = f32[2,6,6,3] parameter(6)",
    "k = f32[3,3,3,8] parameter(7)",
    "w = s32[4] parameter(8)",
    "p = pred[4] parameter(9)",
    "f = f32[3,3] parameter(10)",
    "right = f32[3,2] parameter(11)",
    "doubles = f64[3,4] parameter(12)",
    "longs = s64[4] parameter(13)",
    "bit = pred[] parameter(14)",
    "places = s32[3,5,1] parameter(15)",
];

fn program(instruction: &str) -> String {
    format!("HloModule m\n{REGIONS}ENTRY e {{\n {}\n {instruction}\n}}\n", PARAMETERS.join("\n "))
}

/// Instructions without their shape, and the shape that XLA's parser infers. Each is worked out by hand.
const INFERRED: &[(&str, &str)] = &[
    ("negate(m)", "f32[3,4]"),
    ("is-finite(x)", "pred[4]"),
    ("add(x, x)", "f32[4]"),
    ("compare(x, x), direction=LT", "pred[4]"),
    ("complex(x, x)", "c64[4]"),
    ("real(complex(x, x))", "f32[4]"),
    ("abs(complex(x, x))", "f32[4]"),
    ("select(p, x, x)", "f32[4]"),
    ("clamp(z, x, z)", "f32[4]"),
    ("reduce-precision(m), exponent_bits=5, mantissa_bits=10", "f32[3,4]"),
    ("copy(m)", "f32[3,4]"),
    ("opt-barrier(t)", "(s32[], f32[4])"),
    ("tuple(x, n)", "(f32[4], s32[])"),
    ("get-tuple-element(t), index=1", "f32[4]"),
    ("get-dimension-size(m), dimensions={0}", "s32[]"),
    ("transpose(m), dimensions={1,0}", "f32[4,3]"),
    ("reverse(m), dimensions={0}", "f32[3,4]"),
    ("slice(m), slice={[0:3:2], [1:3]}", "f32[2,2]"),
    ("pad(m, z), padding=1_0x-1_2_1", "f32[4,8]"),
    ("concatenate(m, m), dimensions={0}", "f32[6,4]"),
    ("dynamic-slice(m, n, n), dynamic_slice_sizes={1,2}", "f32[1,2]"),
    ("dynamic-update-slice(x, slice(x), n)", ""),
    (
        "gather(m, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}",
        "f32[5,4]",
    ),
    ("dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}", "f32[3,3]"),
    (
        "dot(m, m), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={}, rhs_contracting_dims={}",
        "f32[3,4,4]",
    ),
    ("convolution(v, k), window={size=3x3 stride=2x1 pad=0_0x1_1}, dim_labels=b01f_01io->b01f", "f32[2,2,6,8]"),
    ("reduce(m, z), dimensions={1}, to_apply=add", "f32[3]"),
    ("reduce(x, w, z, n), dimensions={0}, to_apply=pairs", "(f32[], s32[])"),
    ("reduce-window(m, z), window={size=2x2 stride=1x2 pad=1_0x0_0}, to_apply=add", "f32[3,2]"),
    ("sort(m), dimensions={1}, to_apply=less", "f32[3,4]"),
    ("topk(m), k=2, largest=true", "(f32[3,2], s32[3,2])"),
    ("cholesky(f), lower=true", "f32[3,3]"),
    ("triangular-solve(f, f), left_side=true, lower=true, transpose_a=NO_TRANSPOSE", "f32[3,3]"),
    ("fft(x), fft_type=RFFT, fft_length={4}", "c64[3]"),
    ("call(x), to_apply=double", "f32[4]"),
    ("fusion(x), kind=kLoop, calls=double", "f32[4]"),
    ("map(x, x), dimensions={0}, to_apply=add", "f32[4]"),
    ("while(t), condition=goes_on, body=next", "(s32[], f32[4])"),
    ("conditional(n, x, x), branch_computations={double, double}", "f32[4]"),
    ("conditional(bit, x, x), true_computation=double, false_computation=double", "f32[4]"),
    ("triangular-solve(f, right), left_side=true, lower=true, transpose_a=NO_TRANSPOSE", "f32[3,2]"),
    ("reduce-window(m, z), window={size=3x1}, to_apply=add", "f32[1,4]"),
    ("convolution(v, k), window={size=3x3 rhs_dilate=2x1}, dim_labels=b01f_01io->b01f", "f32[2,2,4,8]"),
    ("convolution(v, k), window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=2", "f32[1,4,4,8]"),
    (
        "gather(m, places), offset_dims={2}, collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, \
        start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,2}",
        "f32[3,5,2]",
    ),
    ("scan(x, z), dimensions={0}, num_carries=1, to_apply=both", "(f32[4], f32[])"),
    ("scan(x, x), dimensions={0}, num_carries=0, to_apply=add", "f32[4]"),
    ("partition-id()", "u32[]"),
    ("all-reduce(x), replica_groups={}, to_apply=add", "f32[4]"),
    ("broadcast(z)", "f32[]"),
];

#[test]
fn shapes_that_are_left_out_are_inferred() {
    for (instruction, shape) in INFERRED {
        let module = parse(&program(&format!("ROOT r = {instruction}")));
        if shape.is_empty() {
            assert!(module.is_err(), "{instruction}");
            continue;
        }
        let module = module.unwrap_or_else(|error| panic!("{instruction}: {error}"));
        let entry = &module.computations[module.entry];
        let root = &entry.instructions[entry.root];
        assert_eq!(root.shape.to_string(), *shape, "{instruction}");
        // What was inferred is printed, and read again is the same.
        assert_eq!(parse(&module.to_string()).unwrap(), module, "{instruction}");
        // Its operands and attributes fit the shape.
        if !instruction.starts_with("while") {
            lower(&module).unwrap_or_else(|error| panic!("{instruction}: {error}"));
        }
    }
}

/// Operands beside the first: the wider float of a product, dims of the one that is no scalar, a device's number.
#[test]
fn operands_beside_the_first_decide_a_shape_as_well() {
    for (instruction, shape) in [
        ("dot(m, doubles), lhs_contracting_dims={1}, rhs_contracting_dims={1}", Some("f64[3,3]")),
        ("dot(doubles, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}", Some("f64[3,3]")),
        ("dot(w, longs), lhs_contracting_dims={0}, rhs_contracting_dims={0}", Some("s32[]")),
        ("add(z, x)", Some("f32[4]")),
        ("add(x, z)", Some("f32[4]")),
        ("add(m, x)", None),
        ("add(x, m)", None),
        ("add(m, f)", None),
        ("collective-broadcast(x), replica_groups={{0}}", Some("f32[4]")),
        ("collective-broadcast(x, n), replica_groups={{0}}, has_dynamic_root=true", Some("f32[4]")),
        ("collective-broadcast(x, m, n), replica_groups={{0}}, has_dynamic_root=true", Some("(f32[4], f32[3,4])")),
    ] {
        let module = parse(&program(&format!("ROOT r = {instruction}"))).ok();
        let found = module.map(|module| {
            let entry = &module.computations[module.entry];
            entry.instructions[entry.root].shape.to_string()
        });
        assert_eq!(found.as_deref(), shape, "{instruction}");
    }
}

#[test]
fn instructions_inside_operands_are_instructions_before() {
    let text = program("ROOT r = f32[4] add(f32[4] x, multiply(x, negate(f32[4] broadcast(f32[] constant(2)))))");
    let module = parse(&text).unwrap();
    let entry = &module.computations[module.entry];
    let opcodes: Vec<String> = entry.instructions[PARAMETERS.len()..].iter().map(|i| i.opcode.to_string()).collect();
    assert_eq!(opcodes, ["constant", "broadcast", "negate", "multiply", "add"]);
    let Operands::Values(operands) = &entry.instructions[entry.root].operands else { panic!("{entry:?}") };
    assert_eq!(operands[0].name, "x");
    let multiply = &entry.instructions[PARAMETERS.len() + 3];
    assert_eq!((operands[1].name.as_str(), multiply.name.starts_with("multiply.at.")), (multiply.name.as_str(), true));
    assert_eq!(multiply.shape.to_string(), "f32[4]");
    assert_eq!(parse(&module.to_string()).unwrap(), module);
    lower(&module).unwrap();
    // Two on one line have names of their own.
    assert!(parse(&program("ROOT r = add(negate(x), negate(x))")).is_ok());
}

#[test]
fn an_element_of_a_tuple_is_taken_where_it_is_an_operand() {
    let module = parse(&program("ROOT r = add(%t#1, x)")).unwrap();
    let entry = &module.computations[module.entry];
    let element = &entry.instructions[PARAMETERS.len()];
    assert_eq!((element.opcode.to_string(), element.shape.to_string()), ("get-tuple-element".into(), "f32[4]".into()));
    lower(&module).unwrap();
}

/// Real computations are lowered alike with and without their shapes.
#[test]
fn a_text_without_shapes_is_the_one_with_them() {
    let with = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
        ENTRY e {\n x = f32[2,3] parameter(0)\n y = f32[3] parameter(1)\n z = f32[] constant(0)\n \
        d = f32[2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n s = f32[2] reduce(x, z), dimensions={1}, to_apply=add\n \
        ROOT r = (f32[2], f32[2]) tuple(d, s)\n}\n";
    let without =
        with.replace("= f32[2] ", "= ").replace("= (f32[2], f32[2]) ", "= ").replace("r = f32[] add", "r = add");
    assert_ne!(with, without);
    let [one, other] = [with, &without].map(|text| lower(&parse(text).unwrap()).unwrap());
    assert_eq!(one.program, other.program);
}

#[test]
fn precisions_in_capitals_are_those_in_small_letters() {
    let of = |precision: &str| {
        let dot = "ROOT r = dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
        lower(&parse(&program(&format!("{dot}, operand_precision={{{precision}}}"))).unwrap())
    };
    let program = |precision: &str| of(precision).unwrap().program;
    assert_eq!(program("HIGHEST,default"), program("highest,default"));
    assert_ne!(program("HIGHEST,DEFAULT"), program("high,default"));
    assert!(of("HIGHER,DEFAULT").unwrap_err().to_string().contains("unknown operand_precision `HIGHER`"));
}

/// A program may give no array: it is read, and has no result.
#[test]
fn a_program_without_arrays_is_read() {
    for root in
        ["ROOT r = () tuple()", "ROOT r = token[] after-all()", "ROOT r = (token[], ()) tuple(after-all(), tuple())"]
    {
        let import = lower(&parse(&program(root)).unwrap()).unwrap();
        assert_eq!(import.program.output_names, Vec::<String>::new(), "{root}");
    }
}

/// A computation may stand in the place of its name, as XLA prints short ones.
#[test]
fn a_computation_may_stand_where_it_is_called() {
    let text = "HloModule m\nENTRY e {\n x = f32[4] parameter(0)\n z = f32[] constant(0)\n \
        r = reduce(x, z), dimensions={0}, to_apply={\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = add(x, y)\n }, \
        metadata={op_name=\"sum\"}\n ROOT y = call(r), to_apply={ a = f32[] parameter(0)\n ROOT b = call(a), to_apply={ c = f32[] parameter(0)\n \
        ROOT d = negate(c) } }\n}\n";
    let module = parse(text).unwrap();
    let names: Vec<&str> = module.computations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!((names[3], module.entry), ("e", 3));
    assert!(names[..3].iter().all(|name| name.starts_with("to_apply.at.")), "{names:?}");
    assert_eq!(parse(&module.to_string()).unwrap(), module);
    let program = lower(&module).unwrap().program;
    let named = "HloModule m\nadd { x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y) }\nENTRY e {\n \
        x = f32[4] parameter(0)\n z = f32[] constant(0)\n r = f32[] reduce(x, z), dimensions={0}, to_apply=add\n ROOT d = f32[] negate(r)\n}\n";
    let other = lower(&parse(named).unwrap()).unwrap().program;
    assert_eq!(program.entry().instructions.len(), other.entry().instructions.len());
    // A gap of its parameters, and a name of the computation around it, are told with their places.
    for (inside, why) in [
        ("a = f32[] parameter(1)\n ROOT b = negate(a)", "its computation has no parameter 0"),
        ("ROOT b = negate(x)", "no instruction before this one in its computation has the name \"x\""),
    ] {
        let text = format!(
            "HloModule m\nENTRY e {{\n x = f32[] parameter(0)\n ROOT y = f32[] call(x), to_apply={{ {inside} }}\n}}\n"
        );
        let error = parse(&text);
        assert!(error.as_ref().is_err_and(|error| error.to_string().contains(why)), "{inside}: {error:?}");
    }
}

#[test]
fn what_stands_too_deep_is_refused() {
    let nested = |depth: usize| format!("ROOT r = {}x{}", "negate(".repeat(depth), ")".repeat(depth));
    assert!(parse(&program(&nested(200))).is_ok());
    assert!(parse(&program(&nested(100_000))).unwrap_err().to_string().contains("levels of brackets"));
    let inner = |depth: usize| {
        let begin = "x = f32[] parameter(0)\n ROOT r = call(x), to_apply={ ".repeat(depth);
        format!("HloModule m\nENTRY e {{\n {begin}x = f32[] parameter(0) {}\n}}\n", "}".repeat(depth))
    };
    assert!(parse(&inner(30)).is_ok());
    assert!(parse(&inner(10_000)).unwrap_err().to_string().contains("32 deep"));
}

/// `X-start` calls a computation that holds X alone, as XLA's parser has it.
#[test]
fn a_start_of_any_operation_is_an_asynchronous_call_of_it() {
    let text = program(
        "s = ((f32[4]), f32[4], s32[]) negate-start(x)\n u = ((f32[4]), f32[4], s32[]) negate-update(s)\n \
         ROOT r = f32[4] negate-done(u)",
    );
    let module = parse(&text).unwrap();
    assert_eq!(parse(&module.to_string()).unwrap(), module);
    let long = format!(
        "HloModule m\nnegative {{ a = f32[4] parameter(0)\n ROOT b = f32[4] negate(a) }}\n{}",
        program(
            "s = ((f32[4]), f32[4], s32[]) async-start(x), calls=negative\n u = ((f32[4]), f32[4], s32[]) async-update(s)\n \
             ROOT r = f32[4] async-done(u)"
        )
        .trim_start_matches("HloModule m\n")
    );
    let ops = |module: &ulpgate::hlo::ast::Module| {
        let program = lower(module).unwrap().program;
        let entry = program.entry();
        entry.instructions.iter().map(|one| (one.op.clone(), one.operands.clone())).collect::<Vec<_>>()
    };
    assert_eq!(ops(&module), ops(&parse(&long).unwrap()));
}

/// An update may give the operands that the start has not given.
#[test]
fn operands_may_come_with_an_update() {
    let text = program(
        "s = ((), (), s32[]) async-start(), calls=double\n u = ((f32[4]), f32[4], s32[]) async-update(s, x)\n \
         ROOT r = f32[4] async-done(u)",
    );
    let program_of = |text: &str| lower(&parse(text).unwrap()).unwrap().program;
    let one_by_one = program(
        "s = ((), (), s32[]) async-start(), calls=add\n u = ((f32[]), (), s32[]) async-update(s, z)\n \
         l = ((f32[], f32[]), f32[], s32[]) async-update(u, z)\n ROOT r = f32[] async-done(l)",
    );
    let sum = program_of(&program("ROOT r = f32[] add(z, z)"));
    assert_eq!(program_of(&one_by_one).entry().instructions.len(), sum.entry().instructions.len());
    let plain = program_of(&program("ROOT r = f32[4] call(x), to_apply=double"));
    assert_eq!(program_of(&text).entry().instructions.len(), plain.entry().instructions.len());
}

#[test]
fn a_constant_may_be_a_tuple() {
    let constant = "t2 = (f32[2], (s32[], f32[])) constant(({1, 2}, (7, -1)))";
    let text = program(&format!(
        "{constant}\n a = (s32[], f32[]) get-tuple-element(t2), index=1\n ROOT r = f32[] get-tuple-element(a), index=1"
    ));
    let program = lower(&parse(&text).unwrap()).unwrap().program;
    assert_eq!(program.entry().instructions[program.entry().root].shape.to_string(), "f32[]");
}

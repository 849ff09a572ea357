//! Legal text that the reference files do not have.

use ulpgate::hlo::ast::{Layout, Literal, Operands, Shape, Value};
use ulpgate::hlo::parse;

use super::files::fixed_point;

/// An entry computation of these lines.
fn entry(lines: &str) -> String {
    format!("HloModule m\n\nENTRY e {{\n{lines}\n}}\n")
}

/// The shape of the only instruction.
fn shape(text: &str) -> Shape {
    let text = entry(&format!("  ROOT x = {text} parameter(0)"));
    fixed_point(&text).unwrap_or_else(|| panic!("{text}"));
    parse(&text).unwrap().computations[0].instructions[0].shape.clone()
}

/// The value of an attribute, and how it is printed.
fn value(text: &str) -> (Value, String) {
    let text = entry(&format!("  ROOT x = f32[] parameter(0), a={text}"));
    fixed_point(&text).unwrap_or_else(|| panic!("{}", parse(&text).unwrap_err()));
    let value = parse(&text).unwrap().computations[0].instructions[0].attributes[0].value.clone();
    let printed = value.to_string();
    (value, printed)
}

/// A constant's value as printed.
fn constant(shape: &str, literal: &str) -> String {
    let text = entry(&format!("  ROOT x = {shape} constant({literal})"));
    fixed_point(&text).unwrap_or_else(|| panic!("{}", parse(&text).unwrap_err()));
    match &parse(&text).unwrap().computations[0].instructions[0].operands {
        Operands::Literal(literal) => literal.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Older dumps: operand shapes inline, comments, `%` everywhere, nested tuples, threads.
#[test]
fn older_dumps() {
    let text = r#"// A dump.
HloModule old, entry_computation_layout={(f32[4]{0}, (f32[2]{0:T(128)}, /*index=1*/s32[]))->(f32[4]{0}, f32[4]{0})}, is_scheduled=true

%add (lhs: f32[], %rhs: f32[]) -> f32[] {
  %lhs = f32[] parameter(0)
  %rhs = f32[] parameter(1)
  ROOT %sum = f32[]{} add(f32[] %lhs, f32[]{:T(256)S(6)} %rhs), metadata={op_type="Add" op_name="a \"b\" }" source_line=3}
}, execution_thread="main"

ENTRY %main (a: f32[4], b: (f32[2], s32[])) -> (f32[4], f32[4]) {
  %a = f32[4]{0} parameter(0)
  %b = (f32[2]{0:T(128)}, s32[]) parameter(1), parameter_replication={false,true}
  %get = f32[2]{0:T(128)} get-tuple-element((f32[2]{0:T(128)}, s32[]) %b), index=0
  %many = (f32[4], f32[4], f32[4], f32[4], f32[4], f32[4]) tuple(%a, %a, %a, %a, %a, /*index=5*/%a), control-predecessors={%a, %get}
  %call = f32[4]{0} custom-call(f32[4]{0} %a), custom_call_target="x", called_computations={%add, %add}
  ROOT %tuple = (f32[4]{0}, f32[4]{0}) tuple(f32[4]{0} %a, f32[4]{0} %call)
}
"#;
    let canonical = text.replace("// A dump.\n", "").replace("%rhs: ", "rhs: ").replace("/*index=5*/", "");
    assert_eq!(fixed_point(text).unwrap(), canonical);
}

#[test]
fn entry_and_root_are_the_last_unless_marked() {
    let text = "HloModule m\na { ROOT x = f32[] parameter(0) y = f32[] negate(x) }\nb { x = f32[] parameter(0) y = f32[] negate(x) }";
    let module = parse(text).unwrap();
    assert_eq!((module.entry, module.computations[0].root, module.computations[1].root), (1, 0, 1));
    let module = parse(&text.replace("\na", "\nENTRY a")).unwrap();
    assert_eq!(module.entry, 0);
    fixed_point(text).unwrap();
}

#[test]
fn spacing_is_free() {
    let tight = "HloModule m,a=1,b={1,0}%c(p:f32[2])->f32[2]{%p=f32[2]parameter(0)ROOT%n=f32[2]{0}negate(%p),x=y}";
    let module = parse(tight).unwrap();
    let printed = module.to_string();
    // Each token on a line of its own, the lines ended in three ways, comments between.
    for between in ["\n", "\r\n", "\t", " /* a \" } */ ", "// {\n", "//\r\n", "/**/", "/***/"] {
        let mut loose = String::new();
        for line in printed.lines() {
            for token in line.split_inclusive([' ', ',', '(', ')', '{', '}', ':', '[', ']']) {
                loose.push_str(token.trim());
                // Attributes in braces and words with brackets keep what is in them.
                let inside = loose.rfind("b={").is_some_and(|at| !loose[at..].contains('}'));
                loose.push_str(if inside { "" } else { between });
            }
        }
        let read = parse(&loose).unwrap_or_else(|error| panic!("{error}\n{loose}"));
        assert!(read == module, "{loose}");
    }
}

#[test]
fn side_tables() {
    let text = "HloModule m\n\nStackFrames\n1 {file_location_id=1}\n  2 {}  \n\n\nFileNames\nFuture\n7 \"x /* \"\nENTRY e {\n x = f32[] parameter(0)\n}";
    let module = parse(text).unwrap();
    let tables: Vec<(&str, Vec<&str>)> =
        module.tables.iter().map(|t| (t.heading.as_str(), t.lines.iter().map(String::as_str).collect())).collect();
    let expected = [
        ("StackFrames", vec!["1 {file_location_id=1}", "2 {}"]),
        ("FileNames", vec![]),
        ("Future", vec!["7 \"x /* \""]),
    ];
    assert_eq!(tables, expected);
    let printed = fixed_point(text).unwrap();
    assert!(printed.starts_with("HloModule m\n\nStackFrames\n1 {file_location_id=1}\n2 {}\n\nFileNames\n\nFuture\n"));
}

#[test]
fn a_brace_behind_a_shape_is_a_layout_or_a_body() {
    for (layout, body) in [("", ""), ("{0}", ""), ("{}", ""), ("{:T(8)}", "\n"), (" { 0 }", " "), ("", "//\n")] {
        let text = format!("HloModule m\n%e (x: f32[8]) -> f32[8]{layout} {{{body}%x = f32[8]{layout} parameter(0)}}");
        let module = parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(
            module.computations[0].signature.as_ref().unwrap().result,
            module.computations[0].instructions[0].shape
        );
        fixed_point(&text).unwrap();
    }
}

#[test]
fn shapes() {
    let names = "pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64 f4e2m1fn f8e3m4 f8e4m3 f8e4m3fn \
                 f8e4m3b11fnuz f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu c64 c128 token opaque";
    for name in names.split(' ') {
        assert_eq!(shape(&format!("{name}[]")).to_string(), format!("{name}[]"));
    }
    assert_eq!(shape("()"), Shape::Tuple(vec![]));
    assert_eq!(shape("( f32 [ 2 , 3 ] , ( ) )").to_string(), "(f32[2,3], ())");
    assert_eq!(shape("f32[18446744073709551615]").to_string(), "f32[18446744073709551615]");
    let wide = format!("({})", vec!["f32[2]{0}"; 5000].join(", "));
    assert_eq!(shape(&wide).to_string(), wide);
    let deep = format!("{}f32[]{}", "(".repeat(256), ")".repeat(256));
    assert_eq!(shape(&deep).to_string(), deep);
}

#[test]
fn layouts() {
    let layout = |text: &str| match shape(&format!("f32[2,3]{text}")) {
        Shape::Array { layout, .. } => layout.unwrap(),
        other => panic!("{other}"),
    };
    assert_eq!(layout("{1, 0}"), Layout { minor_to_major: vec![1, 0], ..Layout::default() });
    assert_eq!(layout("{:}"), Layout::default());
    let full = layout("{1,0:D(D,C~)T(8,128)(2,1)L(1024)#(u32)*(u8)E(4)S(1)SC(0:1)P(f32[2]{0})M(9)}");
    assert_eq!(full.tiles, [vec![8, 128], vec![2, 1]]);
    assert_eq!(full.rest, "D(D,C~)L(1024)#(u32)*(u8)E(4)S(1)SC(0:1)P(f32[2]{0})M(9)");
    assert_eq!(full.to_string(), "{1,0:D(D,C~)T(8,128)(2,1)L(1024)#(u32)*(u8)E(4)S(1)SC(0:1)P(f32[2]{0})M(9)}");
    // A tile that combines dimensions has no size; it stays as it stands.
    assert_eq!(layout("{1,0:T(*,128)S(1)}").rest, "T(*,128)S(1)");
    for odd in ["{:D((a))T(8)}", "{:D(a)(b)T(8)}", "{:S(1)T(8)}"] {
        layout(odd);
    }
}

#[test]
fn literals() {
    for scalar in [
        "1",
        "-1",
        "1.5",
        ".5",
        "5.",
        "-1e-06",
        "1E+9",
        "inf",
        "-inf",
        "nan",
        "-nan",
        "nan(0x7fC1)",
        "-nan(0x1)",
        "true",
        "false",
    ] {
        assert_eq!(constant("f32[]", scalar), scalar);
    }
    assert_eq!(constant("f32[2]", "{ 1 , nan(0x1) }"), "{1, nan(0x1)}");
    assert_eq!(constant("f32[2,0]", "{ { /*i0=0*/ }, { /*i0=1*/ } }"), "{ {}, {} }");
    assert_eq!(constant("s32[2,1,2]", "{{{1,2}},{{3,4}}}"), "{ { {1, 2} }, { {3, 4} } }");
    assert_eq!(constant("f32[128]", "{...}"), "{...}");
    assert_eq!(constant("f32[2,9]", "{ { ... }, {...} }"), "{ {...}, {...} }");
    assert_eq!(constant("c64[]", "( 1 ,-2 )"), "(1, -2)");
    assert_eq!(constant("c128[3]", "{(1, nan), 2, (inf, -0)}"), "{(1, nan), 2, (inf, -0)}");
    assert_eq!(
        constant("(f32[2,1]{1,0}, c64[], ())", "( { {1}, {2} }, (2, 42), () )"),
        "( { {1}, {2} }, (2, 42), () )"
    );
    assert_eq!(constant("()", "( )"), "()");
    let text = entry("  ROOT x = pred[2] constant({true, 0})");
    let expected = Literal::List(["true", "0"].map(|text| Literal::Scalar(text.to_string())).to_vec());
    assert_eq!(parse(&text).unwrap().computations[0].instructions[0].operands, Operands::Literal(expected));
}

#[test]
fn values() {
    let words = ["LT", "true", "-3", "0.9", "bf_io->bf", "b0f_0io->b0f", "0_0x-1_3_2", "%n", "?", "mesh['x'=2]{0,1}"];
    let brackets = ["[2,4]<=[8]", "[2,4]<=[4,2]T(1,0)", "( s32[4]{0} {4, 1}, pred[] 1 )", "a[b]c{d}e"];
    for word in words.into_iter().chain(brackets) {
        assert_eq!(value(word), (Value::Word(word.to_string()), word.to_string()));
    }
    let listed = |items: &[&str]| Value::Words(items.iter().map(|item| item.to_string()).collect());
    assert_eq!(value("{}").0, listed(&[]));
    assert_eq!(value("{ }"), (listed(&[]), "{}".to_string()));
    assert_eq!(value("{1, 0}"), (listed(&["1", "0"]), "{1,0}".to_string()));
    assert_eq!(value("{%a,%b.1-c}"), (listed(&["%a", "%b.1-c"]), "{%a, %b.1-c}".to_string()));
    assert_eq!(value("{high,-1e+5}"), (listed(&["high", "-1e+5"]), "{high,-1e+5}".to_string()));
    let braces = [
        "{1,}",
        "{,}",
        "{a b}",
        "{[0:2], [0:4:1]}",
        "{{0,1},{2,3}}",
        "{maximal device=1}",
        r#"{op_name="a }\" {" stack_frame_id=2}"#,
        r#"{"a":{"b":["}",{}]},"c\\":"\""}"#,
        "{devices=[2,2]<=[4] last_tile_dim_replicate}",
        "{empty_mesh = #sdy.mesh<[]>}",
        "{composite.attributes={n = 1 : i32, tensor = dense<1> : tensor<i32>},composite.name=\"f\"}",
        "{ {0}: (1, {}), /* } */ {1}: (0, {0}) }",
    ];
    for text in braces {
        assert_eq!(value(text), (Value::Braces(text.to_string()), text.to_string()));
    }
    let texts = [
        (r#""""#, "", r#""""#),
        (r#""TopK""#, "TopK", r#""TopK""#),
        (r#""a\"b\\\n\t\r\'\?""#, "a\"b\\\n\t\r'?", r#""a\"b\\\n\t\r'?""#),
        (r#""\a\b\v\f\0\1774\x41é\303\251""#, "\x07\x08\x0b\x0c\0\x7f4Aéé", r#""\007\010\013\014\000\1774Aéé""#),
        (r#"'it "is"'"#, r#"it "is""#, r#""it \"is\"""#),
    ];
    for (text, inside, printed) in texts {
        assert_eq!(value(text), (Value::Text(inside.to_string()), printed.to_string()));
    }
    // Bytes that are no UTF-8, and escapes that are none, stay as they stand.
    for text in [r#""\377\0""#, r#"'\q'"#, r#""\x""#, r#""\777""#] {
        assert_eq!(value(text), (Value::Word(text.to_string()), text.to_string()));
    }
}

#[test]
fn a_literal_as_an_attribute() {
    for literal in
        ["s32[2]{0} {1, 2}", "f32[] 0.1", "( s32[4]{0} {4, 128, 128, 3}, pred[4]{0} {1, 0, 0, 0} )", "c64[] (1, 2)"]
    {
        let text =
            entry(&format!("  p = f32[] parameter(0)\n  ROOT x = f32[] custom-call(p), literal={literal}, b=1\n"));
        let attributes = &parse(&text).unwrap().computations[0].instructions[1].attributes;
        assert_eq!(attributes[0].value, Value::Word(literal.to_string()));
        assert_eq!(attributes.len(), 2);
        fixed_point(&text).unwrap();
    }
}

#[test]
fn what_is_unknown_is_kept() {
    let text =
        entry("  p = f32[] parameter(0)\n  ROOT x = f32[] quantum-add_2(p, p), qubits={1,2}, spin=\"up\", entangle=%p");
    assert_eq!(fixed_point(&text).unwrap(), text);
}

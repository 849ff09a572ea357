//! Programs for several devices: collectives, what devices know of themselves, and arrays in parts.

use std::path::PathBuf;
use std::process::Command;

use ulpgate::explore::{Answer, Settings, enclose, explore, outside};
use ulpgate::file::safetensors;
use ulpgate::hlo::{Import, lower, parse};
use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::rewrite::{Freedom, Point};
use ulpgate::subject;
use ulpgate::tensor::{Data, Tensor};

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo_devices").join(name)
}

fn import(text: &str) -> Import {
    lower(&parse(text).unwrap()).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn file(name: &str) -> Import {
    import(&std::fs::read_to_string(place(name)).unwrap())
}

fn named(name: &str) -> Vec<(String, Tensor)> {
    safetensors::read(&place(name)).unwrap()
}

fn arguments(import: &Import, given: &[(String, Tensor)]) -> Vec<Tensor> {
    let find = |name: &String| given.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}"));
    import.argument_names.iter().map(|name| find(name).1.clone()).collect()
}

fn results(import: &Import, arguments: &[Tensor]) -> Vec<Tensor> {
    let mode: Mode = "xla-cpu/default/as-compiled".parse().unwrap();
    subject::evaluate(&import.program, &mode, arguments).unwrap()
}

/// The sums over four devices that XLA:CPU computed lie in what the program permits, and another order gives other bits.
#[test]
fn sums_over_devices_may_be_in_any_order() {
    for (name, excess) in [("psum", "off"), ("psum_bf16", "off"), ("scatter", "off")] {
        let import = file(&format!("{name}.before.hlo"));
        let arguments = arguments(&import, &named(&format!("{name}.whole.inputs.safetensors")));
        let settings = Settings::new(format!("v5e/default/{excess}").parse().unwrap());
        let (choices, enclosed) = enclose(&import.program, &arguments, &settings).unwrap();
        let mesh = |point: &&Point| point.freedom == Freedom::Mesh;
        assert!(choices.points.iter().any(|point| mesh(&point)), "{name}");
        let expected: Vec<Tensor> = import
            .program
            .output_names
            .iter()
            .map(|output| {
                let own =
                    |(theirs, _): &&(String, Tensor)| theirs == output || theirs.split('@').next() == Some(output);
                named(&format!("{name}.whole.outputs.safetensors")).iter().find(own).unwrap().1.clone()
            })
            .collect();
        let outside = outside(&enclosed, &expected);
        assert!(outside.iter().all(|found| found.elements.is_empty() && found.unknown == 0), "{name}: {outside:?}");
        let found = explore(&import.program, &arguments, &[import.program.output_names[0].clone()], &settings).unwrap();
        let takes = |answer: &Answer| match answer {
            Answer::Reachable(witness) => {
                let points = found.choices.points.iter().zip(&witness.taken);
                points.filter(|(_, option)| **option > 0).any(|(point, _)| mesh(&point))
            }
            _ => false,
        };
        assert!(found.answers.iter().any(takes), "{name}: {:?}", found.answers);
    }
}

/// The values of every device at the end are those on XLA:CPU, bit for bit; the sums of bf16 numbers that the program as
/// written rounds step by step, XLA:CPU rounds once.
#[test]
fn devices_compute_what_they_do_on_xla_cpu() {
    let mut compared = 0;
    for name in ["psum", "psum_bf16", "pmax2", "psum_a", "gather", "scatter", "permute", "a2a", "index", "scan"] {
        for (form, cut) in [("compiled", "cut"), ("before", "whole")] {
            if (name, form) == ("psum_bf16", "before") {
                continue;
            }
            let import = file(&format!("{name}.{form}.hlo"));
            assert_eq!(import.devices, 4, "{name}");
            let got = results(&import, &arguments(&import, &named(&format!("{name}.{cut}.inputs.safetensors"))));
            for (theirs, expected) in named(&format!("{name}.{cut}.outputs.safetensors")) {
                let all = theirs.split('@').next().unwrap();
                let known = |output: &&String| **output == theirs || **output == all;
                let at = import.program.output_names.iter().position(|output| known(&output)).unwrap();
                let bits = |tensor: &Tensor| (0..tensor.len()).map(|i| tensor.data().bits(i)).collect::<Vec<_>>();
                assert_eq!(got[at].dims(), expected.dims(), "{name}.{form} {theirs}");
                assert_eq!(bits(&got[at]), bits(&expected), "{name}.{form} {theirs}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "{compared}");
}

/// A TPU's compiler lets devices hand values on in the background, in a loop whose counter all of them have alike.
#[test]
fn what_a_tpu_compiler_makes_is_read() {
    let import = file("scan.tpu.hlo");
    assert_eq!(import.argument_names, ["arg0@0", "arg0@1", "arg0@2", "arg0@3"]);
    let names = ["out0@0", "out0@1", "out0@2", "out0@3", "out1"];
    assert_eq!(import.program.output_names, names);
    let given = arguments(&import, &named("scan.cut.inputs.safetensors"));
    let demands = vec![Demand::Rounded; names.len()];
    let truth = Oracle::default().evaluate(&import.program, &given, &demands).unwrap();
    let theirs = named("scan.cut.outputs.safetensors");
    for (name, truth) in names.iter().zip(&truth.outputs) {
        let TruthTensor::Float(truth) = truth else { panic!("{name}") };
        let xla = theirs.iter().find(|(known, _)| known.split("@0").next() == name.split("@0").next()).unwrap();
        for (i, real) in truth.rounded.iter().enumerate() {
            assert!((xla.1.data().get_f64(i) - real).abs() < 1e-5, "{name}");
        }
    }
    assert_eq!(file("auto.tpu.hlo").devices, 4);
}

const SUM: &str = "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\n";

/// A program of one operation for `devices` (the header's words), its result `shape`.
fn one(devices: &str, shape: &str, operation: &str) -> String {
    format!(
        "HloModule m, is_scheduled=true, {devices}\n\n{SUM}ENTRY e {{\n  x = f32[2] parameter(0)\n  ROOT r = {shape} {operation}\n}}\n"
    )
}

/// Both worlds' results, one for each output, of an argument that counts `device * 2` and `device * 2 + 1`.
#[track_caller]
fn of_counts(text: &str) -> Vec<(String, Vec<f64>)> {
    let import = import(text);
    let count = import.argument_names.len();
    let given = (0..count).map(|d| Tensor::new(&[2], Data::F32(vec![2.0 * d as f32, 2.0 * d as f32 + 1.0])));
    let given: Vec<Tensor> = given.collect();
    let machine: Vec<Vec<f64>> = results(&import, &given).iter().map(|t| t.data().to_f64s()).collect();
    let demands = vec![Demand::Rounded; machine.len()];
    let truth = Oracle::default().evaluate(&import.program, &given, &demands).unwrap();
    for (machine, truth) in machine.iter().zip(&truth.outputs) {
        match truth {
            TruthTensor::Float(truth) => assert_eq!(machine, &truth.rounded),
            TruthTensor::Integer { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    import.program.output_names.iter().cloned().zip(machine).collect()
}

/// `replica_groups` counts replicas, partitions or devices, as XLA's `GetCollectiveOpGroupMode` has it.
#[test]
fn groups_count_replicas_partitions_or_devices() {
    let both = "replica_count=2, num_partitions=2";
    let reduce = |attributes: &str| one(both, "f32[2]", &format!("all-reduce(x), to_apply=sum{attributes}"));
    // Devices are 0, 1 of replica 0, and 2, 3 of replica 1.
    let cases = [
        ("", [[4.0, 6.0], [8.0, 10.0], [4.0, 6.0], [8.0, 10.0]]),
        (", replica_groups={{1,0}}", [[4.0, 6.0], [8.0, 10.0], [4.0, 6.0], [8.0, 10.0]]),
        (", replica_groups={{0},{1}}", [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]),
        (
            ", channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true",
            [[2.0, 4.0], [2.0, 4.0], [10.0, 12.0], [10.0, 12.0]],
        ),
        (", channel_id=1, replica_groups={{0},{1}}", [[2.0, 4.0], [2.0, 4.0], [10.0, 12.0], [10.0, 12.0]]),
        (
            ", channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), use_global_device_ids=true",
            [[4.0, 6.0], [8.0, 10.0], [4.0, 6.0], [8.0, 10.0]],
        ),
    ];
    for (attributes, expected) in cases {
        let got: Vec<Vec<f64>> = of_counts(&reduce(attributes)).into_iter().map(|(_, values)| values).collect();
        assert_eq!(got, expected, "{attributes}");
    }
    let all = of_counts(&reduce(", channel_id=1, replica_groups={{0,1}}"));
    assert_eq!(all, [("out0".to_string(), vec![12.0, 16.0])]);
    let permute = "collective-permute(x), channel_id=1, source_target_pairs={{0,1}}";
    let moved: Vec<Vec<f64>> = of_counts(&one(both, "f32[2]", permute)).into_iter().map(|(_, v)| v).collect();
    assert_eq!(moved, [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [4.0, 5.0]]);
    let sent = "collective-broadcast(x), channel_id=1, replica_groups={{1,0}}";
    let sent: Vec<Vec<f64>> = of_counts(&one(both, "f32[2]", sent)).into_iter().map(|(_, v)| v).collect();
    assert_eq!(sent, [[2.0, 3.0], [2.0, 3.0], [6.0, 7.0], [6.0, 7.0]]);
}

/// Device d has 2 d and 2 d + 1; the groups begin with their second device, and no exchange undoes itself.
#[test]
fn members_of_a_group_are_in_its_own_order() {
    let four = "replica_count=4";
    let groups = "replica_groups={{2,0},{1,3}}";
    for (shape, exchange, expected) in [
        (
            "f32[2]",
            "collective-permute(x), source_target_pairs={{0,1},{1,3},{3,2},{2,0}}".to_string(),
            vec![vec![4.0, 5.0], vec![0.0, 1.0], vec![6.0, 7.0], vec![2.0, 3.0]],
        ),
        (
            "f32[4]",
            format!("all-gather(x), dimensions={{0}}, {groups}"),
            vec![
                vec![4.0, 5.0, 0.0, 1.0],
                vec![2.0, 3.0, 6.0, 7.0],
                vec![4.0, 5.0, 0.0, 1.0],
                vec![2.0, 3.0, 6.0, 7.0],
            ],
        ),
        (
            "f32[1]",
            format!("reduce-scatter(x), dimensions={{0}}, {groups}, to_apply=sum"),
            vec![vec![6.0], vec![8.0], vec![4.0], vec![10.0]],
        ),
        (
            "f32[2]",
            format!("all-to-all(x), dimensions={{0}}, {groups}"),
            vec![vec![5.0, 1.0], vec![2.0, 6.0], vec![4.0, 0.0], vec![3.0, 7.0]],
        ),
        (
            "f32[2]",
            format!("collective-broadcast(x), {groups}"),
            vec![vec![4.0, 5.0], vec![2.0, 3.0], vec![4.0, 5.0], vec![2.0, 3.0]],
        ),
    ] {
        let got: Vec<Vec<f64>> = of_counts(&one(four, shape, &exchange)).into_iter().map(|(_, v)| v).collect();
        assert_eq!(got, expected, "{exchange}");
    }
}

/// With `has_dynamic_root` the last operand says which member of each group sends, for each array by itself, and a result may be without
/// its shape (`AsyncCollectiveBroadcastDynamicRoot` of XLA's `collective_ops_e2e_test.cc`).
#[test]
fn the_root_of_a_broadcast_may_be_computed() {
    let program = |roots: &str, shape: &str, sent: &str| {
        format!(
            "HloModule m, is_scheduled=true, replica_count=4\n\nENTRY e {{\n  x = f32[2] parameter(0)\n  y = f32[2] negate(x)\n  \
             roots = {roots}\n  ROOT r = {shape} collective-broadcast({sent}, roots), replica_groups={{{{0,1}},{{3,2}}}}, \
             has_dynamic_root=true\n}}\n"
        )
    };
    let of = |text: &str| -> Vec<Vec<f64>> { of_counts(text).into_iter().map(|(_, values)| values).collect() };
    let expected = [[2.0, 3.0], [2.0, 3.0], [4.0, 5.0], [4.0, 5.0]];
    for shape in ["f32[2]", ""] {
        assert_eq!(of(&program("s32[1] constant({1})", shape, "x")), expected);
    }
    assert_eq!(of(&program("s32[1] constant({0})", "f32[2]", "x"))[2], [6.0, 7.0]);
    // A rank that no member has.
    assert_eq!(of(&program("s32[1] constant({2})", "f32[2]", "x"))[0], [0.0, 0.0]);
    let both = of(&program("s32[2] constant({0, 1})", "(f32[2], f32[2])", "x, y"));
    assert!(
        both.contains(&vec![0.0, 1.0]) && both.contains(&vec![-2.0, -3.0]) && !both.contains(&vec![-0.0, -1.0]),
        "{both:?}"
    );
    let refused = lower(&parse(&program("f32[1] constant({1})", "f32[2]", "x")).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("the ranks of the roots are f32[1], and must be an integer for each array"), "{refused}");
}

/// The order of a sum is that of the group: 1 and -1 cancel before, or after, the small one is added.
#[test]
fn devices_are_added_in_the_groups_order() {
    for (group, expected) in [("0,1,2", 2f32.powi(-30)), ("0,2,1", 0.0)] {
        let text =
            one("replica_count=3", "f32[2]", &format!("all-reduce(x), replica_groups={{{{{group}}}}}, to_apply=sum"));
        let import = import(&text);
        let given = [1.0, -1.0, 2f32.powi(-30)].map(|x| Tensor::new(&[2], Data::F32(vec![x, x])));
        assert_eq!(results(&import, &given)[0].data().to_f32s(), [expected; 2], "{group}");
    }
}

/// One device alone, as most programs have it, and devices that know their numbers.
#[test]
fn devices_know_their_numbers() {
    assert_eq!(
        of_counts(&one("num_partitions=1", "f32[2]", "all-reduce(x), replica_groups={}, to_apply=sum"))[0].1,
        [0.0, 1.0]
    );
    let number = |opcode: &str| {
        of_counts(&one("replica_count=2, num_partitions=2", "u32[]", &format!("{opcode}()")))
            .into_iter()
            .map(|(_, v)| v[0])
            .collect::<Vec<_>>()
    };
    assert_eq!(number("partition-id"), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(number("replica-id"), [0.0, 0.0, 1.0, 1.0]);
}

/// Devices that exchange nothing in a loop take as many steps as each needs; those that do must all take as many.
#[test]
fn loops_that_differ_end_apart_and_those_that_exchange_end_together() {
    let text = |body: &str, bound: &str| {
        format!(
            "HloModule m, is_scheduled=true, num_partitions=2\n\n{SUM}body {{\n  s = (u32[], f32[]) parameter(0)\n  i = u32[] \
             get-tuple-element(s), index=0\n  v = f32[] get-tuple-element(s), index=1\n  one = u32[] constant(1)\n  j = u32[] \
             add(i, one)\n  w = f32[] {body}\n  ROOT t = (u32[], f32[]) tuple(j, w)\n}}\n\ncond {{\n  s = (u32[], f32[]) \
             parameter(0)\n  i = u32[] get-tuple-element(s), index=0\n  n = u32[] constant(3)\n  ROOT l = pred[] compare(i, n), \
             direction=LT\n}}\n\nENTRY e {{\n  p = u32[] partition-id()\n  z = u32[] constant(0)\n  c = f32[] constant(1)\n  t = \
             (u32[], f32[]) tuple({bound}, c)\n  w = (u32[], f32[]) while(t), condition=cond, body=body\n  ROOT r = f32[] \
             get-tuple-element(w), index=1\n}}\n"
        )
    };
    let values = |text: &str| of_counts(text).into_iter().map(|(_, v)| v[0]).collect::<Vec<_>>();
    assert_eq!(values(&text("add(v, v)", "p")), [8.0, 4.0]);
    // What all have alike stays alike.
    let exchanged = "all-reduce(v), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=sum";
    assert_eq!(values(&text(exchanged, "z")), [8.0]);
    let error = lower(&parse(&text(exchanged, "p")).unwrap()).unwrap_err().to_string();
    assert!(error.contains("its condition differs"), "{error}");
}

/// A count that the header leaves out is as large as groups and pairs need; numbers stand for replicas, partitions or devices.
#[test]
fn devices_are_counted_by_the_groups_where_the_header_counts_none() {
    let sum = "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n";
    let of = |header: &str, shape: &str, line: &str| {
        let text =
            format!("HloModule m{header}\n{sum}ENTRY e {{\n  x = f32[2] parameter(0)\n  ROOT r = {shape} {line}\n}}\n");
        lower(&parse(&text).unwrap()).map(|import| import.devices).map_err(|error| error.to_string())
    };
    let by_device = "channel_id=1, use_global_device_ids=true";
    for (header, shape, line, devices) in [
        ("", "f32[2]", "all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=sum".to_string(), 4),
        ("", "f32[2]", format!("all-reduce(x), replica_groups=[2,3]<=[6], to_apply=sum, {by_device}"), 6),
        ("", "f32[2]", "collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,7}}".to_string(), 8),
        ("", "f32[2]", "collective-permute(x), source_target_pairs={{0,1},{1,2}}".to_string(), 3),
        ("", "f32[2]", "all-reduce(x), replica_groups={}, to_apply=sum".to_string(), 1),
        ("", "f32[6]", "all-gather(x), replica_groups={}, dimensions={0}".to_string(), 3),
        ("", "f32[1]", "reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=sum".to_string(), 2),
        (", num_partitions=2", "f32[2]", "all-reduce(x), replica_groups={{0,1,2}}, to_apply=sum".to_string(), 6),
        (
            ", replica_count=2",
            "f32[2]",
            format!("all-reduce(x), replica_groups={{{{0,1,2,5}}}}, to_apply=sum, {by_device}"),
            6,
        ),
    ] {
        assert_eq!(of(header, shape, &line), Ok(devices), "{header} {line}");
    }
    for line in [
        "all-reduce(x), replica_groups={{0,1024}}, to_apply=sum",
        "all-reduce(x), replica_groups={{0,18446744073709551615}}, to_apply=sum",
    ] {
        let error = of("", "f32[2]", line).unwrap_err();
        assert!(error.contains("1024 devices at most"), "{error}");
    }
    let error = of(", replica_count=2", "f32[2]", "all-reduce(x), replica_groups={{0,2}}, to_apply=sum").unwrap_err();
    assert!(error.contains("names 2, but the module's header counts 2"), "{error}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let four = "num_partitions=4";
    for (text, why) in [
        (
            one(
                four,
                "f32[2]",
                "all-reduce(x), replica_groups={{0,1},{1,2}}, to_apply=sum, channel_id=1, use_global_device_ids=true",
            ),
            "names 1 twice",
        ),
        (
            one(
                four,
                "f32[2]",
                "all-reduce(x), replica_groups={{0,4}}, to_apply=sum, channel_id=1, use_global_device_ids=true",
            ),
            "names 4, but the module's header counts 4",
        ),
        (
            one(four, "f32[2]", "all-reduce(x), replica_groups={{0,1}}, to_apply=sum, use_global_device_ids=true"),
            "needs a channel_id",
        ),
        (one(four, "f32[2]", "all-reduce(x), replica_groups=[2,2]<=[5], to_apply=sum"), "replica_groups is "),
        (
            one(
                four,
                "f32[2]",
                "reduce-scatter(x), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=sum, channel_id=1, \
                               use_global_device_ids=true",
            ),
            "has no 4 equal parts along dim 0",
        ),
        (
            one(four, "f32[2]", "collective-permute(x), channel_id=1, source_target_pairs={{0,1},{2,1}}"),
            "given two values",
        ),
        (
            one(four, "f32[2]", "collective-permute(x), channel_id=1, source_target_pairs={{0,9}}"),
            "two numbers below 4",
        ),
        (
            one(four, "f32[2]", "collective-permute(x), channel_id=1, source_target_pairs={{0,4}}"),
            "two numbers below 4",
        ),
        (
            one(four, "f32[2]", "collective-permute(x), channel_id=1, source_target_pairs={{0,1,2}}"),
            "two numbers below 4",
        ),
        (one("num_partitions=5000", "f32[2]", "copy(x)"), "a number from 1 to 1024"),
        (one("replica_count=1000, num_partitions=1000", "f32[2]", "copy(x)"), "1024 devices at most"),
        (one(four, "f32[2]", "ragged-all-to-all(x), replica_groups={{0,1,2,3}}"), "recv_sizes are needed"),
        (one(four, "(f32[2], token[])", "infeed(x)"), "opcode `infeed` is not supported: what it exchanges"),
        (one(four, "f32[2]", "rng(x, x), distribution=rng_uniform"), "opcode `rng` is not supported: its bits"),
    ] {
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        let has_a_place = ["line 11, ", "line 1, "].iter().any(|place| error.starts_with(place));
        assert!(has_a_place && error.contains(why), "{error}");
    }
}

/// Places of devices are quotients by the sizes of a mesh, also of one that no sharding names.
#[test]
fn each_axis_of_a_mesh_has_a_device() {
    let cut = |meshes: &str| {
        std::fs::read_to_string(place("psum.before.hlo")).unwrap().replace(r#"mesh = #sdy.mesh<["x"=4]>"#, meshes)
    };
    let four = r#"mesh = #sdy.mesh<["x"=4]>"#;
    assert!(lower(&parse(&cut(four)).unwrap()).is_ok());
    for (meshes, why) in [
        (r#"mesh = #sdy.mesh<["x"=0, "y"=4]>"#.to_string(), "mesh `mesh` has no device along `x`"),
        (r#"mesh = #sdy.mesh<["x"=4, "y"=0]>"#.to_string(), "mesh `mesh` has no device along `y`"),
        (format!(r#"{four}, other = #sdy.mesh<["z"=0]>"#), "mesh `other` has no device along `z`"),
        (r#"mesh = #sdy.mesh<["x"=4294967296, "y"=4294967296]>"#.to_string(), "more than 18446744073709551615 devices"),
    ] {
        let error = lower(&parse(&cut(&meshes)).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("line 1, ") && error.contains(why), "{error}");
    }
}

/// An argument may be given once for all devices, or for each; and `show` says how many there are.
#[test]
fn arguments_are_given_for_all_or_for_each() {
    let scratch = |name: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("devices-{name}"));
    let (inputs, out) = (scratch("in.safetensors"), scratch("out.safetensors"));
    let ulpgate = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_ulpgate")).arg("hlo").args(arguments).output().unwrap();
        (run.status.code().unwrap(), String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap())
    };
    let program = place("psum.compiled.hlo");
    let program = program.to_str().unwrap();
    let row = |x: f32| Tensor::new(&[1, 37], Data::F32(vec![x; 37]));
    let eval = |tensors: &[(&str, Tensor)]| {
        let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
        safetensors::write(&inputs, &tensors).unwrap();
        ulpgate(&["eval", program, "--inputs", inputs.to_str().unwrap(), "--out", out.to_str().unwrap()])
    };
    assert_eq!(eval(&[("arg0", row(1.0)), ("arg0@2", row(5.0))]).1, "out0 f32[1,37]\n");
    assert_eq!(safetensors::read(&out).unwrap()[0].1.data().get_f64(3), 8.0);
    let (code, _, error) = eval(&[("arg0@2", row(5.0))]);
    assert_eq!(code, 2);
    assert!(error.contains("arg0@0 is missing, which must be f32[1,37], or arg0 for all devices"), "{error}");
    let (code, _, error) = eval(&[("arg0", row(1.0)), ("arg0@4", row(5.0))]);
    assert!(code == 2 && error.contains("arg0@4 is more than the program takes"), "{error}");
    let (code, text, _) = ulpgate(&["show", program]);
    assert_eq!(code, 0);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("4 devices: what differs between them stands once for each"), "{text}");
    assert!(text.contains("param.1@3"), "{text}");
}

/// The first sends one row to itself and two to the second, the second three to the first, all behind each other; what
/// nobody sends stays. From `jax.lax.ragged_all_to_all`.
#[test]
fn rows_are_exchanged_by_their_sizes() {
    let text = "HloModule m, num_partitions=2, is_scheduled=true\nENTRY main {\n  x = f32[4,2] parameter(0)\n  y = f32[5,2] \
                parameter(1)\n  i = s32[2] parameter(2)\n  n = s32[2] parameter(3)\n  o = s32[2] parameter(4)\n  m = s32[2] \
                parameter(5)\n  ROOT r = f32[5,2] ragged-all-to-all(x, y, i, n, o, m), channel_id=1, replica_groups={{0,1}}\n}\n";
    let import = import(text);
    let rows = |values: [f32; 4]| Data::F32(values.iter().flat_map(|v| [*v, -v]).collect());
    let numbers = |values: [i32; 2]| Tensor::new(&[2], Data::S32(values.to_vec()));
    let of = |argument: &str, device: usize| match argument {
        "arg0" => Tensor::new(&[4, 2], rows([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]][device])),
        "arg1" => Tensor::new(&[5, 2], Data::F32(vec![0.5; 10])),
        "arg2" => numbers([[0, 1], [1, 0]][device]),
        "arg3" => numbers([[1, 2], [3, 0]][device]),
        "arg4" => numbers([[0, 3], [1, 0]][device]),
        _ => numbers([[1, 3], [2, 0]][device]),
    };
    let given: Vec<Tensor> = import
        .argument_names
        .iter()
        .map(|name| name.split_once('@').map(|(argument, device)| of(argument, device.parse().unwrap())).unwrap())
        .collect();
    let firsts: Vec<Vec<f64>> = results(&import, &given)
        .iter()
        .map(|tensor| (0..5).map(|row| tensor.data().get_f64(2 * row)).collect())
        .collect();
    assert_eq!(firsts, [[1.0, 6.0, 7.0, 8.0, 0.5], [0.5, 0.5, 0.5, 2.0, 3.0]]);
}

/// The output of `hlo show` of a program.
fn show(name: &str, text: &str, more: &[&str]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.hlo"));
    std::fs::write(&path, text).unwrap();
    let shown =
        Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(["hlo", "show"]).arg(&path).args(more).output().unwrap();
    assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
    String::from_utf8(shown.stdout).unwrap()
}

/// Instructions and operands of a program, and the characters that `show` prints of it, for people and as JSON.
fn work(text: &str) -> [usize; 3] {
    let import = ulpgate::hlo::lower_with_opaque(&ulpgate::hlo::parse(text).unwrap()).unwrap();
    let entry = import.program.entry();
    let shown = |more: &[&str]| show(&format!("work-{}", text.len()), text, more).len();
    let operands = entry.instructions.iter().map(|instruction| 1 + instruction.operands.len()).sum();
    [operands, shown(&[]), shown(&["--json"])]
}

/// Two arrays with the same five users: the second names the first for them. A list of four is short enough to stand twice.
#[test]
fn a_list_of_many_users_stands_once() {
    let shown = |users: usize| {
        let list = |one: &dyn Fn(usize) -> String, between: &str| (0..users).map(one).collect::<Vec<_>>().join(between);
        let text = format!(
            "HloModule m\nENTRY main {{\n a = f32[8] parameter(0)\n b = f32[8] parameter(1)\n{}\n ROOT t = ({}) \
             tuple({})\n}}\n",
            list(&|i| format!(" r{i} = f32[8] multiply(a, b)"), "\n"),
            list(&|_| "f32[8]".to_string(), ", "),
            list(&|i| format!("r{i}"), ", ")
        );
        show(&format!("users-{users}"), &text, &[])
    };
    let [four, five] = [4, 5].map(shown);
    assert_eq!([&four, &five].map(|text| text.matches("r0 (multiply)").count()), [2, 1], "{four}{five}");
    assert!(five.contains("f32 -> the 5 readers of a\n") && !four.contains("readers of"), "{four}{five}");
}

/// Twice the devices are twice the work, and no more: of an exchange between all devices, and of one that is not understood.
#[test]
fn work_grows_with_the_devices_and_not_with_their_square() {
    let ragged = |sizes: usize, n: usize, sent: &str| {
        format!(
            "HloModule m, num_partitions={n}\nENTRY main {{\n x = bf16[128] parameter(0)\n y = bf16[256] parameter(1)\n \
             i = s64[{sizes}] parameter(2)\n c = s64[{sizes}] parameter(3)\n o = s64[{sizes}] parameter(4)\n \
             m = s64[{sizes}] parameter(5)\n p = u32[] partition-id()\n f = bf16[] convert(p)\n \
             b = bf16[128] broadcast(f), dimensions={{}}\n d = bf16[128] add(x, b)\n \
             ROOT r = bf16[256] ragged-all-to-all({sent}, y, i, c, o, m), channel_id=1, \
             replica_groups=[1,{n}]<=[{n}]\n}}\n"
        )
    };
    let programs: [&dyn Fn(usize) -> String; 4] = [
        &|n| {
            format!(
                "HloModule m, num_partitions={n}\nENTRY main {{\n x = f32[1024,4] parameter(0)\n ROOT r = f32[1024,4] \
                 all-to-all(x), channel_id=1, replica_groups=[1,{n}]<=[{n}], dimensions={{0}}\n}}\n"
            )
        },
        &|n| ragged(n, n, "x"),
        // Each sends another array, which every device may read.
        &|n| ragged(n, n, "d"),
        // Several sizes for each device are not supported, here of what is another array on each.
        &|n| ragged(2 * n, n, "d"),
    ];
    for program in programs {
        let [few, many] = [16, 64].map(|n| work(&program(n)));
        for (what, (few, many)) in
            ["operands", "characters", "characters of JSON"].iter().zip(few.into_iter().zip(many))
        {
            assert!(many < 5 * few, "{what}: {few} of 16 devices, {many} of 64\n{}", program(16));
        }
    }
}

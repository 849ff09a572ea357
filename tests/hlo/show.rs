//! The precision flow of real files: what `ulpgate hlo show` must say of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use ulpgate::analysis::Precision;
use ulpgate::flow::{self, Effect, Finding, FindingKind, Flow, Shape, Value};
use ulpgate::hlo::{lower, parse};
use ulpgate::machine::Mode;

use super::diff::settings::counted;
use super::processor_time::least_seconds;

const F32: Precision = Precision::bits(23, 8);
const BF16: Precision = Precision::bits(7, 8);

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo")
}

const COMPILERS: [&str; 3] = ["xla-cpu/default/cpu", "v5e/default/gpu", "v5e/default/tpu"];

/// The flow of a file below `tests/data/hlo`, named without `.hlo`.
fn shown_in(name: &str, modes: &[&str]) -> Flow {
    let text = fs::read_to_string(data().join(format!("{name}.hlo"))).unwrap();
    let module = parse(&text).unwrap();
    let modes: Vec<Mode> = modes.iter().map(|mode| mode.parse().unwrap()).collect();
    flow::flow(&lower(&module).unwrap(), module.is_compiled(), &modes)
}

fn shown(name: &str) -> Flow {
    let modes: &[&str] = if name.contains("before") { &COMPILERS } else { &[] };
    shown_in(name, modes)
}

/// Without a mode those compilers are asked that this build emulates, and those that only rewrite; of a compiled file none.
#[test]
fn compilers_are_asked_about_a_file_that_is_not_compiled() {
    let asked = |name: Option<&str>, compiled| -> Vec<String> {
        flow::compilers(name, compiled).unwrap().iter().map(Mode::to_string).collect()
    };
    assert_eq!(asked(None, false), COMPILERS);
    assert!(asked(None, true).is_empty());
    assert_eq!(asked(Some("cpu/f32/off"), true), ["cpu/f32/off"]);
    assert!(flow::compilers(Some("cpu/f32"), false).is_err());
}

fn with_role<'a>(flow: &'a Flow, role: &str) -> Vec<&'a Value> {
    flow.values.iter().filter(|v| v.role.as_deref() == Some(role)).collect()
}

fn value<'a>(flow: &'a Flow, name: &str) -> &'a Value {
    flow.values.iter().find(|v| v.name == name).unwrap()
}

fn finding<'a>(flow: &'a Flow, kind: FindingKind, role: &str) -> Option<&'a Finding> {
    flow.findings.iter().find(|f| f.kind == kind && f.role.as_deref() == Some(role))
}

/// (precision, what the readers are) of a finding, widest first.
fn views(finding: &Finding) -> Vec<(Precision, Vec<&str>)> {
    finding.views.iter().map(|v| (v.holds, v.what.iter().map(String::as_str).collect())).collect()
}

/// (mode, rule, value, reader) of each rounding that a compiler drops.
fn removed(flow: &Flow) -> Vec<[&str; 4]> {
    let removed = flow.elisions.iter().filter(|e| e.effect == Effect::RoundingRemoved);
    removed.map(|e| [e.mode.as_str(), e.rule, &e.value, e.reader.as_deref().unwrap()]).collect()
}

#[test]
fn prob_max_on_v5e_sums_what_its_argmax_does_not_see() {
    let flow = shown("tpu/v5e/prob_max.excess_on");
    assert!(flow.compiled);
    let quotient = finding(&flow, FindingKind::TwoViews, "softmax quotient").unwrap();
    assert_eq!(quotient.values, ["convert_reduce_fusion/div.2.clone.1"]);
    assert_eq!(quotient.op_name.as_deref(), Some("jit(prob_max)/div"));
    assert_eq!(views(quotient), [(F32, vec!["f32 sum"]), (BF16, vec!["result", "argmax"])]);
    assert_eq!(quotient.views[1].rounded_by, ["convert_reduce_fusion/convert.6"]);
    assert_eq!(quotient.text, "the sum and the argmax do not see the same value.");
    assert_eq!(quotient, &flow.findings[0], "a choice comes first");
    // Each fusion computes the exponential for itself: one copy is rounded, the other is not.
    let exponential = finding(&flow, FindingKind::TwoViews, "softmax exponential").unwrap();
    assert_eq!(exponential.values.len(), 2);
    assert_eq!(views(exponential), [(F32, vec!["divide"]), (BF16, vec!["bf16 sum"])]);
    assert_eq!(exponential.text, "the softmax quotient and the softmax denominator do not see the same value.");
    let narrow = finding(&flow, FindingKind::NarrowSum, "softmax denominator").unwrap();
    assert_eq!(narrow.values, ["fusion.1/reduce.9"]);
    let [denominator] = with_role(&flow, "softmax denominator")[..] else { panic!() };
    let accumulation = denominator.accumulation.as_ref().unwrap();
    assert_eq!((accumulation.dtype.as_str(), accumulation.terms), ("bf16", 1024));
    assert_eq!(denominator.reads[0].holds.unwrap().name(), "bf16");
    let total = value(&flow, "convert_reduce_fusion/reduce_sum.6");
    assert_eq!(total.accumulation.as_ref().unwrap().dtype, "f32");
    assert_eq!(total.reads[0].holds.unwrap().name(), "f32");
}

#[test]
fn with_excess_off_tpu_values_are_bf16_in_f32() {
    for chip in ["v5e", "v4", "v6e"] {
        let flow = shown(&format!("tpu/{chip}/prob_max.excess_off"));
        // All that is left to say: the denominator is added in f32 and stored as bf16.
        let [denominator] = &flow.findings[..] else { panic!("{chip}: {:?}", flow.findings) };
        assert_eq!((denominator.kind, views(denominator)), (FindingKind::RoundedAway, vec![(BF16, vec!["divide"])]));
        for role in ["softmax shift", "softmax exponential", "softmax quotient"] {
            for value in with_role(&flow, role) {
                assert_eq!(value.dtype, Some("f32"));
                for one in &value.uses {
                    assert_eq!(one.holds.unwrap().name(), "bf16", "{chip}: {} for {}", value.name, one.reader);
                    assert!(one.rounded_by.as_ref().unwrap().contains("reduce-precision"));
                }
            }
        }
        let kept = flow.values.iter().filter(|v| v.opcode == "reduce-precision");
        assert!(kept.clone().count() >= 5);
        assert!(kept.clone().all(|v| v.is_narrow_in_wide() && v.rounds_to.unwrap().name() == "bf16"));
        for denominator in with_role(&flow, "softmax denominator") {
            assert_eq!(denominator.accumulation.as_ref().unwrap().dtype, "f32");
        }
    }
}

#[test]
fn rules_of_each_compiler_are_named() {
    let flow = shown("tpu/v5e/prob_max.before");
    assert!(!flow.compiled);
    let [cpu, gpu, tpu] = COMPILERS;
    let mut expected = vec![
        [cpu, "B", "exp.1", "reduce_sum.14"],
        [cpu, "B", "div.7", "reduce_max.15"],
        [cpu, "B", "div.7", "reduce_sum.15"],
        [gpu, "B", "div.7", "reduce_max.15"],
        [gpu, "B", "div.7", "reduce_sum.15"],
        [tpu, "A", "sub.7", "exp.1"],
        [tpu, "A", "exp.1", "div.7"],
        [tpu, "B", "div.7", "reduce_max.15"],
        [tpu, "B", "div.7", "reduce_sum.15"],
    ];
    let mut found = removed(&flow);
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    let narrowed: Vec<_> = flow.elisions.iter().filter(|e| e.effect == Effect::Narrowed).collect();
    let [sum] = narrowed[..] else { panic!("{narrowed:?}") };
    assert_eq!((sum.mode.as_str(), sum.rule, sum.value.as_str()), (tpu, "narrowing", "reduce_sum.14"));
    assert_eq!([sum.from, sum.to].map(Precision::name), ["f32", "bf16"]);
    // The conversion that the source writes is named.
    let through = flow.elisions.iter().find(|e| e.value == "exp.1" && e.mode == cpu).unwrap();
    assert_eq!(through.conversions, ["convert_element_type.4"]);
}

#[test]
fn a_chip_with_native_bf16_has_nothing_to_elide_there() {
    let flow = shown_in("tpu/tpu7x/prob_max.before", &["tpu7x/default/tpu"]);
    assert_eq!(removed(&flow), [[""; 4]; 0]);
    assert_eq!(shown_in("tpu/tpu7x/prob_max.before", &["tpu7x/default/off"]).elisions, []);
    let compiled = shown("tpu/tpu7x/prob_max.excess_on");
    assert!(finding(&compiled, FindingKind::TwoViews, "softmax quotient").is_none());
    assert!(with_role(&compiled, "softmax quotient").iter().all(|v| v.dtype == Some("bf16")));
}

/// The rules, asked of the source, foretell who sees the quotient wide and who sees it stored in the compiled file.
#[test]
fn what_is_foretold_is_what_the_compiler_does() {
    let before = shown_in("tpu/v5e/prob_max.before", &["v5e/default/tpu"]);
    let foretold = finding(&before, FindingKind::TwoViewsIfCompiled, "softmax quotient").unwrap();
    let compiled = shown("tpu/v5e/prob_max.excess_on");
    let done = finding(&compiled, FindingKind::TwoViews, "softmax quotient").unwrap();
    for (at, what) in [(0, "f32 sum"), (1, "argmax"), (1, "result")] {
        assert!(foretold.views[at].what.iter().any(|w| w == what), "{}", foretold.text);
        assert!(done.views[at].what.iter().any(|w| w == what), "{}", done.text);
    }
    let cpu = shown_in("cpu/prob_max.before", &["xla-cpu/default/cpu"]);
    let foretold = finding(&cpu, FindingKind::TwoViewsIfCompiled, "softmax quotient").unwrap();
    let compiled = shown("cpu/prob_max.excess_on");
    let done = finding(&compiled, FindingKind::TwoViews, "softmax quotient").unwrap();
    for finding in [foretold, done] {
        let mut wide = views(finding)[0].1.clone();
        wide.sort_unstable();
        assert_eq!(wide, ["f32 sum", "max"]);
        assert!(views(finding)[1].1.contains(&"argmax"));
    }
    assert!(shown("cpu/prob_max.excess_off").findings.iter().all(|f| f.kind == FindingKind::RoundedAway));
}

/// The same for the exponential of every softmax: on TPUs its quotient is wide and its sum narrow, on CPUs the reverse.
#[test]
fn who_sees_a_wide_exponential_is_foretold() {
    for program in ["softmax_bf16", "prob_max", "head_softmax", "top_p"] {
        for (folder, mode, wide) in [
            ("cpu", "xla-cpu/default/cpu", "softmax denominator"),
            ("tpu/v4", "v4/default/tpu", "softmax quotient"),
            ("tpu/v5e", "v5e/default/tpu", "softmax quotient"),
            ("tpu/v6e", "v6e/default/tpu", "softmax quotient"),
        ] {
            let before = shown_in(&format!("{folder}/{program}.before"), &[mode]);
            let after = shown(&format!("{folder}/{program}.excess_on"));
            let foretold = finding(&before, FindingKind::TwoViewsIfCompiled, "softmax exponential").unwrap();
            let done = finding(&after, FindingKind::TwoViews, "softmax exponential").unwrap();
            for finding in [foretold, done] {
                let seen = &finding.views[0];
                assert_eq!(seen.holds.name(), "f32");
                assert!(seen.roles.iter().all(|r| r.as_deref() == Some(wide)), "{folder}/{program}: {finding:?}");
            }
        }
    }
}

/// Modes that are asked together are foretold as each alone is.
#[test]
fn roundings_of_one_mode_are_none_of_another() {
    let modes = ["v5e/default/tpu", "xla-cpu/default/cpu"];
    for program in ["prob_max", "head_softmax", "attention_decode"] {
        let foretold = |modes: &[&str]| -> BTreeSet<(String, String)> {
            let flow = shown_in(&format!("tpu/v5e/{program}.before"), modes);
            let found = flow.findings.iter().filter(|found| found.kind == FindingKind::TwoViewsIfCompiled);
            let of_mode = |found: &Finding| {
                let told = format!("{:?} {:?}", found.values, found.views);
                found.modes.iter().map(|mode| (mode.clone(), told.clone())).collect::<Vec<_>>()
            };
            found.flat_map(of_mode).collect()
        };
        let alone: BTreeSet<(String, String)> = modes.iter().flat_map(|mode| foretold(&[mode])).collect();
        assert_eq!(foretold(&modes), alone, "{program}");
        assert!(modes.iter().all(|mode| alone.iter().any(|(of, _)| of == mode)), "{program}: {alone:?}");
    }
}

#[test]
fn affine_greedy_chooses_from_values_that_it_does_not_store() {
    let flow = shown("tpu/v5e/affine_greedy.excess_on");
    let recomputed = flow.findings.iter().find(|f| f.kind == FindingKind::TwoViews).unwrap();
    assert_eq!(recomputed.values.len(), 3);
    assert_eq!(views(recomputed), [(F32, vec!["argmax", "argmax"]), (BF16, vec!["result"])]);
    assert!(recomputed.text == "the argmax and the stored result do not see the same value.");
    let off = shown("tpu/v5e/affine_greedy.excess_off");
    assert!(off.findings.iter().all(|f| f.kind != FindingKind::TwoViews));
    let cpu = shown("cpu/affine_greedy.excess_on");
    let two = cpu.findings.iter().find(|f| f.kind == FindingKind::TwoViews).unwrap();
    assert!(two.text == "not every argmax sees the same value.", "{}", two.text);
}

/// On tpu7x with excess precision one fusion of `top_p` computes the softmax in f32 and compares it with a threshold
/// that another fusion rounded: where rounding raised the threshold, the mask drops its own top token (FACTS 1.5).
#[test]
fn top_p_on_tpu7x_compares_across_precisions() {
    let flow = shown("tpu/tpu7x/top_p.excess_on");
    let mixed = flow.findings.iter().find(|f| f.kind == FindingKind::MixedCompare).unwrap();
    assert_eq!(mixed.values, ["iota_reduce_fusion/ge.18"]);
    assert_eq!(mixed.text, "compares iota_reduce_fusion/div.8 in f32 with and_select_fusion/select_n.51 in bf16.");
    let quotient = finding(&flow, FindingKind::TwoViews, "softmax quotient").unwrap();
    assert_eq!(quotient.text, "not every comparison sees the same value.");
    // One copy is rounded by a conversion, the others by their type.
    let by = &quotient.views[1].rounded_by;
    assert!(by.contains(&"iota_reduce_fusion/convert.6".to_string()) && by.contains(&"fusion.2/div.16".to_string()));
    assert_eq!(by.len(), 4);
    for chip in ["v4", "v5e", "v6e"] {
        let flow = shown(&format!("tpu/{chip}/top_p.excess_on"));
        assert!(flow.findings.iter().all(|f| f.kind != FindingKind::MixedCompare), "{chip}");
        let quotient = finding(&flow, FindingKind::TwoViews, "softmax quotient").unwrap();
        assert_eq!(quotient.text, "the sort and the comparison do not see the same value as the stored result.");
    }
}

/// The narrowing of FACTS 9: an f32 denominator in the source, a bf16 one on every TPU, an f32 one with the flag off.
#[test]
fn tpus_narrow_the_softmax_denominator() {
    for (program, role) in [("softmax_bf16", "softmax denominator"), ("log_softmax_bf16", "log_softmax denominator")] {
        for chip in ["v4", "v5e", "v6e", "tpu7x"] {
            let in_stage = |stage: &str| shown_in(&format!("tpu/{chip}/{program}.{stage}"), &[]);
            for (stage, added_in) in [("before", "f32"), ("excess_on", "bf16"), ("excess_off", "f32")] {
                let flow = in_stage(stage);
                let [denominator] = with_role(&flow, role)[..] else { panic!("{chip} {program}.{stage}") };
                let sum = denominator.accumulation.as_ref().unwrap();
                assert_eq!((sum.dtype.as_str(), sum.terms), (added_in, 1024), "{chip} {program}.{stage}");
                let narrow = finding(&flow, FindingKind::NarrowSum, role).is_some();
                let away = finding(&flow, FindingKind::RoundedAway, role).is_some();
                assert_eq!((narrow, away), (added_in == "bf16", added_in == "f32"), "{chip} {program}.{stage}");
            }
        }
        let foretold = shown_in(&format!("tpu/v5e/{program}.before"), &["v5e/default/tpu"]);
        assert!(finding(&foretold, FindingKind::NarrowSumIfCompiled, role).is_some(), "{program}");
    }
}

#[test]
fn roundings_by_an_operation_s_own_type_are_named_after_it() {
    // An argmax over f32 operands with a bf16 result: the file has no conversion.
    let flow = shown("tpu/v5e/affine_greedy.excess_on");
    let argmax = value(&flow, "iota_reduce_fusion.1/reduce.10.14");
    let stored = argmax.uses.iter().find(|u| u.reader == "out1").unwrap();
    assert_eq!(stored.rounded_by.as_deref(), Some(argmax.name.as_str()));
}

#[test]
fn a_maximum_in_tiles_is_one_softmax() {
    let flow = shown("cpu/attention_decode.excess_on");
    let softmax = flow.groups.iter().find(|g| g.shape == Shape::Softmax).unwrap();
    assert_eq!(softmax.values.len(), 8);
    assert_eq!(with_role(&flow, "softmax maxima of tiles").len(), 1);
}

#[test]
fn a_drawing_marks_what_the_text_says() {
    let line = |dot: &str, start: &str| {
        let start = format!("[label=\"{start}\\n");
        dot.lines().find(|l| l.contains(&start)).unwrap_or_else(|| panic!("{start} in {dot}")).to_string()
    };
    let compiled = flow::dot(&shown("tpu/v5e/prob_max.excess_on"), false);
    let quotient = line(&compiled, "div.2.clone.1");
    assert!(quotient.contains("softmax quotient") && quotient.contains("color=\"#c0392b\""), "{quotient}");
    assert!(quotient.contains("fillcolor=\"#aed6f1\""), "f32 is blue: {quotient}");
    let stored = line(&compiled, "convert.6");
    assert!(stored.contains("fillcolor=\"#f9e79f\"") && !stored.contains("peripheries"), "bf16 is yellow: {stored}");
    let source = flow::dot(&shown("tpu/v5e/prob_max.before"), false);
    assert!(
        line(&source, "exp.1").contains("peripheries=2") && !line(&source, "reduce_max.14").contains("peripheries")
    );
    assert!(line(&source, "reduce_max.15").contains("holds bf16"));
}

#[test]
fn groups_are_recognised_on_every_compiler() {
    let expected: [(&str, &[Shape]); 6] = [
        ("prob_max", &[Shape::Softmax, Shape::Argmax]),
        ("softmax_bf16", &[Shape::Softmax]),
        ("top_p", &[Shape::Softmax, Shape::Sort, Shape::Cumsum, Shape::Argmax]),
        ("greedy_head", &[Shape::Argmax]),
        ("affine_greedy", &[Shape::Argmax]),
        ("log_softmax_bf16", &[Shape::LogSoftmax]),
    ];
    for (program, shapes) in expected {
        for folder in ["cpu", "tpu/v5e", "tpu/tpu7x"] {
            for stage in ["before", "excess_on", "excess_off"] {
                let flow = shown(&format!("{folder}/{program}.{stage}"));
                for shape in shapes {
                    let found = flow.groups.iter().filter(|g| g.shape == *shape).count();
                    assert!(found >= 1, "{folder}/{program}.{stage}: {shape:?} in {:?}", flow.groups);
                }
                let softmaxes = flow.groups.iter().filter(|g| g.shape == Shape::Softmax);
                assert!(softmaxes.clone().all(|g| g.values.len() >= 5), "{folder}/{program}.{stage}");
                assert!(softmaxes.count() <= 1, "copies belong to one softmax: {folder}/{program}.{stage}");
            }
        }
    }
    let blocked = shown("tpu/v5e/top_p.excess_on");
    let cumsum = blocked.groups.iter().find(|g| g.shape == Shape::Cumsum).unwrap();
    assert_eq!(cumsum.values.len(), 4);
}

#[test]
fn dots_and_sums_say_what_they_accumulate_in() {
    let head = shown("tpu/v5e/greedy_head.excess_on");
    let dot = value(&head, "fusion/convolution.1");
    let accumulation = dot.accumulation.as_ref().unwrap();
    assert_eq!((accumulation.dtype.as_str(), accumulation.terms, dot.dtype), ("f32", 256, Some("bf16")));
    let top_p = shown("cpu/top_p.before");
    let cumsum = with_role(&top_p, "cumsum")[0];
    assert_eq!(cumsum.accumulation.as_ref().unwrap().dtype, "f32");
    assert_eq!(cumsum.reads[0].holds.unwrap().name(), "bf16");
}

fn reference_files() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["cpu", "tpu/v4", "tpu/v5e", "tpu/v6e", "tpu/tpu7x"] {
        for entry in fs::read_dir(data().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            names.extend(name.strip_suffix(".hlo").map(|stem| format!("{folder}/{stem}")));
        }
    }
    names.sort();
    names
}

/// Attention scales by 1/8: a conversion to bf16 behind it drops nothing, so its readers do agree.
#[test]
fn scaling_by_a_power_of_two_is_no_rounding() {
    let flow = shown("tpu/v5e/attention_decode.excess_on");
    let scaled: Vec<&Value> =
        flow.values.iter().filter(|v| v.opcode == "multiply" && v.name.contains("/mul.")).collect();
    assert_eq!(scaled.len(), 3);
    assert!(scaled.iter().all(|v| v.is_narrow_in_wide() && !v.computes));
    assert_eq!(value(&flow, "fusion.5/convert.18").rounds_to, None);
    let about: Vec<_> = flow.findings.iter().filter(|f| f.kind == FindingKind::TwoViews).collect();
    assert!(about.iter().all(|f| f.role.as_deref() == Some("softmax exponential")), "{about:?}");
}

/// Every reference file, on the way one look at what must hold of each output.
#[test]
fn every_reference_file_is_shown() {
    let names = reference_files();
    assert_eq!(names.len(), 315);
    for name in names {
        let flow = shown(&name);
        let text = flow::text(&flow, false);
        for line in text.lines() {
            assert!(line.chars().count() <= 100 || !line.trim().contains(' '), "{name}: {line}");
        }
        // Each float has a line, but for those that are made of constants alone or that only move.
        let has_line = |value: &Value| {
            let short = value.fusion.as_deref().and_then(|f| value.name.strip_prefix(f)?.strip_prefix('/'));
            text.lines().any(|line| line.starts_with(&format!("  {} ", short.unwrap_or(&value.name))))
        };
        let (listed, unlisted): (Vec<&Value>, Vec<&Value>) = flow.values.iter().partition(|v| has_line(v));
        assert!(!listed.is_empty(), "{name}");
        let is_listed = |of: &str| listed.iter().any(|v| v.name == of);
        for value in unlisted.into_iter().filter(|v| v.computes && v.holds.is_some()) {
            assert!(value.reads.iter().all(|read| !is_listed(&read.value)), "{name}: {} is missing", value.name);
        }
        flow::text(&flow, true);
        let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&flow).unwrap()).unwrap();
        assert_eq!(json["values"].as_array().unwrap().len(), flow.counts.values, "{name}");
        drawn(&name, &flow, false);
        drawn(&name, &flow, true);
        // What is said of a reading is said of the value read.
        for value in &flow.values {
            for read in &value.reads {
                let source = flow.values.iter().find(|v| v.name == read.value).unwrap();
                assert!(source.uses.iter().any(|u| u.reader == value.name && u.holds == read.holds), "{name}");
            }
        }
    }
}

/// The drawing is one graph of balanced braces whose edges join nodes that it has.
fn drawn(name: &str, flow: &Flow, all: bool) {
    let text = flow::dot(flow, all);
    assert!(text.starts_with("digraph \"") && text.ends_with("}\n"), "{name}");
    let (mut depth, mut nodes, mut edges, mut clusters) = (0i32, Vec::new(), 0, 0);
    for line in text.lines().map(str::trim) {
        if line.ends_with('{') {
            depth += 1;
            clusters += i32::from(line.starts_with("subgraph cluster_"));
        } else if line == "}" {
            depth -= 1;
        } else if let Some((from, to)) = line.split_once(" -> ") {
            let to = to.split([' ', ';']).next().unwrap();
            assert!(nodes.contains(&from) && nodes.contains(&to), "{name}: {line}");
            edges += 1;
        } else if let Some((node, _)) = line.split_once(" [label=") {
            assert!(line.ends_with("];") && line.contains("fillcolor=\"#"), "{name}: {line}");
            nodes.push(node);
        }
    }
    assert_eq!(depth, 0, "{name}");
    assert!(!nodes.is_empty() && edges > 0, "{name}");
    let fusions: std::collections::BTreeSet<_> =
        flow.values.iter().filter(|v| all || !v.uses.is_empty()).filter_map(|v| v.fusion.as_deref()).collect();
    assert!(clusters >= fusions.len() as i32, "{name}");
}

#[test]
fn the_text_of_prob_max_reads_well() {
    let text = flow::text(&shown("tpu/v5e/prob_max.excess_on"), false);
    for line in [
        "  1. softmax quotient, jit(prob_max)/div: the sum and the argmax do not see the same value.",
        "       value  convert_reduce_fusion/div.2.clone.1",
        "       f32    -> convert_reduce_fusion/reduce_sum.6 (f32 sum)",
        "  div.2.clone.1              divide          f32[8,1024]        f32          softmax quotient",
        "      f32 -> reduce_sum.6 (f32 sum)",
        "      bf16 (convert.6) -> result out0, iota_reduce_fusion/reduce.8 (argmax)",
        "  reduce.9                   bf16 sum        bf16[8]            bf16 rounded softmax denominator",
        "      bf16 -> convert_reduce_fusion/div.2.clone.1",
        "  fusion.1/reduce.9: 1024 terms in bf16; of fusion.1/exp.5 (bf16); seen in bf16",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\nis missing in\n{text}");
    }
    // Sentences break where a line ends.
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        "bf16 -> result out0, iota_reduce_fusion/reduce.8 (argmax); rounded by convert_reduce_fusion/convert.6",
        "adds 1024 numbers in bf16. Hardware may add in f32 and round once: the file does not say.",
    ] {
        assert!(flat.contains(sentence), "{sentence}\nis missing in\n{text}");
    }
    // What is remarkable comes before the listing.
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing in\n{text}"));
    assert!(at("\nFindings\n") < at("\nRecognised\n") && at("\nRecognised\n") < at("\nFlow\n"));
    let all = flow::text(&shown("tpu/v5e/prob_max.excess_on"), true);
    assert!(!text.contains("\n  convert.6 ") && all.contains("\n  convert.6 "));
}

#[test]
fn the_text_of_a_source_has_a_table_of_rules() {
    let text = flow::text(&shown("tpu/v5e/softmax_bf16.before"), false);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [
        "value -> reader cpu gpu tpu",
        "exp.1 -> reduce_sum.7 through convert_element_type.2 f32, not bf16 B - -",
        "sub.7 -> exp.1 f32, not bf16 - - A",
        "exp.1 -> div.7 f32, not bf16 - - A",
        "reduce_sum.7 bf16, not f32 - - narrowing",
        "Roundings by a conversion that no rule drops: convert_element_type.3",
    ] {
        assert!(rows.iter().any(|r| r.join(" ") == row), "{row}\nis missing in\n{text}");
    }
}

/// The facts of a file about a function's code stand below its line.
#[test]
fn an_accuracy_and_packed_code_are_shown() {
    let shown = |text: &str| flow::text(&flow::flow(&lower(&parse(text).unwrap()).unwrap(), true, &[]), false);
    let packed = shown(&counted(3));
    assert_eq!(packed.matches("      packed code of bf16 (tpu7x, FACTS 3.3)\n").count(), 2, "{packed}");
    assert!(!shown(&counted(2)).contains("packed"));
    let asked = "HloModule m\nENTRY e {\n  x = f32[4] parameter(0)\n  \
        ROOT y = f32[4] exponential(x), result_accuracy={mode=highest}\n}\n";
    let flat = shown(asked).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("result_accuracy={mode=highest} (the more accurate implementation on v2, v3, v4,"), "{flat}");
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).output().unwrap()
}

/// Shows a text as a file; the exit code and what stands on standard error.
fn run_on(text: &str) -> (i32, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("shown.hlo");
    fs::write(&path, text).unwrap();
    let output = run(&["hlo", "show", path.to_str().unwrap()]);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_command_shows_or_says_why_not() {
    let file = data().join("tpu/v5e/prob_max.before.hlo");
    let file = file.to_str().unwrap();
    let shown = run(&["hlo", "show", file]);
    assert_eq!(shown.status.code(), Some(0));
    assert!(String::from_utf8(shown.stdout).unwrap().contains("Roundings that compilers may drop or add"));
    let json = run(&["hlo", "show", "--json", "--mode", "v5e/default/tpu", file]);
    assert_eq!(json.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["modes"], serde_json::json!(["v5e/default/tpu"]));
    assert_eq!(json["counts"]["elidable"], 4);
    let field = |list: &str, name: &str| json[list][0].get(name).is_some();
    assert!(field("values", "holds") && field("groups", "shape") && field("findings", "text"));
    assert!(field("elisions", "rule"));
    let dot = run(&["hlo", "show", "--dot", file]);
    assert!(dot.status.success() && dot.stdout.starts_with(b"digraph"));

    let one_line = |error: &str| error.starts_with("ulpgate: ") && error.ends_with('\n') && error.lines().count() == 1;
    let missing = run(&["hlo", "show", "no/such/file.hlo"]);
    assert_eq!(missing.status.code(), Some(2));
    let error = String::from_utf8(missing.stderr).unwrap();
    assert!(one_line(&error) && error.contains("no/such/file.hlo"), "{error}");
    let unknown = run(&["hlo", "show", "--mode", "v5e/default/tpx", file]);
    assert_eq!(unknown.status.code(), Some(2));
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert!(one_line(&error) && error.contains("unknown excess policy `tpx`"), "{error}");

    let both = run(&["hlo", "show", "--json", "--dot", file]);
    assert_eq!(both.status.code(), Some(2));
    let (code, error) = run_on("");
    assert!(code == 2 && one_line(&error) && error.contains("shown.hlo: "), "{error}");

    let (code, error) = run_on("HloModule m\n\nENTRY main {\n  x = f32[2] parameter(0\n}\n");
    assert!(code == 2 && one_line(&error) && error.contains("shown.hlo: line 5, column 1: "), "{error}");
    let unsupported = "HloModule m\n\nENTRY main {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] cholesky(x)\n}\n";
    let (code, error) = run_on(unsupported);
    assert!(code == 2 && one_line(&error), "{error}");
    assert!(error.contains("shown.hlo: line 5, column ") && error.contains("opcode `cholesky`"), "{error}");
}

/// `reduce-precision` guards, formats other than bf16, and comparisons across precisions, in a file made by hand.
#[test]
fn guards_and_mixed_comparisons_are_seen() {
    let text = "HloModule guards

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[4] parameter(0)
  y = f16[4] parameter(1)
  square = f32[4] multiply(x, x)
  guard = f32[4] reduce-precision(square), exponent_bits=8, mantissa_bits=7
  wide = f32[4] convert(y)
  half = f32[4] negate(wide)
  keep = pred[4] compare(square, guard), direction=GE
  zero = f32[] constant(0)
  total = f32[] reduce(guard, zero), dimensions={0}, to_apply=add
  ROOT all = (pred[4], f32[], f32[4]) tuple(keep, total, half)
}
";
    let module = parse(text).unwrap();
    let modes = ["v5e/default/tpu".parse().unwrap()];
    let flow = flow::flow(&lower(&module).unwrap(), module.is_compiled(), &modes);
    assert_eq!(value(&flow, "guard").rounds_to.unwrap().name(), "bf16");
    assert_eq!(value(&flow, "half").holds.unwrap().name(), "f16");
    // No rule crosses a guard.
    assert_eq!(flow.elisions, []);
    let mixed = flow.findings.iter().find(|f| f.kind == FindingKind::MixedCompare).unwrap();
    assert_eq!(
        (mixed.values[0].as_str(), mixed.text.as_str()),
        ("keep", "compares square in f32 with square in bf16.")
    );
    let square = flow.findings.iter().find(|f| f.kind == FindingKind::TwoViews).unwrap();
    assert_eq!(views(square), [(F32, vec!["compare GE"]), (BF16, vec!["compare GE", "f32 sum"])]);
}

#[test]
fn programs_without_floats_and_loops_say_so() {
    let shown = |text: &str| {
        let module = parse(text).unwrap();
        flow::text(&flow::flow(&lower(&module).unwrap(), module.is_compiled(), &[]), false)
    };
    let integers = "HloModule ints\n\nENTRY main {\n  x = s32[4] parameter(0)\n  ROOT y = s32[4] add(x, x)\n}\n";
    assert_eq!(shown(integers), "ints (not yet compiled): no value is a float\n");
    let text = "HloModule loops

cond {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT lt = pred[] compare(i, n), direction=LT
}

body {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = bf16[] convert(v)
  w = f32[] convert(h)
  ROOT t = (s32[], f32[]) tuple(j, w)
}

ENTRY main {
  zero = s32[] constant(0)
  x = f32[] parameter(0)
  init = (s32[], f32[]) tuple(zero, x)
  loop = (s32[], f32[]) while(init), condition=cond, body=body
  y = f32[] get-tuple-element(loop), index=1
  ROOT z = bf16[] convert(y)
}
";
    let text = shown(text);
    assert!(text.contains("\nNot looked into: what is inside loop.\n"), "{text}");
    assert!(text.contains("bf16 (z) -> result out0"), "{text}");
}

/// Text about each of many equal results, about each user of one value and about values without users grows with their number,
/// not with its square.
#[test]
fn a_flow_is_linear_in_results_and_readers() {
    const N: usize = 4000;
    let results = |line: &dyn Fn(usize) -> String, root: &str| {
        let body: String = (0..N).map(line).collect();
        format!(
            "HloModule m\n\nENTRY e {{\n  x = f32[8]{{0}} parameter(0)\n  v = bf16[8]{{0}} convert(x)\n{body}  {root}\n}}\n"
        )
    };
    let shapes = vec!["f32[8]{0}"; N].join(", ");
    let names: Vec<String> = (0..N).map(|at| format!("r{at}")).collect();
    let tuple = format!("ROOT t = ({shapes}) tuple({})", names.join(", "));
    let equal = |at: usize| {
        format!(
            "  m{at} = f32[8]{{0}} add(x, x)\n  d{at} = bf16[8]{{0}} convert(m{at})\n  r{at} = f32[8]{{0}} convert(d{at})\n"
        )
    };
    let reader = |at: usize| format!("  u{at} = f32[8]{{0}} convert(v)\n  r{at} = f32[8]{{0}} exponential(u{at})\n");
    for (what, text) in [
        ("results", results(&equal, &tuple)),
        ("readers", results(&reader, &tuple)),
        ("dead", results(&equal, "ROOT t = f32[8]{0} negate(x)")),
    ] {
        let module = parse(&text).unwrap();
        let modes: Vec<Mode> = COMPILERS.iter().map(|mode| mode.parse().unwrap()).collect();
        let flow = flow::flow(&lower(&module).unwrap(), false, &modes);
        let copies: usize = flow.values.iter().map(|value| value.copies.len()).sum();
        assert!(copies <= 2 * N, "{what}: {copies} names of copies");
        let text = flow::text(&flow, false);
        assert!(text.len() < 1000 * N, "{what}: {} bytes of text", text.len());
    }
}

/// The table of roundings that rules drop takes time in proportion to its lines.
#[test]
fn the_table_of_dropped_roundings_is_linear() {
    let seconds = |count: usize| {
        let line = |at: usize| {
            let before = if at == 0 { "x".to_string() } else { format!("b{}", at - 1) };
            format!(
                "  a{at} = bf16[8]{{0}} exponential({before})\n  c{at} = bf16[8]{{0}} negate(a{at})\n  \
                 b{at} = bf16[8]{{0}} add(a{at}, c{at})\n"
            )
        };
        let body: String = (0..count).map(line).collect();
        let last = format!("ROOT r = bf16[8]{{0}} exponential(b{})", count - 1);
        let text = format!("HloModule m\n\nENTRY e {{\n  x = bf16[8]{{0}} parameter(0)\n{body}  {last}\n}}\n");
        let modes: Vec<Mode> = COMPILERS.iter().map(|mode| mode.parse().unwrap()).collect();
        let flow = flow::flow(&lower(&parse(&text).unwrap()).unwrap(), false, &modes);
        assert!(flow.elisions.len() >= count, "{}", flow.elisions.len());
        least_seconds(|| assert!(!flow::text(&flow, false).is_empty()))
    };
    let (few, many) = (seconds(500), seconds(4000));
    // Eight times the lines: quadratic time would be 64 times as long.
    assert!(many < 24.0 * few, "{few} s for 500, {many} s for 4000");
}

/// A concatenation of many values for many readers is a reader of its own, which sees each value as those behind it do; one of few
/// values hands them on to its readers.
#[test]
fn an_exchange_is_a_reader_that_sees_what_those_behind_it_see() {
    let flow_of = |count: usize| {
        let sent =
            |at: usize| format!("  x{at} = f32[4]{{0}} parameter({at})\n  v{at} = f32[4]{{0}} exponential(x{at})\n");
        let sent: String = (0..count).map(sent).collect();
        let names: Vec<String> = (0..count).map(|at| format!("v{at}")).collect();
        let reader = |at: usize| {
            format!("  c{at} = bf16[{0}]{{0}} convert(j)\n  r{at} = bf16[{0}]{{0}} negate(c{at})\n", 4 * count)
        };
        let readers: String = (0..count)
            .map(|at| reader(at) + &format!("  e{at} = bf16[{}]{{0}} exponential(r{at})\n", 4 * count))
            .collect();
        let shapes = vec![format!("bf16[{}]{{0}}", 4 * count); count].join(", ");
        let results: Vec<String> = (0..count).map(|at| format!("e{at}")).collect();
        let text = format!(
            "HloModule m\n\nENTRY e {{\n{sent}  l = f32[4]{{0}} log(v0)\n  j = f32[{}]{{0}} \
             concatenate({}), dimensions={{0}}\n{readers}  ROOT t = (f32[4]{{0}}, {shapes}) tuple(l, {})\n}}\n",
            4 * count,
            names.join(", "),
            results.join(", ")
        );
        flow::flow(&lower(&parse(&text).unwrap()).unwrap(), false, &[])
    };
    let seen = |flow: &Flow, name: &str| -> Vec<(String, Option<Precision>)> {
        value(flow, name).uses.iter().map(|one| (one.reader.clone(), one.holds)).collect()
    };
    let many = flow_of(9);
    assert_eq!(seen(&many, "v0"), [("l".to_string(), Some(F32)), ("j".to_string(), Some(BF16))]);
    assert_eq!(seen(&many, "v8"), [("j".to_string(), Some(BF16))]);
    assert_eq!(value(&many, "v8").uses[0].rounded_by.as_deref(), Some("c0"));
    assert_eq!(value(&many, "j").reads.len(), 9);
    assert_eq!(seen(&many, "j"), (0..9).map(|at| (format!("e{at}"), Some(BF16))).collect::<Vec<_>>());
    let disagree = |flow: &Flow| flow.findings.iter().find(|f| f.values == ["v0"]).map(|f| f.kind);
    assert_eq!(disagree(&many), Some(FindingKind::TwoViews));
    let few = flow_of(8);
    assert_eq!(disagree(&few), Some(FindingKind::TwoViews));
    assert_eq!(seen(&few, "v1"), (0..8).map(|at| (format!("e{at}"), Some(BF16))).collect::<Vec<_>>());
    assert!(value(&few, "j").passage && value(&few, "j").uses.is_empty());
}

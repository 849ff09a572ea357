use super::{Known, treatment};
use crate::ir::{ResultAccuracy, Setting};
use crate::{lower, parse};

/// The settings of the value `y` of a file whose entry this is.
fn settings(line: &str) -> Vec<Setting> {
    let text = format!("HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  ROOT y = f32[4] {line}\n}}\n");
    let import = lower(&parse(&text).unwrap()).unwrap();
    let entry = import.program.entry();
    let root = &entry.instructions[entry.root];
    let found = entry.instructions.iter().find(|i| i.name == "y").unwrap_or(root);
    found.settings.as_deref().unwrap_or_default().to_vec()
}

#[test]
fn an_accuracy_is_read_and_the_default_is_none() {
    let of = |text: &str| settings(&format!("exponential(x), result_accuracy={text}"));
    assert_eq!(of("{mode=default}"), []);
    assert_eq!(of("{mode=highest}"), [Setting::Accuracy(ResultAccuracy::Highest)]);
    let tolerance = ResultAccuracy::Tolerance { atol: 0, rtol: 0.5f64.to_bits(), ulps: 2 };
    assert_eq!(of("{tolerance={atol=0,rtol=0.5,ulps=2}}"), [Setting::Accuracy(tolerance)]);
    // Of another form it is kept as it stands.
    assert!(matches!(&of("{mode=fastest}")[..], [Setting::Other { name, .. }] if name == "result_accuracy"));
    assert_eq!(settings("add(x, x), result_accuracy={mode=default}").len(), 1);
}

#[test]
fn what_no_name_is_known_of_is_kept_wherever_it_stands() {
    let other = |name: &str, value: &str| Setting::Other { name: name.to_string(), value: value.to_string() };
    assert_eq!(settings("negate(x), colour=red"), [other("colour", "red")]);
    assert_eq!(settings("copy(x), dimensions={0}"), [other("dimensions", "{0}")]);
    assert_eq!(settings("copy(x), metadata={op_name=\"a\" speed=7}"), [other("metadata.speed", "7")]);
    assert_eq!(settings("copy(x), frontend_attributes={a.b=\"c,d\"}"), [other("frontend_attributes.a.b", "\"c,d\"")]);
    assert_eq!(settings("copy(x), backend_config={\"k\":{\"b\":1}}"), [other("backend_config.k", "{\"b\":1}")]);
    assert_eq!(
        settings("copy(x), backend_config={\"window_config\":{\"is_mask\":true,\"z\":[]}}"),
        [other("backend_config.window_config.z", "[]")]
    );
    assert_eq!(settings("bitcast(x), colour=red"), [other("colour", "red")]);
    // Settings that decide no bit, and plans of instructions that compute nothing.
    for line in
        ["copy(x), sharding={replicated}", "negate(x), backend_config={\"retry_config\":{\"retry_count\":\"1\"}}"]
    {
        assert_eq!(settings(line), [], "{line}");
    }
    let count = "backend_config={\"bf16_mapped_op_count\":{\"integer\":\"2\"}}";
    assert_eq!(settings(&format!("negate(x), {count}")), [], "the record of each operation has it");
    let plan = "backend_config={\"integer_config\":{\"integer\":\"8\"}}";
    assert_eq!(settings(&format!("reshape(x), {plan}")), []);
    assert_eq!(settings(&format!("negate(x), {plan}")).len(), 1);
}

/// The settings of the parts of a fusion with this body, under a plan.
fn planned(body: &str) -> usize {
    let text = format!(
        "HloModule m\nadd {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, b)\n}}\n\
         sub {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT c = s32[] subtract(a, b)\n}}\n\
         f {{\n  p = f32[4,8] parameter(0)\n  i = s32[4] parameter(1)\n  three = s32[] constant(3)\n  \
         threes = s32[4] broadcast(three), dimensions={{}}\n  k = s32[4] and(i, threes)\n  {body}\n}}\n\
         ENTRY e {{\n  x = f32[4,8] parameter(0)\n  j = s32[4] parameter(1)\n  ROOT r = s32[4] fusion(x, j), kind=kCustom, calls=f, \
         backend_config={{\"integer_config\":{{\"integer\":\"8\"}}}}\n}}\n"
    );
    let import = lower(&parse(&text).unwrap()).unwrap();
    import.program.entry().instructions.iter().filter(|i| i.settings.is_some()).count()
}

#[test]
fn a_plan_decides_nothing_of_integers_in_their_places() {
    assert_eq!(planned("ROOT m = s32[4] add(k, i)"), 0);
    let marked = "c = s32[4] custom-call(k), custom_call_target=\"GatherScatterIndicesBitpacked\"\n  ROOT m = s32[4] multiply(c, i)";
    assert_eq!(planned(marked), 0);
    let sum = "z = s32[] constant(0)\n  s = s32[] reduce(k, z), dimensions={0}, to_apply=add\n  ROOT m = s32[4] broadcast(s), dimensions={}";
    assert_eq!(planned(sum), 0, "a sum of integers has no order");
    for body in [
        "g = f32[4] convert(k)\n  ROOT m = s32[4] convert(g)",
        "z = s32[] constant(0)\n  s = s32[] reduce(k, z), dimensions={0}, to_apply=sub\n  ROOT m = s32[4] broadcast(s), dimensions={}",
        "q = f32[4,1] slice(p), slice={[0:4], [0:1]}\n  v = f32[4] reshape(q)\n  ROOT m = s32[4] convert(v)",
    ] {
        assert_ne!(planned(body), 0, "{body}");
    }
}

#[test]
fn attributes_are_known_by_name() {
    assert_eq!(treatment(&"gather".into(), "offset_dims"), Known::Followed);
    assert_eq!(treatment(&"rng".into(), "distribution"), Known::Followed);
    assert_eq!(treatment(&"compare".into(), "order"), Known::Followed);
    assert_eq!(treatment(&"scatter".into(), "unique_indices"), Known::Kept);
    assert!(matches!(treatment(&"add".into(), "control-predecessors"), Known::Harmless(_)));
    assert_eq!(treatment(&"add".into(), "offset_dims"), Known::Kept);
}

/// jax 0.12 asks `topk` for it: ties by the lower index, which it gives anyway.
#[test]
fn a_stable_top_k_is_the_plain_one() {
    let of = |more: &str| {
        let text = format!(
            "HloModule m\nENTRY e {{\n  x = f32[4] parameter(0)\n  ROOT y = (f32[2], s32[2]) topk(x), k=2, largest=true{more}\n}}\n"
        );
        let import = lower(&parse(&text).unwrap()).unwrap();
        let entry = import.program.entry();
        entry.instructions.iter().flat_map(|i| i.settings.as_deref().unwrap_or_default().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(of(", is_stable=true"), of(""));
    let unstable = Setting::Other { name: "is_stable".to_string(), value: "false".to_string() };
    let kept = of(", is_stable=false");
    assert!(!kept.is_empty() && kept.iter().all(|setting| *setting == unstable), "{kept:?}");
}

/// The opcodes of the instructions that import marks as packed, of a fusion with this count.
fn packed(count: &str) -> Vec<&'static str> {
    let text = format!(
        "HloModule m, is_scheduled=true\nf {{\n  p = bf16[512,128] parameter(0)\n  n = bf16[512,128] negate(p)\n  \
         e = bf16[512,128] exponential(n)\n  ROOT d = bf16[512,128] divide(e, p)\n}}\n\
         ENTRY e {{\n  x = bf16[512,128] parameter(0)\n  ROOT r = bf16[512,128] fusion(x), kind=kLoop, calls=f, \
         backend_config={{\"bf16_mapped_op_count\":{{\"integer\":\"{count}\"}}}}\n}}\n"
    );
    let import = lower(&parse(&text).unwrap()).unwrap();
    import.program.entry().instructions.iter().filter(|i| i.is_packed()).map(|i| i.op.opcode()).collect()
}

#[test]
fn a_fusion_that_counts_all_its_operations_in_bf16_is_packed() {
    assert_eq!(packed("3"), ["exponential", "divide"]);
    // Which two of three is not known, and zero are those of no fusion in it.
    assert_eq!((packed("2"), packed("0")), (vec![], vec![]));
}

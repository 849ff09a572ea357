//! Promises of the registry of checks.

use std::fmt::Write;

use ulpgate::check::{CHECKS, Context, PlanFault, Settings, column, judge_of};

use super::{Bench, none};

/// Settings that suites may set, columns that reports show, and figures that summaries add up.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn checks_say_what_they_take_and_show() {
    let mut said = String::new();
    for check in CHECKS {
        let figures: Vec<String> =
            check.figures().iter().map(|figure| format!("{} {}", figure.name, figure.unit.name())).collect();
        writeln!(said, "{}: {:?} -> {figures:?}, {:?}", check.name(), check.settings(), check.row_count()).unwrap();
        let parts: Vec<usize> =
            ["Asks: ", " Why it matters: ", " Fails when: "].iter().filter_map(|part| check.doc().find(part)).collect();
        assert!(parts.len() == 3 && parts.is_sorted() && parts[0] == 0, "{}: {}", check.name(), check.doc());
    }
    let expected = r#"
agreement: ["against", "allowance", "output"] -> ["differing elements", "differing_rows rows", "max_difference output"], Some("differing_rows")
bound: ["declared", "output"] -> ["error_over_bound 1", "error_over_probable_bound 1", "beyond_bound elements"], None
criterion: ["against", "declared"] -> ["over_limit 1"], None
divergence: ["output"] -> ["diverged rows", "first_divergence tokens", "mean_divergence tokens", "median_divergence tokens"], Some("diverged")
drift: ["metric", "slope", "output"] -> ["drift_slope 1", "drift_low 1", "drift_high 1"], None
dropped_token: ["output", "allowance"] -> ["lost rows", "lost_share_low 1", "lost_share_high 1", "flips rows", "rounding_ties rows", "exact_ties rows", "least_margin_ulp ulp"], Some("lost")
growth: ["metric", "slope"] -> ["slope 1"], None
margin: ["allowance"] -> ["tied_tops rows", "margin_quarter ulp", "margin_median ulp", "margin_three_quarters ulp", "margin_largest ulp"], Some("tied_tops")
nucleus: ["allowance"] -> ["all_kept rows", "rows_beyond rows", "kept_extra tokens", "kept_lost tokens", "truth_kept tokens"], Some("rows_beyond")
overflow: ["output"] -> ["overflows elements", "underflows elements", "rows_out rows"], Some("rows_out")
permitted: ["against", "output"] -> ["proven rows", "reachable rows", "guards 1"], Some("reachable")
ratio: ["against", "output", "allowance"] -> ["mean_log_ratio nat", "max_log_ratio nat", "ratios_beyond_0.001 1", "ratios_beyond_0.01 1"], None
recall: [] -> ["recall_observed 1", "recall_expected 1", "recall_z 1", "bins bins", "broken_rows rows"], None
same: ["against"] -> ["inputs_tried 1"], None
self_consistency: [] -> ["inconsistent rows"], Some("inconsistent")
ties: ["output", "equals"] -> ["misplaced rows"], Some("misplaced")
"#;
    assert_eq!(said.trim(), expected.trim());
    let all = Settings {
        metric: Some("max_ulp".into()),
        slope: Some(0.5),
        output: Some("token".into()),
        against: Some("alone".into()),
        program: None,
        allowance: Some(0.1),
        equals: Some(vec![1, -2]),
        declared: Some("high".into()),
    };
    let given: Vec<String> = all.list().into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    let expected = [
        "metric=max_ulp",
        "slope=0.5",
        "output=token",
        "against=alone",
        "allowance=0.1",
        "equals=1 -2",
        "declared=high",
    ];
    assert_eq!(given, expected);
    assert_eq!(
        (column("lost", None), column("lost", Some("output=token"))),
        ("lost".into(), "lost[output=token]".into())
    );
    let (spec, mode) = ("argmax".parse().unwrap(), "cpu/f32/off".parse().unwrap());
    let bench = Bench::new("argmax", 1, "cpu/f32/off", "normal");
    let context = Context { spec: &spec, n: 1, mode: &mode, program: &bench.program };
    let refused = |check: &str, settings: &Settings| judge_of(check, settings, &context).err().unwrap();
    assert_eq!(refused("growth", &none()), PlanFault::Series.into());
    assert_eq!(refused("grwoth", &none()), PlanFault::Unknown.into());
    // A setting at fault is named; a program that does not fit blames none.
    let tokens = Settings { output: Some("tokens".to_string()), ..none() };
    let against = Settings { against: Some("cpu/f32/of".to_string()), ..none() };
    let declared = Settings { declared: Some("hihg".to_string()), ..none() };
    assert_eq!(refused("ties", &tokens).setting, Some("output"));
    assert_eq!(refused("agreement", &against).setting, Some("against"));
    assert_eq!(refused("agreement", &none()).setting, None);
    assert_eq!(refused("bound", &declared).to_string(), "argmax has no float result");
    assert_eq!(refused("recall", &none()).to_string(), "argmax has no result `values`; it has token");
    assert!(none().list().is_empty());
}

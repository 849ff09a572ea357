//! Reasons why `ulpgate hlo diff` finds results equal or not, beside the changes that it tells.

use ulpgate_front::diff::{ChangeKind, Difference};
use ulpgate_front::hlo::Import;
use ulpgate_front::machine::Mode;
use ulpgate_front::machine::mxu::Accumulation;
use ulpgate_front::same::{Settings, computes_the_same};

/// An error of this program: it gives another result, of those that differ, although nothing that the machine follows was found to
/// change upstream of it.
pub(super) fn contradiction(found: &Difference, differing: &[usize], modes: [&Mode; 2]) -> Option<String> {
    let result = found
        .first_unreached(differing.iter().copied())
        .filter(|_| modes[0] == modes[1] && !shows_accuracy(found, modes[0]))?;
    let what = if found.decides_nothing() {
        format!("{} results differ, but nothing that the machine follows was found to change", differing.len())
    } else {
        format!("result {result} differs, but nothing that the machine follows was found to change upstream of it")
    };
    Some(format!("{what}: an error of ulpgate, please report it with both files, the inputs and the mode {}", modes[0]))
}

/// Elements of one program that are followed at most to say why results are equal.
const FOLLOWED: u64 = 1 << 24;

/// Whether an attribute that changed may show: where functions err within their bounds, the machine follows the accuracy that is asked
/// of them.
fn shows_accuracy(found: &Difference, mode: &Mode) -> bool {
    mode.vector_unit().perturbs() && found.changes.iter().any(|change| change.kind == ChangeKind::AttributeChanged)
}

/// Whether one machine computes both programs and follows nothing that was found to change.
fn follows_no_change(found: &Difference, modes: [&Mode; 2]) -> bool {
    found.decides_nothing() && modes[0] == modes[1] && !shows_accuracy(found, modes[0])
}

/// A reason for equal results.
pub(super) struct WhyEqual {
    /// The sentence.
    pub text: String,
    /// Whether it holds for all inputs.
    pub for_all_inputs: bool,
}

/// Why all results are equal, although something changed.
pub(super) fn why_equal(found: &Difference, [before, after]: [&Import; 2], modes: [&Mode; 2]) -> WhyEqual {
    let which = if found.changes.len() == 1 { "the change" } else { "each change" };
    if follows_no_change(found, modes) {
        let text = format!("the machine follows no attribute that changed, and runs both files alike in {}", modes[0]);
        return WhyEqual { text, for_all_inputs: true };
    }
    let settings = Settings { modes: modes.map(Mode::clone), budget: FOLLOWED, ..Settings::new(modes[0]) };
    // What is followed is the files as they stand, which a policy of excess precision would rewrite first. A program that is too
    // large to be followed, or has other arguments, leaves the answer open.
    let as_they_stand = modes.iter().all(|mode| mode.excess.name == "as-compiled");
    if as_they_stand && computes_the_same(before, after, &settings).unwrap_or(false) {
        let machine =
            if modes[0] == modes[1] { modes[0].to_string() } else { format!("{} and {}", modes[0], modes[1]) };
        let leaves = format!("{which} above leaves the bits of all results as they are in {machine}, for all inputs");
        let reservation = of_other_models(found, [before, after], &settings);
        return WhyEqual { text: leaves + &reservation, for_all_inputs: reservation.is_empty() };
    }
    let text = format!(
        "{which} above shows in no result for these inputs; other inputs may show it, and `ulpgate same` looks for such"
    );
    WhyEqual { text, for_all_inputs: false }
}

/// A reservation where a plan changed and the machine takes no plan into account: the models of a cut of K under which results may
/// change.
fn of_other_models(found: &Difference, [before, after]: [&Import; 2], settings: &Settings) -> String {
    let is_planned = found.changes.iter().any(|change| change.kind == ChangeKind::PlanChanged);
    if !is_planned || settings.modes.iter().any(|mode| mode.choices.acc != Accumulation::Block) {
        return String::new();
    }
    let parts = |model: &Accumulation| {
        let modes = settings.modes.clone().map(|mut mode| {
            mode.choices.acc = *model;
            mode
        });
        !computes_the_same(before, after, &Settings { modes, ..settings.clone() }).unwrap_or(false)
    };
    let models = [Accumulation::Running, Accumulation::Tiled].into_iter().filter(parts).map(|model| model.name());
    let models: Vec<String> = models.map(|name| format!("acc={name}")).collect();
    if models.is_empty() {
        return String::new();
    }
    format!("; what a cut of K does is not public, and with {} it is not shown that they stay", models.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::contradiction;
    use ulpgate_front::diff::{Change, ChangeKind, Difference};
    use ulpgate_front::machine::Mode;

    fn changed(kind: ChangeKind) -> Difference {
        let [name, before, after] = ["x", "a", "b"].map(str::to_string);
        Difference {
            changes: vec![Change { kind, name, op_name: None, before, after, of_unit: false }],
            ..Difference::default()
        }
    }

    #[test]
    fn results_that_differ_without_a_change_are_an_error_of_ulpgate() {
        let [v5e, v6e] = ["v5e", "v6e"].map(|chip| format!("{chip}/default/as-compiled").parse::<Mode>().unwrap());
        let nothing = Difference::default();
        let attribute = changed(ChangeKind::AttributeChanged);
        for found in [&nothing, &attribute] {
            let told = contradiction(found, &[0, 1], [&v5e, &v5e]).unwrap();
            assert!(
                told.contains("2 results differ") && told.contains("error of ulpgate") && told.contains("v5e"),
                "{told}"
            );
            assert_eq!(contradiction(found, &[], [&v5e, &v5e]), None);
            assert_eq!(contradiction(found, &[0, 1], [&v5e, &v6e]), None);
        }
        let unmatched = Difference { unmatched: [vec!["x".to_string()], vec![]], ..Difference::default() };
        for found in [changed(ChangeKind::Reordered), unmatched] {
            let found = Difference { reached: vec![true, false], ..found };
            assert_eq!(contradiction(&found, &[0], [&v5e, &v5e]), None);
            for differing in [&[1][..], &[0, 1]] {
                let told = contradiction(&found, differing, [&v5e, &v5e]).unwrap();
                assert!(told.starts_with("result 1 differs, but nothing") && told.contains("upstream of it"), "{told}");
            }
        }
    }
}

//! Calls that start before their operands are there: an update gives them.

use ulpgate::hlo::{lower, parse};
use ulpgate::machine::Mode;
use ulpgate::same::{Settings, Verdict, compare};
use ulpgate::tensor::{Data, Tensor};

use crate::worlds::{both, program};

/// A call of a call, whose operands are given where `$` stands in the start and in the update.
fn text(start: &str, update: &str) -> String {
    format!(
        "HloModule m, is_scheduled=true\n\n\
         inner {{\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n  ROOT r = f32[2] subtract(a, b)\n}}\n\n\
         outer {{\n  a = f32[2] parameter(0)\n  b = f32[2] parameter(1)\n  \
         s = ((f32[2], f32[2]), f32[2], u32[]) call-start(a, b), to_apply=inner\n  ROOT d = f32[2] call-done(s)\n}}\n\n\
         ENTRY e {{\n  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n  {start}\n  {update}\n  \
         ROOT r = f32[2] call-done(u)\n}}\n"
    )
}

const START: &str = "s = ((), (), (s32[1])) call-start(), async_execution_thread=\"sparsecore\", to_apply=outer";
const UPDATE: &str = "u = ((f32[2], f32[2]), f32[2]) call-update(s, y, x)";

fn refused(start: &str, update: &str) -> String {
    lower(&parse(&text(start, update)).unwrap()).unwrap_err().to_string()
}

#[test]
fn an_update_gives_a_call_its_operands() {
    let arguments = [[1.0f32, 2.0], [10.0, 30.0]].map(|values| Tensor::new(&[2], Data::F32(values.to_vec())));
    for (start, update) in [
        (START.to_string(), UPDATE.to_string()),
        (START.replace("call-start", "async-start").replace("to_apply", "calls"), UPDATE.replace("call-", "async-")),
        // An update without operands hands on what has started.
        (
            "s = ((f32[2], f32[2]), f32[2], u32[]) call-start(y, x), to_apply=outer".to_string(),
            "u = ((f32[2], f32[2]), f32[2], u32[]) call-update(s)".to_string(),
        ),
    ] {
        let found = both("v5e/default/as-compiled", &program(&text(&start, &update)), &arguments);
        assert_eq!(found, [[[9.0, 28.0]], [[9.0, 28.0]]], "{start}\n{update}");
    }
}

#[test]
fn updates_give_the_operands_that_are_missing() {
    let arguments = [[1.0f32, 2.0], [10.0, 30.0]].map(|values| Tensor::new(&[2], Data::F32(values.to_vec())));
    let one = "s = ((f32[2]), f32[2], u32[]) call-start(y), to_apply=outer";
    for (start, update) in [
        (one.to_string(), UPDATE.replace("(s, y, x)", "(s, x)")),
        (format!("{START}\n  t = ((f32[2]), f32[2]) call-update(s, y)"), UPDATE.replace("(s, y, x)", "(t, x)")),
    ] {
        let found = both("v5e/default/as-compiled", &program(&text(&start, &update)), &arguments);
        assert_eq!(found, [[[9.0, 28.0]], [[9.0, 28.0]]], "{start}\n{update}");
    }
}

#[test]
fn a_call_gets_its_operands_once() {
    let own = "s = ((f32[2]), f32[2], u32[]) call-start(x), to_apply=inner";
    let why = refused(own, UPDATE);
    assert!(why.contains("s gets 3 operands, and inner takes 2"), "{why}");
    let own = "s = ((f32[2], f32[2]), f32[2], u32[]) call-start(x, y), to_apply=inner";
    let why = refused(own, UPDATE);
    assert!(why.contains("s has all of its operands: those of an update have no meaning"), "{why}");
    let why = refused(START, "u = ((), (), (s32[1])) call-update(s)");
    assert!(why.contains("neither the start of the call nor an update gives it operands"), "{why}");
}

#[test]
fn an_unknown_attribute_of_the_start_belongs_to_the_call() {
    let one = "s = ((f32[2]), f32[2], u32[]) call-start(y), to_apply=outer";
    let between = "t = ((f32[2]), f32[2]) call-update(s, y)";
    for (start, update) in [
        (START.to_string(), UPDATE.to_string()),
        (one.to_string(), UPDATE.replace("(s, y, x)", "(s, x)")),
        (format!("{START}\n  {between}"), UPDATE.replace("(s, y, x)", "(t, x)")),
    ] {
        // The call has no use of its first operand, so that nothing else can carry the attribute to its result.
        let text = |start: &str| text(start, &update).replace("subtract(a, b)", "negate(b)");
        let read = |start: &str| lower(&parse(&text(start)).unwrap()).unwrap();
        let settings = Settings::new(&"v5e/default/as-compiled".parse::<Mode>().unwrap());
        let [plain, odd] = [read(&start), read(&format!("{start}, rounding=odd"))];
        assert!(matches!(compare(&plain, &plain, &settings).unwrap().verdict, Verdict::Same), "{start}");
        assert!(!matches!(compare(&plain, &odd, &settings).unwrap().verdict, Verdict::Same), "{start}");
    }
}

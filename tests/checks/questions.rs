//! Questions from code: subjects of every kind, and arguments from everywhere.

use tempfile::TempDir;
use ulpgate::check::{Outcome, Settings};
use ulpgate::file::safetensors;
use ulpgate::input::Binding;
use ulpgate::ir::{Builder, Op, Precision, Unary};
use ulpgate::machine::Mode;
use ulpgate::oracle::Oracle;
use ulpgate::record::Record;
use ulpgate::run::{CloseUp, Question, QuestionError, Silent};
use ulpgate::subject::{Call, Emulated, Failure, Function, Recorded, evaluate};
use ulpgate::tensor::{DType, Data, Tensor};

fn mode(text: &str) -> Mode {
    text.parse().unwrap()
}

fn figure(record: &Record, name: &str) -> f64 {
    record.figures.iter().find(|figure| figure.name == name).unwrap().value
}

/// A softmax of one's own: without the maximum taken out, and with one element wrong where that is asked for.
fn softmax(call: &Call, fault: f64) -> Result<Vec<Tensor>, Failure> {
    let x = &call.arguments[0];
    let width = x.dims()[1];
    let mut p = Vec::new();
    for row in x.data().to_f64s().chunks(width) {
        let e: Vec<f64> = row.iter().map(|v| v.exp()).collect();
        let sum: f64 = e.iter().sum();
        p.extend(e.iter().map(|e| e / sum));
    }
    p[width + 3] *= 1.0 + fault;
    Ok(vec![Tensor::new(x.dims(), Data::from_f64s(DType::F32, &p).ok_or("f32 is a float")?)])
}

#[test]
fn a_function_of_ones_own_is_judged() {
    let judged = |fault: f64| -> Result<Record, QuestionError> {
        Question::of("softmax[dtype=f32,rows=4]", 64)?
            .input("normal[scale=2]")?
            .subject(Function::new("mine", mode("cpu/highest/off"), move |call: &Call| softmax(call, fault)))
            .check("bound", Settings::default())?
            .metric("max_ulp")?
            .ask()
    };
    let sound = judged(0.0).unwrap();
    assert_eq!(sound.checks[0].outcome, Outcome::Pass);
    assert!(figure(&sound, "max_ulp") <= 0.5 + 1e-6, "{sound:?}");
    assert_eq!(sound.id(), "question/softmax[dtype=f32,rows=4]/mine/normal[scale=2]/64/0");
    let faulty = judged(1e-3).unwrap();
    assert_eq!(faulty.checks[0].outcome, Outcome::Finding);
    assert_eq!(faulty.worst.unwrap().index, 64 + 3);
}

#[test]
fn what_a_function_does_wrong_is_said() {
    let ask = |function: fn(&Call) -> Result<Vec<Tensor>, Failure>| {
        let question = Question::of("softmax[dtype=f32]", 8).unwrap();
        let subject = Function::new("mine", mode("cpu/highest/off"), function);
        question.subject(subject).metric("max_ulp").unwrap().ask().unwrap_err().to_string()
    };
    assert!(ask(|_| Err("out of memory".into())).ends_with("mine: out of memory"));
    let shape = ask(|_| Ok(vec![Tensor::new(&[1, 7], Data::F32(vec![0.0; 7]))]));
    assert!(shape.ends_with("mine gives f32[1,7] for result p, which is f32[1,8]"), "{shape}");
    let nothing = ask(|_| Ok(vec![]));
    assert!(nothing.ends_with("mine gives nothing for result p, which is f32[1,8]"), "{nothing}");
    let unknown = |error: Result<Question, QuestionError>| error.err().unwrap().to_string();
    assert!(unknown(Question::of("softmx", 8)).contains("did you mean `softmax`?"));
    assert!(unknown(Question::of("softmax", 8).unwrap().input("nomral")).contains("did you mean `normal`?"));
    assert!(unknown(Question::of("softmax", 8).unwrap().check("bond", Settings::default())).contains("`bound`"));
    assert!(unknown(Question::of("softmax", 8).unwrap().check("growth", Settings::default())).contains("series"));
    assert!(unknown(Question::of("softmax", 8).unwrap().metric("ulp")).contains("no metric `ulp`"));
}

/// Recorded results are judged row by row, in batches, and only for the arguments that they are of.
#[test]
fn recorded_results_are_judged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("results.safetensors");
    let question = || Question::of("keep_max[rows=64]", 512).unwrap().input("normal[scale=4]").unwrap();
    // What the emulated machine gives is what is recorded, and so are its arguments.
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&seen);
    let recorder = Function::new("recorder", mode("v5e/default/cpu"), move |call: &Call| {
        let results = evaluate(call.program, &mode("v5e/default/cpu"), call.arguments)?;
        log.lock().unwrap().push((call.first_row, call.arguments.to_vec(), results.clone()));
        Ok(results)
    });
    let check = |question: Question| question.check("dropped_token", Settings::default()).unwrap().ask();
    let live = check(question().subject(recorder)).unwrap();
    assert_eq!(live.checks[0].outcome, Outcome::Finding);
    let mut batches = std::mem::take(&mut *seen.lock().unwrap());
    batches.sort_by_key(|batch| batch.0);
    let stacked = |tensors: Vec<Tensor>| Tensor::stack(&tensors);
    let program = "keep_max[rows=64]".parse::<ulpgate::program::ProgramSpec>().unwrap().build(512, 64).unwrap();
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for (at, name) in program.output_names.iter().enumerate() {
        tensors.push((name.clone(), stacked(batches.iter().map(|batch| batch.2[at].clone()).collect())));
    }
    tensors.push(("arg0".to_string(), stacked(batches.iter().map(|batch| batch.1[0].clone()).collect())));
    safetensors::write(&path, &tensors).unwrap();
    let recorded = || Recorded::new(&path, &std::fs::read(&path).unwrap(), mode("v5e/default/cpu")).unwrap();
    let again = check(question().subject(recorded())).unwrap();
    assert_eq!(again.checks[0].evidence, live.checks[0].evidence);
    assert_eq!(again.key.subject, "results.safetensors as v5e/default/cpu");
    // Of other arguments, or of more rows, it says nothing.
    let other = check(question().seed(1).subject(recorded())).unwrap_err().to_string();
    assert!(other.contains("the results are those of another"), "{other}");
    let more = Question::of("keep_max[rows=65]", 512).unwrap().input("normal[scale=4]").unwrap();
    let more = check(more.subject(recorded())).unwrap_err().to_string();
    assert!(more.contains("holds no rows"), "{more}");
    // The argument's own name is as good as its number.
    let own = program.entry().instructions.iter().find(|i| matches!(i.op, Op::Parameter(0))).unwrap();
    tensors.last_mut().unwrap().0 = own.name.clone();
    safetensors::write(&path, &tensors).unwrap();
    assert!(check(question().subject(recorded())).is_ok());
    let other = check(question().seed(1).subject(recorded())).unwrap_err().to_string();
    assert!(other.contains(&format!("the results are those of another `{}`", own.name)), "{other}");
    let alone = Settings { against: Some("alone".to_string()), ..Settings::default() };
    let alone = question().subject(recorded()).check("agreement", alone).unwrap().ask().unwrap_err().to_string();
    assert!(alone.contains("only holds results"), "{alone}");
}

/// `x w` with x drawn and w bound.
fn affine() -> ulpgate::ir::Program {
    let mut b = Builder::new("affine");
    let x = b.parameter("x", DType::F32, &[4, 8]).unwrap();
    let w = b.parameter("w", DType::F32, &[8, 16]).unwrap();
    let y = b.matmul(x, w, Precision::Highest, DType::F32).unwrap();
    let y = b.unary(Unary::Tanh, y).unwrap();
    b.finish(&[("y", y)]).unwrap()
}

fn sees(question: Question) -> Vec<Tensor> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = std::sync::Arc::clone(&seen);
    let subject = Function::new("see", mode("cpu/highest/off"), move |call: &Call| {
        log.lock().unwrap().extend(call.arguments.to_vec());
        Ok(evaluate(call.program, &mode("cpu/highest/off"), call.arguments)?)
    });
    question.subject(subject).metric("max_ulp").unwrap().ask().unwrap();
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn arguments_are_bound_to_files_distributions_and_earlier_results() {
    let folder = TempDir::new().unwrap();
    let weights = Tensor::new(&[8, 16], Data::F32((0..128).map(|i| i as f32 / 64.0 - 1.0).collect()));
    safetensors::write(&folder.path().join("w.safetensors"), &[("layer.0".to_string(), weights.clone())]).unwrap();
    let bind = |name: &str, text: &str| {
        Question::about(affine()).unwrap().bind(name, Binding::parse(text, folder.path()).unwrap())
    };
    let plain = sees(Question::about(affine()).unwrap());
    for name in ["w", "arg1"] {
        let seen = sees(bind(name, "w.safetensors:layer.0"));
        assert_eq!(seen, [plain[0].clone(), weights.clone()], "what is not bound is drawn as before");
    }
    // A distribution of its own, and the emulated machine sees the same bits.
    let scaled = sees(bind("w", "normal[scale=0.25]"));
    let quarter = |t: &Tensor| t.data().to_f64s().iter().map(|v| v / 4.0).collect::<Vec<_>>();
    assert_eq!((&scaled[0], scaled[1].data().to_f64s()), (&plain[0], quarter(&plain[1])));
    let record = bind("w", "w.safetensors:layer.0").subject(Emulated(mode("cpu/highest/off"))).metric("max_ulp");
    let record = record.unwrap().ask().unwrap();
    assert!(figure(&record, "max_ulp") < 16.0);
    assert_eq!(record.key.input, "normal+w=w.safetensors:layer.0");
    // The first argument by rows: here all four of a larger file.
    let rows = Tensor::new(&[6, 8], Data::F32((0..48).map(|i| i as f32).collect()));
    safetensors::write(&folder.path().join("x.safetensors"), &[("x".to_string(), rows.clone())]).unwrap();
    assert_eq!(sees(bind("x", "x.safetensors:x"))[0], rows.rows(0..4));
    // An earlier result: here of a softmax of the same size.
    let earlier = sees(bind("x", "softmax[dtype=f32,rows=4]:p"));
    let sums: Vec<f32> = earlier[0].data().to_f32s().chunks(8).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
}

#[test]
fn bindings_that_do_not_fit_are_refused() {
    let folder = TempDir::new().unwrap();
    let wrong = Tensor::new(&[16, 8], Data::F32(vec![0.0; 128]));
    safetensors::write(&folder.path().join("w.safetensors"), &[("layer.0".to_string(), wrong)]).unwrap();
    let parse = |text: &str| Binding::parse(text, folder.path()).err().unwrap().to_string();
    assert!(parse("v.safetensors:layer.0").contains("failed to read it"));
    assert!(parse("w.safetensors:layer.1").contains("no such tensor; did you mean `layer.0`?"));
    assert!(parse("w.npy").contains("failed to read it"));
    assert!(parse("softmx:p").contains("did you mean `softmax`?"));
    assert!(parse("nomral").contains("did you mean `normal`?"));
    let ask = |name: &str, text: &str| {
        let question = Question::about(affine()).unwrap().bind(name, Binding::parse(text, folder.path()).unwrap());
        question.metric("max_ulp").unwrap().ask().unwrap_err().to_string()
    };
    let shape = ask("w", "w.safetensors:layer.0");
    assert!(shape.ends_with("argument `w` is f32[8,16], but is bound to f32[16,8]"), "{shape}");
    assert!(ask("v", "normal").contains("there is no argument `v` to bind; did you mean `w`?"));
    assert!(ask("x", "softmax[dtype=f32,rows=4]:q").contains("it has no result `q`"));
}

/// The same in a suite: an argument from a file, and recorded results beside the machine's.
#[test]
fn suites_bind_arguments_and_judge_recorded_results() {
    let folder = TempDir::new().unwrap();
    let x = Tensor::new(&[4, 8], Data::F32((0..32).map(|i| (i % 7) as f32 / 4.0).collect()));
    let program = "softmax[dtype=f32,rows=4]".parse::<ulpgate::program::ProgramSpec>().unwrap().build(8, 4).unwrap();
    let results = evaluate(&program, &mode("cpu/highest/off"), std::slice::from_ref(&x)).unwrap();
    let mut wrong = results[0].data().to_f32s();
    wrong[9] *= 1.01;
    let wrong = Tensor::new(&[4, 8], Data::F32(wrong));
    safetensors::write(&folder.path().join("x.safetensors"), &[("x".to_string(), x)]).unwrap();
    safetensors::write(&folder.path().join("wrong.safetensors"), &[("p".to_string(), wrong)]).unwrap();
    let matrix = "[[matrix]]\nprogram = [\"softmax[dtype=f32,rows=4]\"]\nchip = [\"cpu\"]\nprecision = [\"highest\"]\n\
        input = [\"normal\"]\nn = [8]\narguments = { arg0 = \"x.safetensors:x\" }\ncheck = [{ kind = \"bound\" }]\n";
    let load = |text: &str| {
        let path = folder.path().join("bound.toml");
        std::fs::write(&path, format!("claim = \"c\"\nwhy = \"w\"\nsource = \"s\"\n\n{text}")).unwrap();
        ulpgate::suite::load(&path)
    };
    let suite = load(&format!("{matrix}\n{matrix}recorded = [\"wrong.safetensors\"]\n")).unwrap();
    let (selection, settings) = (Default::default(), Default::default());
    let outcome = ulpgate::run::run(&[suite], &selection, &settings, None, &Silent).unwrap();
    let said: Vec<(String, Outcome)> = outcome.records.iter().map(|r| (r.id(), r.checks[0].outcome)).collect();
    let id = |subject: &str| format!("bound/softmax[dtype=f32,rows=4]/{subject}/normal+arg0=x.safetensors:x/8/0");
    let recorded = id("wrong.safetensors as cpu/highest/off");
    assert_eq!(said, [(id("cpu/highest/off"), Outcome::Pass), (recorded, Outcome::Finding)]);
    // What is wrong is said with its place.
    let error = |text: &str| load(text).err().unwrap().to_string();
    let missing = error(&matrix.replace("x.safetensors:x", "x.safetensors:y"));
    assert!(missing.contains("bound.toml:11:22") && missing.contains("no such tensor"), "{missing}");
    let unknown = error(&matrix.replace("arg0", "arg1"));
    assert!(unknown.contains("there is no argument `arg1` to bind"), "{unknown}");
    let unread = error(&format!("{matrix}recorded = [\"none.safetensors\"]\n"));
    assert!(unread.contains("bound.toml:13:13") && unread.contains("failed to read"), "{unread}");
}

/// Cases of one program share its truth, but not the type to which it is rounded: each has the figures that it has alone, whatever
/// the other asks for, and whichever comes first.
#[test]
fn a_figure_does_not_depend_on_the_type_that_another_case_asks_for() {
    let folder = TempDir::new().unwrap();
    let matrix = |chip: &str, rounded: &str| {
        format!(
            "\n[[matrix]]\nprogram = [\"softmax[rows=4]\"]\nchip = [\"{chip}\"]\nprecision = [\"highest\"]\n\
            input = [\"normal\"]\nn = [64]\nrounded = \"{rounded}\"\nmetric = [\"max_abs_error\"]\n"
        )
    };
    let error = |chip: &str, matrices: &[String]| -> f64 {
        let path = folder.path().join("shared.toml");
        std::fs::write(&path, format!("claim = \"c\"\nwhy = \"w\"\nsource = \"s\"\n{}", matrices.concat())).unwrap();
        let suite = ulpgate::suite::load(&path).unwrap();
        let outcome = ulpgate::run::run(&[suite], &Default::default(), &Default::default(), None, &Silent).unwrap();
        let own = outcome.records.iter().find(|record| record.id().contains(&format!("/{chip}/")));
        figure(own.unwrap(), "max_abs_error")
    };
    for (own, other) in [("f64", "stored"), ("stored", "f64")] {
        let alone = error("cpu", &[matrix("cpu", own)]);
        assert!(alone > 0.0 && alone != error("cpu", &[matrix("cpu", other)]), "{own}");
        let [own, other] = [matrix("cpu", own), matrix("v5e", other)];
        for both in [[own.clone(), other.clone()], [other, own]] {
            assert_eq!(error("cpu", &both), alone, "{both:?}");
        }
    }
}

/// Tokens are ranked by the scores of the truth: a program whose scores are wrong may rank its own as it likes.
#[test]
fn tokens_are_ranked_by_the_scores_of_the_truth() {
    let folder = TempDir::new().unwrap();
    let region = "greater {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  \
        d = s32[] parameter(3)\n  ROOT g = pred[] compare(a, b), direction=GT\n}\n";
    for operation in ["copy", "negate"] {
        let program = format!(
            "HloModule m\n{region}ENTRY e {{\n  x = f32[4,8] parameter(0)\n  z = f32[4,8] {operation}(x)\n  \
            at = s32[4,8] iota(), iota_dimension=1\n  \
            sorted = (f32[4,8], s32[4,8]) sort(z, at), dimensions={{1}}, to_apply=greater\n  \
            order = s32[4,8] get-tuple-element(sorted), index=1\n  first = s32[4,1] slice(order), slice={{[0:4], [0:1]}}\n  \
            token = s32[4] reshape(first)\n  ROOT r = (f32[4,8], s32[4]) tuple(z, token)\n}}\n"
        );
        std::fs::write(folder.path().join(format!("{operation}.hlo")), program).unwrap();
    }
    for (program, truth, lost) in
        [("copy", "copy", 0), ("copy", "negate", 4), ("negate", "copy", 4), ("negate", "negate", 0)]
    {
        let path = folder.path().join("ranked.toml");
        let matrix = format!(
            "[[matrix]]\nprogram = [\"{program}.hlo\"]\ntruth = \"{truth}.hlo\"\nresults = [\"logits\", \"token\"]\n\
            scores = \"logits\"\nchip = [\"v5e\"]\ninput = [\"normal\"]\nrows = [4]\n\n[[matrix.check]]\n\
            kind = \"dropped_token\"\noutput = \"token\"\nexpect = \"finding\"\nbecause = \"b\"\n"
        );
        std::fs::write(&path, format!("claim = \"c\"\nwhy = \"w\"\nsource = \"s\"\n\n{matrix}")).unwrap();
        let suite = ulpgate::suite::load(&path).unwrap();
        let outcome = ulpgate::run::run(&[suite], &Default::default(), &Default::default(), None, &Silent).unwrap();
        let note = &outcome.records[0].checks[0].note;
        assert!(note.starts_with(&format!("{lost} of 4 rows lost")), "{program} by {truth}: {note}");
    }
}

/// A program of a file takes its rows a few at a time: a row is looked at among those that it was evaluated with.
#[test]
fn a_close_up_has_the_row_that_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let program = "HloModule m\nENTRY e {\n  x = f32[2,4] parameter(0)\n  ROOT r = f32[2,4] exponential(x)\n}\n";
    std::fs::write(folder.path().join("p.hlo"), program).unwrap();
    let path = folder.path().join("rows.toml");
    let matrix = "[[matrix]]\nprogram = [\"p.hlo\"]\nchip = [\"v5e\"]\ninput = [\"normal\"]\nrows = [6]\nmetric = [\"max_ulp\"]\n";
    std::fs::write(&path, format!("claim = \"c\"\nwhy = \"w\"\nsource = \"s\"\n\n{matrix}")).unwrap();
    let suite = ulpgate::suite::load(&path).unwrap();
    let looked = (0..6).map(|row| CloseUp::of(&suite.cases[0], &Oracle::default(), row).unwrap().rows);
    assert_eq!(looked.collect::<Vec<_>>(), [0..2, 0..2, 2..4, 2..4, 4..6, 4..6]);
}

/// Only the first argument comes in rows: an array of another length is no other argument.
#[test]
fn an_array_of_another_length_is_refused() {
    for (rows, fits) in [(8, true), (9, false), (16, false)] {
        let tensor = Tensor::new(&[rows, 16], Data::F32(vec![0.5; rows * 16]));
        let question = Question::about(affine()).unwrap().metric("max_ulp").unwrap();
        let asked = question.bind("w", Binding::Given { text: "w".to_string(), tensor }).ask();
        assert_eq!(asked.is_ok(), fits, "{rows} rows");
        let told = asked.map_or_else(|error| error.to_string(), |_| String::new());
        let expected = format!("argument `w` is f32[8,16], but is bound to f32[{rows},16]");
        assert!(fits || told.ends_with(&expected), "{told}");
    }
}

/// Of several tokens of a row each is compared with the first, wherever it stands among the results.
#[test]
fn every_token_is_compared_with_the_first() {
    let program = || {
        let mut b = Builder::new("three");
        let x = b.parameter("x", DType::F32, &[2, 4]).unwrap();
        let first = Op::Slice { start: vec![0, 0], limit: vec![2, 1], stride: vec![1, 1] };
        let first = b.op(first, &[x]).unwrap();
        let column = b.reshape(first, &[2]).unwrap();
        let tokens = ["token", "greedy", "token_f32"].map(|name| (name, b.convert(column, DType::S32).unwrap()));
        b.finish(&tokens).unwrap()
    };
    let outcome = |tokens: [i32; 3]| {
        let results = move |_: &Call| Ok(tokens.map(|token| Tensor::new(&[2], Data::S32(vec![1, token]))).to_vec());
        let question = Question::about(program()).unwrap().subject(Function::new("mine", mode("cpu/f32/off"), results));
        question.check("self_consistency", Settings::default()).unwrap().ask().unwrap().checks[0].outcome
    };
    assert_eq!(outcome([2, 2, 2]), Outcome::Pass);
    for other in [[3, 2, 2], [2, 3, 2], [2, 2, 3]] {
        assert_eq!(outcome(other), Outcome::Finding, "{other:?}");
    }
}

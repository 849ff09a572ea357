//! `ulpgate probe`: designed questions for a machine, and the modes that its answers name.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use ulpgate_front::probe::{
    Answers, EmulatedAnswers, GroupOutcome, Identified, Pattern, Property, count_modes, identify, measure, questions,
    write_folder,
};

use super::seconds::Limit;
use super::{Exit, Failure};

#[derive(Args)]
#[command(
    after_help = "Two steps. `ulpgate probe --out DIR` writes a folder of a few kilobytes: inputs.npz, manifest.json, run_jax.py and \
    run_torch.py. Copy it to the machine and run one of the scripts there, which writes answers.npz. \
    `ulpgate probe --answers answers.npz` names the modes that give the same bits.\n\n\
    modes: the chips, precisions and refinements that give every answer; `|` joins values that no answer tells apart, and \
    `*` stands for all. groups: the same for each kind of question, so that where no mode gives all, it shows how far one does. \
    measured: properties read off the answers alone, true of machines that no mode describes.\n\n\
    Exit codes: 0 a mode gives every answer; 1 none does; 2 could not judge (a bad file)."
)]
pub struct ProbeArguments {
    /// Folder to write the questions and the scripts into
    #[arg(long, value_name = "DIR", required_unless_present = "answers", conflicts_with = "answers")]
    out: Option<PathBuf>,
    /// Answers that a script saved: .npz, or .safetensors with the questions' names; questions may be left out
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print what is named and measured as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

/// Writes the questions, or names the modes of answers.
pub fn run(arguments: &ProbeArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let questions = questions();
    if let Some(folder) = &arguments.out {
        let paths = write_folder(folder, &questions)?;
        if arguments.json {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            writeln!(out, "{:#}", json!({"questions": questions.len(), "files": paths}))?;
            return Ok(Exit::AsExpected);
        }
        for path in &paths {
            writeln!(out, "{}", path.display())?;
        }
        writeln!(
            out,
            "\nNext, on the machine in question, in this folder:\n  python run_jax.py          # or: python run_torch.py [cuda]\n\
             Then here:\n  ulpgate probe --answers answers.npz"
        )?;
        return Ok(Exit::AsExpected);
    }
    let Some(path) = &arguments.answers else {
        return Err(Failure::Message(
            "probe takes --out DIR or --answers FILE; see `ulpgate probe --help`".to_string(),
        ));
    };
    name_modes(path, arguments.json, out)
}

/// Names the modes that give the answers of a file, and the parts that stay open.
pub(super) fn name_modes(path: &Path, json: bool, out: &mut dyn Write) -> Result<Exit, Failure> {
    let questions = questions();
    let answers = Answers::read(path, &questions)?;
    let identified = identify(&answers, &questions, &mut EmulatedAnswers::default())?;
    let properties = measure(&answers);
    if json {
        writeln!(out, "{:#}", as_json(&answers, questions.len(), &identified, &properties))?;
    } else {
        write_text(&answers, questions.len(), &identified, &properties, out)?;
    }
    Ok(if identified.patterns.is_empty() { Exit::Found } else { Exit::AsExpected })
}

fn pattern_json(pattern: &Pattern) -> Value {
    let keys = pattern.0.keys().map(|key| (key.to_string(), json!(pattern.values(key))));
    json!({"text": pattern.to_string(), "values": Value::Object(keys.collect())})
}

fn as_json(answers: &Answers, asked: usize, identified: &Identified, properties: &[Property]) -> Value {
    let patterns = |patterns: &[Pattern]| patterns.iter().map(pattern_json).collect::<Vec<Value>>();
    let group = |outcome: &GroupOutcome| {
        let [answered, questions] = outcome.answered;
        let nearest =
            outcome.nearest.as_ref().map(|(nearest, others)| json!({"modes": patterns(nearest), "not_given": others}));
        json!({"group": outcome.group.name, "answered": answered, "questions": questions,
               "modes": patterns(&outcome.patterns), "nearest": nearest})
    };
    json!({
        "about": answers.about,
        "answered": answers.tensors.len(),
        "questions": asked,
        "modes": patterns(&identified.patterns),
        "count": count_modes(&identified.patterns),
        "open": identified.open,
        "groups": identified.groups.iter().map(group).collect::<Vec<Value>>(),
        "measured": properties,
    })
}

fn write_text(
    answers: &Answers,
    asked: usize,
    identified: &Identified,
    properties: &[Property],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let about = if answers.about.is_empty() { "an unnamed machine" } else { &answers.about };
    writeln!(out, "{} of {asked} questions answered by {about}\n", answers.tensors.len())?;
    match &identified.patterns[..] {
        [] => writeln!(out, "modes: none gives every answer")?,
        patterns => {
            writeln!(out, "modes that give every answer: {}", count_modes(patterns))?;
            for pattern in patterns {
                writeln!(out, "  {pattern}")?;
            }
            if !identified.open.is_empty() {
                writeln!(out, "open: {} (more than one value gives the same bits)", identified.open.join(", "))?;
            }
        }
    }
    writeln!(out, "\ngroups")?;
    for GroupOutcome { group, answered: [answered, questions], patterns, nearest } in &identified.groups {
        writeln!(out, "  {}: {answered} of {questions} answered", group.name)?;
        for pattern in patterns {
            writeln!(out, "    {pattern}")?;
        }
        if let Some((nearest, others)) = nearest {
            writeln!(out, "    no mode; nearest, but for {}:", others.join(", "))?;
            for pattern in nearest {
                writeln!(out, "      {pattern}")?;
            }
        }
    }
    writeln!(out, "\nmeasured")?;
    let mut last = "";
    for Property { of, property, value } in properties {
        if last != of {
            writeln!(out, "  {of}")?;
            last = of;
        }
        writeln!(out, "    {property}: {value}")?;
    }
    Ok(())
}

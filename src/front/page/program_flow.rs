//! The precision flow of each program that suites take from a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use maud::{Markup, html};

use crate::file::read_text;
use crate::flow::{self, Flow, Value};
use crate::hlo::{lower_with_opaque, parse};
use crate::machine::Mode;
use crate::record::SuiteRecord;
use crate::suite::{fingerprint, is_file};

/// The flow of the program in one file.
pub struct ProgramFlow {
    /// The file's path from the folder of suites.
    pub path: String,
    /// The suites that it belongs to.
    pub suites: Vec<String>,
    /// The flow; or why there is none, such as a file that is not the one the records are of.
    pub flow: Result<Flow, String>,
}

/// The flows of all programs that the records' suites name by their files, sorted by path. The files are read anew from
/// the folder of suites, and told from others by the fingerprints that the records hold. Of a program that is not
/// compiled, the compilers of its cases' modes are asked what they would elide.
pub fn program_flows(suites: &[SuiteRecord], folder: &Path) -> Vec<ProgramFlow> {
    let mut files: BTreeMap<&str, Vec<&SuiteRecord>> = BTreeMap::new();
    for suite in suites {
        for path in suite.header.fingerprints.keys().filter(|path| is_file(path)) {
            files.entry(path).or_default().push(suite);
        }
    }
    let flow = |(path, of): (&str, Vec<&SuiteRecord>)| {
        let recorded: Vec<&str> =
            of.iter().filter_map(|s| s.header.fingerprints.get(path)).map(String::as_str).collect();
        let stem = path.rsplit('/').next().unwrap_or(path);
        let cases = of.iter().flat_map(|suite| &suite.cases).filter(|record| record.key.program.starts_with(stem));
        let subjects: BTreeSet<&str> = cases.map(|record| record.key.subject.as_str()).collect();
        let modes: Vec<Mode> = subjects.iter().filter_map(|subject| subject.parse().ok()).collect();
        ProgramFlow {
            path: path.to_string(),
            suites: of.iter().map(|suite| suite.name().to_string()).collect(),
            flow: read(&folder.join(path), &recorded, &modes),
        }
    };
    files.into_iter().map(flow).collect()
}

/// The flow of the program in a file with one of these fingerprints.
fn read(path: &Path, recorded: &[&str], modes: &[Mode]) -> Result<Flow, String> {
    let text = read_text(path).map_err(|e| format!("the file could not be read: {e}"))?;
    let hash = format!("{:016x}", fingerprint([text.as_bytes()].into_iter()));
    if !recorded.contains(&hash.as_str()) {
        return Err("the file is not the one that the records are of".to_string());
    }
    let module = parse(&text).map_err(|e| e.to_string())?;
    let import = lower_with_opaque(&module).map_err(|e| e.to_string())?;
    let compiled = module.is_compiled();
    Ok(flow::flow(&import, compiled, if compiled { &[] } else { modes }))
}

/// Each program: its findings, its values in order, and the whole listing.
pub(super) fn section(flows: &[ProgramFlow]) -> Markup {
    html! {
        @if !flows.is_empty() {
            section #flow aria-labelledby="flow-title" {
                h2 #flow-title { "Precision flow of HLO programs" }
                p { "The values of a program in their order, each with the format that all its numbers belong to. A thick frame "
                    "marks a value that readers see in different precisions. The listing below says who sees what, and in "
                    "which precision." }
                p.key { @for name in ["bf16", "f16", "f32", "f64"] { span class={ "value " (name) } { (name) } " " } }
                @for (suites, flows) in by_suites(flows) {
                    details.inset {
                        summary { span.name { (suites) } ": " (plural(flows.len(), "program", "programs")) }
                        @for flow in flows { (program(flow)) }
                    }
                }
            }
        }
    }
}

/// The programs under the suites that they belong to: a page has hundreds of them.
fn by_suites(flows: &[ProgramFlow]) -> BTreeMap<String, Vec<&ProgramFlow>> {
    let mut groups: BTreeMap<String, Vec<&ProgramFlow>> = BTreeMap::new();
    for flow in flows {
        groups.entry(flow.suites.join(", ")).or_default().push(flow);
    }
    groups
}

fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn program(ProgramFlow { path, flow, .. }: &ProgramFlow) -> Markup {
    // Folders above that of the suites tell nothing.
    let path = path.trim_start_matches("../");
    html! {
        details.flow.inset id={ "flow/" (path) } {
            summary {
                span.id { (path) } ": "
                @match flow {
                    Ok(flow) => (counts(flow)),
                    Err(why) => (why),
                }
            }
            @if let Ok(flow) = flow {
                ol.findings { @for finding in &flow.findings { li { (finding.subject) ": " (finding.text) } } }
                ol.values { @for value in flow.values.iter().filter(|value| value.is_listed()) { (chip(flow, value)) } }
                details {
                    summary { "Listing of " (path) }
                    pre tabindex="0" { (flow::text(flow, false)) }
                }
            }
        }
    }
}

fn counts(flow: &Flow) -> String {
    let c = &flow.counts;
    let kind = if flow.compiled { "compiled" } else { "not compiled" };
    format!(
        "{kind}, {}, {}, {}",
        plural(c.computing, "float operation", "float operations"),
        plural(c.roundings, "conversion that drops bits", "conversions that drop bits"),
        plural(c.two_views, "value seen in several precisions", "values seen in several precisions"),
    )
}

fn chip(flow: &Flow, value: &Value) -> Markup {
    let name = value.holds.map_or("integer".to_string(), |holds| holds.to_string());
    let twice = flow.findings.iter().any(|finding| finding.views.len() > 1 && finding.values.contains(&value.name));
    let twice = if twice { " twice" } else { "" };
    html! {
        li class={ "value " (name) (twice) } title={ (value.name) " " (value.shape) } {
            (value.role.as_deref().unwrap_or(&value.what)) " " small { (name) }
        }
    }
}

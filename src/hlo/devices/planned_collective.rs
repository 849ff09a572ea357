//! The plan of a collective, as a TPU's compiler writes it into `backend_config` (FACTS 6.2).

use crate::ir::{CollectiveAlgorithm, CollectivePlan, Phase};

use crate::opcode::Opcode;

/// Colors and devices of a plan, at most.
const COLORS: usize = 16;
const DEVICES: usize = 1024;

/// A collective that a compiled file has a plan of.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCollective {
    /// Its name in the file.
    pub name: String,
    /// Its opcode.
    pub opcode: Opcode,
    /// `op_name` of its metadata.
    pub op_name: Option<String>,
    /// The devices of its groups.
    pub devices: usize,
    /// The algorithm as the file has it.
    pub algorithm: CollectiveAlgorithm,
    /// The plan that it is added up by, or the reason why it is added up in the order of its group.
    pub plan: std::result::Result<CollectivePlan, String>,
}

impl PlannedCollective {
    /// The algorithm in words: the plan, or what the file says instead.
    pub fn algorithm_text(&self) -> String {
        match &self.plan {
            Ok(plan) => plan.to_string(),
            Err(_) => self.algorithm.to_string(),
        }
    }

    /// The order of additions in words, and how far it is known.
    pub fn order_text(&self) -> String {
        match &self.plan {
            Ok(plan) if plan.is_pinned() => "added up by this plan".to_string(),
            Ok(_) => "added up by this plan; the order inside a ring is a modelling choice".to_string(),
            Err(why) => format!("added up in the order of its group, a modelling choice: {why}"),
        }
    }
}

/// The plan that an algorithm describes.
///
/// # Errors
/// The reason, if it describes none that can be followed.
pub fn plan(algorithm: &CollectiveAlgorithm) -> std::result::Result<CollectivePlan, String> {
    let debug = algorithm.details.iter().find(|(name, _)| name == "debug");
    let text = debug.and_then(|(_, text)| serde_json::from_str::<String>(text).ok()).unwrap_or_default();
    let Some((strategy, fields)) = text.trim().split_once('{') else {
        return Err(format!("{} names no order of exchanges", algorithm.emitter));
    };
    // The two fields of one configuration contradict each other: neither can be trusted.
    if strategy != algorithm.strategy {
        return Err(format!("its strategy is {} and {strategy}", algorithm.strategy));
    }
    let fields = fields_of(fields);
    let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    let lists = |name: &str| match field(name).map(lists) {
        None => Ok(None),
        Some(Some(lists)) => Ok(Some(lists)),
        Some(None) => Err(format!("{name} is no list of lists of numbers")),
    };
    if field("nophase0").is_some_and(|value| value != "0") {
        return Err("it leaves out its first phase, which has no meaning here".to_string());
    }
    let rings = lists("cores")?.ok_or("it does not say how many cores are in a ring (cores)")?;
    let dims = lists("dim_used")?;
    let is_count = |name: &str, count: usize| field(name).is_none_or(|value| value.parse() == Ok(count));
    if !is_count("colors", rings.len()) || dims.as_ref().is_some_and(|dims| dims.len() != rings.len()) {
        return Err("its colors are not as many as its lists of rings and dims".to_string());
    }
    if rings.is_empty() || rings.len() > COLORS {
        return Err(format!("it has {} colors: 1 to {COLORS} have a meaning", rings.len()));
    }
    let mut colors = Vec::with_capacity(rings.len());
    for (color, rings) in rings.iter().enumerate() {
        let own: Vec<Option<usize>> = match &dims {
            Some(dims) => dims[color].iter().map(|dim| Some(*dim)).collect(),
            // A plan of one color and one ring need not say its dim: the ring holds all devices.
            None if rings.len() == 1 => vec![None],
            None => return Err("it does not say which dims its phases take (dim_used)".to_string()),
        };
        if own.len() != rings.len() || !is_count("phases", rings.len()) {
            return Err(format!("the phases of color {color} are not as many as its rings and dims"));
        }
        if let Some(dim) = own.iter().flatten().find(|dim| **dim > 2) {
            return Err(format!("color {color} takes dim {dim} of a torus of three"));
        }
        colors.push(own.into_iter().zip(rings).map(|(dim, ring)| Phase { dim, ring: *ring }).collect());
    }
    let (emitter, strategy) = (algorithm.emitter.clone(), algorithm.strategy.clone());
    let plan = CollectivePlan { emitter, strategy, colors };
    match plan.devices() {
        Some(devices) if devices <= DEVICES => Ok(plan),
        Some(devices) => Err(format!("its rings hold {devices} devices: {DEVICES} at most have a meaning")),
        None => Err("its colors do not take each dim once, over equally many devices".to_string()),
    }
}

/// `colors:4 cores:{2 2},{2 2} stride:1, 1}...`: names and values, up to the brace that closes them.
fn fields_of(text: &str) -> Vec<(&str, String)> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    let mut end_at = |start: usize, end: usize| match text[start..end].trim().split_once(':') {
        Some((name, value)) => fields.push((name, value.to_string())),
        // `stride:1, 1, 1`: the rest of the value before.
        None => {
            if let Some((_, value)) = fields.last_mut() {
                value.push_str(text[start..end].trim());
            }
        }
    };
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                end_at(start, at);
                return fields;
            }
            '}' => depth -= 1,
            ' ' if depth == 0 => {
                end_at(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    end_at(start, text.len());
    fields
}

/// `{0 1},{1 0}`.
fn lists(text: &str) -> Option<Vec<Vec<usize>>> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let list = |list: &str| list.split_whitespace().map(|number| number.parse().ok()).collect::<Option<Vec<usize>>>();
    inside.split("},{").map(list).collect()
}

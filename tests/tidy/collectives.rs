//! `suites/psum.toml` states the plans that the compiler makes of a sum over devices, and no other.

use std::collections::BTreeSet;

use ulpgate::ir::{CollectivePlan, Phase};

/// A chip, the devices, and the strategy with the dim and the ring of each phase of each color; without them where a file has no plan.
type Stated = (String, usize, Option<(String, Vec<Vec<Phase>>)>);

/// Numbers in a text, whatever stands between them.
fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// The plans of all-reduces in the table that `scripts/collective_plans.py` made of dumps.
fn dumped() -> BTreeSet<Stated> {
    let mut table = csv::Reader::from_path(super::root().join("tests/data/collectives/plans.csv")).unwrap();
    let columns = table.headers().unwrap().clone();
    let mut plans = BTreeSet::new();
    for row in table.records().map(Result::unwrap) {
        let cell = |name: &str| &row[columns.iter().position(|column| column == name).unwrap()];
        if cell("operation") != "psum" {
            continue;
        }
        let chip = cell("topology").split(':').next().unwrap();
        let lists = |name: &str| cell(name).split("},{").map(numbers).collect::<Vec<_>>();
        let (rings, dims) = (lists("rings"), lists("dim_used"));
        let color = |(at, rings): (usize, &Vec<usize>)| {
            let phase = |(phase, ring): (usize, &usize)| Phase {
                dim: dims.get(at).and_then(|dims| dims.get(phase)).copied(),
                ring: *ring,
            };
            rings.iter().enumerate().map(phase).collect()
        };
        let strategy = cell("strategy");
        let plan =
            (!strategy.is_empty()).then(|| (strategy.to_string(), rings.iter().enumerate().map(color).collect()));
        plans.insert((chip.to_string(), cell("devices").parse().unwrap(), plan));
    }
    plans
}

/// The plan of a program such as `psum[dims=2x2,strategy=StrategyND]`, if it has one.
fn plan(program: &str, devices: usize) -> Option<(String, Vec<Vec<Phase>>)> {
    let value = |key: &str| {
        let inside = program.split(['[', ']']).nth(1)?;
        inside.split(',').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    };
    let strategy = value("strategy")?;
    let cores = value("cores").map_or(1, |cores| cores.parse().unwrap());
    let extents = value("dims").map_or(vec![devices / cores], numbers);
    let plan = CollectivePlan::of(strategy, &extents).unwrap();
    let digits = |color: &str| color.chars().map(|dim| dim.to_digit(10).unwrap() as usize).collect();
    let colors: Option<Vec<Vec<usize>>> = value("colors").map(|colors| colors.split('-').map(digits).collect());
    let plan = colors.map_or(Some(plan.clone()), |colors| plan.with_colors(&colors)).unwrap().with_cores(cores);
    assert_eq!(plan.devices(), Some(devices), "{program}");
    Some((strategy.to_string(), plan.colors))
}

#[test]
fn the_suite_states_the_plans_of_all_chips_and_tori() {
    let suite = &super::suites()["psum"];
    let (mut stated, mut without) = (BTreeSet::new(), BTreeSet::new());
    for matrix in suite["matrix"].as_array().unwrap() {
        let texts = |key: &str| matrix[key].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let sizes: Vec<usize> =
            matrix["n"].as_array().unwrap().iter().map(|n| n.as_integer().unwrap() as usize).collect();
        for (chip, program) in texts("chip").flat_map(|chip| texts("program").map(move |program| (chip, program))) {
            for n in &sizes {
                let plan = plan(program, *n);
                let is_chain = program == "psum[dtype=f32,shards=1,width=512]";
                match plan {
                    Some(_) => _ = stated.insert((chip.to_string(), *n, plan)),
                    None if is_chain => _ = without.insert((chip.to_string(), *n, plan)),
                    None => {}
                }
            }
        }
    }
    let (planned, unplanned): (BTreeSet<Stated>, BTreeSet<Stated>) =
        dumped().into_iter().partition(|(_, _, plan)| plan.is_some());
    assert_eq!(stated, planned);
    assert_eq!(without, unplanned);
    let chips: BTreeSet<&String> = planned.iter().map(|(chip, ..)| chip).collect();
    assert!(chips.len() == 7 && planned.len() > 35, "{chips:?}, {} plans", planned.len());
}

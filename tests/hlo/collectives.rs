//! Collectives by the plan of a compiled TPU file, held to what real chips printed.

use std::path::PathBuf;
use std::process::Command;

use ulpgate::diff;
use ulpgate::explore::{Settings, enclose};
use ulpgate::file::safetensors;
use ulpgate::hlo::{Import, lower, parse};
use ulpgate::ir::{CollectivePlan, Phase};
use ulpgate::machine::Mode;
use ulpgate::rewrite::Freedom;
use ulpgate::same::{Settings as Same, Verdict, compare};
use ulpgate::subject;
use ulpgate::tensor::{Data, Tensor};

use super::sha256::sha256;

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/collectives").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(place(name)).unwrap()
}

#[track_caller]
fn import(text: &str) -> Import {
    lower(&parse(text).unwrap()).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn results(import: &Import, arguments: &[Tensor]) -> Vec<Tensor> {
    let mode: Mode = "v4/default/as-compiled".parse().unwrap();
    subject::evaluate(&import.program, &mode, arguments).unwrap()
}

/// JAX's tutorial of distributed Pallas kernels (`docs/pallas/tpu/distributed.ipynb`, four TPU v4) prints the mean of
/// |Pallas ring - lax.psum| as 1.0535587e-08: the inputs are `jax.random.uniform(jax.random.key(0), (8, 512))`.
#[test]
fn the_psum_of_the_pallas_tutorial_is_reproduced() {
    let inputs = safetensors::read(&place("pallas_tutorial.inputs.safetensors")).unwrap();
    let arguments: Vec<Tensor> = inputs.into_iter().map(|(_, tensor)| tensor).collect();
    assert_eq!(
        arguments.iter().map(|x| x.data().to_f32s()[0]).collect::<Vec<_>>(),
        [0.9858954, 0.117639065, 0.9955574, 0.775211]
    );
    let ring = results(&import(&text("pallas_ring.hlo")), &arguments);
    let psum = &results(&import(&text("v4_2x2.hlo")), &arguments)[0];
    assert_eq!(ring.len(), 4);
    let of_all = |tensor: &Tensor| tensor.data().to_f32s();
    let differences: Vec<f64> = ring
        .iter()
        .flat_map(|own| {
            of_all(own).into_iter().zip(of_all(psum)).map(|(a, b)| f64::from((a - b).abs())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(differences.len(), 4096);
    let mean = (differences.iter().sum::<f64>() / differences.len() as f64) as f32;
    assert_eq!(format!("{mean:e}"), "1.0535587e-8");
}

/// In pairs 1 + 1 = 2 reaches 16777216; one after the other each 1 is rounded away.
#[test]
fn four_numbers_are_added_in_pairs() {
    let numbers = [16777216.0, 1.0, 1.0, 1.0].map(|x| Tensor::new(&[1], Data::F32(vec![x])));
    let got = results(&import(&text("four_numbers.hlo")), &numbers);
    assert_eq!(got[0].data().to_f32s(), [16777218.0]);
}

/// The numbers that numpy's PCG64 draws, from the state that it makes of the seed 0x47524C4D.
struct Pcg64(u128);

impl Pcg64 {
    fn next(&mut self) -> u64 {
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        const INCREMENT: u128 = 335862224366966998477636699452244278029;
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        ((self.0 >> 64) as u64 ^ self.0 as u64).rotate_right((self.0 >> 122) as u32)
    }
}

const TRIALS: usize = 32;
const WIDTH: usize = 6144;
const CHIPS: usize = 32;

/// The bf16 numbers of each trial, column and chip, as bits: pairs that nearly cancel, in an order drawn for each column.
fn drawn() -> Vec<u16> {
    let mut random = Pcg64(106816339743030026532405374140308138275);
    let pairs = TRIALS * WIDTH * CHIPS / 2;
    let magnitudes: Vec<u16> = (0..pairs)
        .map(|_| random.next())
        .map(|raw| ((121 + (raw % 12) as u16) << 7) | ((raw >> 8) % 128) as u16)
        .collect();
    let steps: Vec<u16> = (0..pairs)
        .map(|at| (at, random.next()))
        .map(|(at, raw)| if at % 2 == 1 { (raw % 2) as u16 + 1 } else { 0 })
        .collect();
    let mut numbers = Vec::with_capacity(2 * pairs);
    for column in 0..TRIALS * WIDTH {
        let own = column * CHIPS / 2..(column + 1) * CHIPS / 2;
        let pairs = magnitudes[own.clone()].iter().zip(&steps[own]);
        let leaves: Vec<u16> =
            pairs.flat_map(|(magnitude, step)| [*magnitude, (magnitude + step).min(0x7f7f) | 0x8000]).collect();
        let keys: Vec<u64> = (0..CHIPS).map(|_| random.next()).collect();
        let mut order: Vec<usize> = (0..CHIPS).collect();
        order.sort_by_key(|chip| keys[*chip]);
        numbers.extend(order.into_iter().map(|chip| leaves[chip]));
    }
    numbers
}

/// The rows 0, 8, 16 and 24 of the sum over 32 chips of one trial, as bits.
fn sums_of(import: &Import, numbers: &[u16], trial: usize) -> Vec<Vec<u16>> {
    // Partition p of the file is the chip at x, y, z with p = 16 x + 4 y + z; chip ids count along x, then y, then z.
    let chip = |p: usize| p / 16 + 2 * (p / 4 % 4) + 8 * (p % 4);
    let argument = |p: usize| {
        let row: Vec<u16> = (0..WIDTH).map(|column| numbers[(trial * WIDTH + column) * CHIPS + chip(p)]).collect();
        Tensor::new(&[32, WIDTH], Data::BF16(row.repeat(32).into_iter().map(half::bf16::from_bits).collect()))
    };
    let sums = &results(import, &(0..CHIPS).map(argument).collect::<Vec<_>>())[0];
    let row = |row: usize| (0..WIDTH).map(|column| sums.data().bits(row * WIDTH + column) as u16).collect();
    [0, 8, 16, 24].map(row).to_vec()
}

/// A v4 pod of 2x4x4 chips: `lax.psum` of bf16[32,6144] as `StrategyND` with three colors, of which every element was pinned by
/// 32 trials (github.com/GianluigiVitale/glm-tpu, `docs/RESEARCH_LOG.md`, DB533). The file has the first trial's bits, of the
/// emulation whose sums of all trials have the published hashes (below).
#[test]
fn the_colors_of_a_v4_pod_are_added_as_the_chips_did() {
    let sums = sums_of(&import(&text("v4_2x4x4.hlo")), &drawn(), 0);
    let (_, expected) = &safetensors::read(&place("v4_2x4x4.outputs.safetensors")).unwrap()[0];
    for (row, sums) in sums.iter().enumerate() {
        let wrong =
            (0..WIDTH).filter(|column| expected.data().bits(row * WIDTH + column) as u16 != sums[*column]).count();
        assert_eq!(wrong, 0, "row {}", 8 * row);
    }
}

/// SHA-256 of each row's bits in all trials, as published.
#[test]
#[ignore = "32 sums of 32 arrays: half a minute"]
fn all_trials_of_a_v4_pod_have_the_published_hashes() {
    let (import, numbers) = (import(&text("v4_2x4x4.hlo")), drawn());
    let trials: Vec<Vec<Vec<u16>>> = (0..TRIALS).map(|trial| sums_of(&import, &numbers, trial)).collect();
    let published = [
        "7239b23e8ccba21dd74cb11342b3a3cb8e79c9ebff35d03203da2c61898f51dc",
        "36450bf5c08e95b7c6b7505c3fa1fb23844a6b087aed7a282362c74cb7dcf9a8",
        "7e3fb5a1921697f49a57ab0431a9799501381f9f47c8b302d9ff68fe64f3f5ca",
        "f66edca7b9b2b47517f58638af696141cf6dc2f787021b430a4a785291e18c16",
    ];
    for (row, published) in published.into_iter().enumerate() {
        let mut bytes = b"dtype=<u2;shape=(32, 6144);".to_vec();
        bytes.extend(trials.iter().flat_map(|rows| &rows[row]).flat_map(|bits| bits.to_le_bytes()));
        assert_eq!(sha256(&bytes), published, "rows from {}", 8 * row);
    }
}

/// The all-reduce of four v4 chips with another configuration.
fn with(config: &str) -> String {
    let text = text("four_numbers.hlo");
    let start = text.find("backend_config=").unwrap();
    format!("{}backend_config={{\"collective_algorithm_config\":{config}}}\n}}\n", &text[..start])
}

fn plan(emitter: &str, strategy: &str, fields: &str) -> String {
    with(&format!("{{\"emitter\":\"{emitter}\",\"strategy\":\"{strategy}\",\"debug\":\"\\n{strategy}{{{fields}}}\"}}"))
}

const YX: &str =
    "colors:4 phases:2 cores:{2 2},{2 2},{2 2},{2 2} num_dims:2 dim_sizes:2,2 dim_used:{0 1},{1 0},{0 1},{1 0}";

fn nd(fields: &str) -> String {
    plan("RotatedPincerEmitter", "UniDirectionNDRingStrategy", fields)
}

fn verdict(one: &str, other: &str) -> Verdict {
    let settings = Same::new(&"v4/default/as-compiled".parse().unwrap());
    compare(&import(one), &import(other), &settings).unwrap().verdict
}

/// Programs are the same where their plans give the same order, and only there.
#[test]
fn plans_are_the_same_where_their_order_is() {
    let proven = |one: &str, other: &str| matches!(verdict(one, other), Verdict::Same);
    let xy = YX.replace("{0 1}", "{2}").replace("{1 0}", "{0 1}").replace("{2}", "{1 0}");
    assert!(proven(&nd(YX), &nd(YX)));
    // One tile has one color, and rings of two commute.
    let two = "colors:2 phases:2 cores:{2 2},{2 2} num_dims:2 dim_sizes:2,2 dim_used:{0 1},{1 0}";
    assert!(proven(&nd(YX), &nd(two)));
    assert!(proven(&nd(YX), &plan("RotatedPincerShortEmitter", "StrategyND", two)));
    assert!(matches!(verdict(&nd(YX), &nd(&xy)), Verdict::Part(_)), "{:?}", verdict(&nd(YX), &nd(&xy)));
    for other in [
        with("{\"emitter\":\"SinglePhaseRingSumEmitter\"}"),
        plan("RotatedPincerEmitter", "StrategyRing", "colors:1 phases:1 cores:{4}"),
        plan("RotatedPincerEmitter", "UniDirection1DRingStrategy", "colors:2 phases:1 cores:{4},{4}"),
        text("four_numbers.hlo").split(", backend_config").next().unwrap().to_string() + "\n}\n",
    ] {
        assert!(!proven(&nd(YX), &other), "{other}");
    }
    // Rings whose order is a modelling choice: other plans are not proven to be the same, whatever the machine makes of them.
    let ring = |emitter: &str| plan(emitter, "StrategyRing", "colors:1 phases:1 cores:{4}");
    assert!(!proven(&ring("RotatedPincerEmitter"), &ring("RotatedPincerShortEmitter")));
}

/// The order of four numbers that each strategy gives: which of the ones meet before they meet 16777216.
#[test]
fn strategies_have_orders_of_their_own() {
    let sum = |text: &str, numbers: [f32; 4]| {
        let numbers = numbers.map(|x| Tensor::new(&[1], Data::F32(vec![x])));
        results(&import(text), &numbers)[0].data().to_f32s()[0]
    };
    let (most, one) = (16777216.0, 1.0);
    let xy = YX.replace("{0 1}", "{2}").replace("{1 0}", "{0 1}").replace("{2}", "{1 0}");
    let group = with("{\"emitter\":\"SinglePhaseRingSumEmitter\"}");
    let pincer = plan("RotatedPincerEmitter", "StrategyRing", "colors:1 phases:1 cores:{4}");
    let one_way = plan("RotatedPincerEmitter", "UniDirection1DRingStrategy", "colors:2 phases:1 cores:{4},{4}");
    // y first: devices 0 and 1; x first: 0 and 2.
    assert_eq!([sum(&nd(YX), [most, -most, one, 0.5]), sum(&nd(&xy), [most, -most, one, 0.5])], [1.5, 0.0]);
    assert_eq!([sum(&group, [most, one, one, one]), sum(&group, [one, one, one, most])], [most, most + 4.0]);
    assert_eq!(sum(&pincer, [most, one, one, one]), most + 2.0);
    // From device 1 on to device 0, at whose end the first shard lies.
    assert_eq!([sum(&one_way, [most, one, one, one]), sum(&one_way, [one, most, one, one])], [most + 4.0, most]);
}

/// A plan that says what has no meaning, or contradicts itself, is told as one that is not followed; the sum is that of the group.
#[test]
fn a_plan_that_cannot_be_followed_is_named() {
    let huge = "colors:2 phases:1 cores:{99999999999999999999},{4}";
    for (fields, why) in [
        (YX.replace("colors:4", "colors:3"), "its colors are not as many as its lists of rings and dims"),
        (YX.replace("cores:{2 2}", "cores:{2 3}"), "its colors do not take each dim once"),
        (YX.replace("dim_used:{0 1}", "dim_used:{0 0}"), "its colors do not take each dim once"),
        (YX.replace("dim_used:{0 1}", "dim_used:{0 7}"), "color 0 takes dim 7 of a torus of three"),
        (YX.replace("dim_used:{0 1}", "dim_used:{0}"), "the phases of color 0 are not as many"),
        (YX.replace("dim_used", "dims"), "it does not say which dims its phases take"),
        (format!("{YX} nophase0:1"), "it leaves out its first phase"),
        (YX.replace("dim_used:{0 1}", "dim_used:{0 3}"), "color 0 takes dim 3 of a torus of three"),
        ("colors:1 phases:1 cores:{8}".to_string(), "its rings hold 8 devices, and its groups 4"),
        ("colors:1 phases:1 cores:{2}".to_string(), "its rings hold 2 devices, and its groups 4"),
        (huge.to_string(), "cores is no list of lists of numbers"),
        (String::new(), "it does not say how many cores are in a ring"),
    ] {
        let import = import(&nd(&fields));
        let [collective] = &import.collectives[..] else { panic!("{fields}") };
        assert!(collective.order_text().contains(why), "{fields}: {}", collective.order_text());
        let numbers = [16777216.0, 1.0, 1.0, 1.0].map(|x| Tensor::new(&[1], Data::F32(vec![x])));
        assert_eq!(results(&import, &numbers)[0].data().to_f32s(), [16777216.0], "{fields}");
    }
    let other = with("{\"emitter\":\"A\",\"strategy\":\"B\",\"debug\":\"\\nC{colors:1 phases:1 cores:{4}}\"}");
    assert!(import(&other).collectives[0].order_text().contains("its strategy is B and C"));
}

/// `hlo diff` tells strategy, colors, phases and dims of both plans in one line.
#[test]
fn a_change_of_plan_is_told_in_words() {
    let ring = plan("RotatedPincerEmitter", "UniDirection1DRingStrategy", "colors:2 phases:1 cores:{4},{4}");
    let told = |one: &str, other: &str| {
        let found = diff::difference(&import(one), &import(other), None).unwrap();
        found.changes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(&nd(YX), &nd(YX)), [""; 0]);
    let lines = told(&nd(YX), &ring);
    let line = lines.iter().find(|line| line.starts_with("plan-changed")).unwrap_or_else(|| panic!("{lines:?}"));
    for words in [
        "UniDirectionNDRingStrategy by RotatedPincerEmitter, 4 colors, 2 phases",
        "colors 0, 2: dim 0 in rings of 2, then dim 1 in rings of 2",
        "UniDirection1DRingStrategy by RotatedPincerEmitter, 2 colors, 1 phase; colors 0, 1: all in a ring of 4",
    ] {
        assert!(line.contains(words), "{line}");
    }
    assert!(lines.iter().all(|line| !line.starts_with("attribute-changed")), "{lines:?}");
    let lines = told(&with("{\"emitter\":\"SinglePhaseRingSumEmitter\"}"), &ring);
    assert!(
        lines.iter().any(|line| line.starts_with("plan-changed") && line.contains("SinglePhaseRingSumEmitter")),
        "{lines:?}"
    );
}

/// `hlo show` prints the plan, and how far its order is known.
#[test]
fn show_prints_the_plan() {
    let shown = |name: &str| {
        let path = place(name);
        let output = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(["hlo", "show"]).arg(path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = shown("v4_2x2.hlo");
    let line = "psum_invariant.7: all-reduce of 4 devices, UniDirectionNDRingStrategy by RotatedPincerEmitter, 4 colors, 2 phases; \
                colors 0, 2: dim 0 in rings of 2, then dim 1 in rings of 2; colors 1, 3: dim 1 in rings of 2, then dim 0 in rings \
                of 2; added up by this plan.";
    assert!(text.contains(line), "{text}");
    assert!(
        shown("v4_2x4x4.hlo")
            .contains("color 2: dim 2 in rings of 4, then dim 0 in rings of 4, then dim 1 in rings of 2")
    );
}

/// A plan whose order is pinned leaves a compiler no order to choose; a ring whose order is a modelling choice does.
#[test]
fn a_plan_fixes_the_order_of_a_mesh() {
    let points = |text: &str| {
        let import = import(text);
        let numbers = [3.0, 1e-8, -3.0, 1e-8, 2.0, 1e-7, -1.0, 1e-8];
        let arguments: Vec<Tensor> =
            numbers[..import.devices].iter().map(|x| Tensor::new(&[1], Data::F32(vec![*x]))).collect();
        let settings = Settings::new("v4/default/as-compiled".parse().unwrap());
        let (choices, _) = enclose(&import.program, &arguments, &settings).unwrap();
        choices.points.iter().filter(|point| point.freedom == Freedom::Mesh).count()
    };
    let ring = plan("RotatedPincerEmitter", "UniDirection1DRingStrategy", "colors:2 phases:1 cores:{4},{4}");
    // Rings of four that a v4 pod pins, of eight chips: 4 along y, 2 along x.
    let fields = "colors:2 phases:2 cores:{4 2},{2 4} num_dims:2 dim_sizes:4,2 dim_used:{0 1},{1 0}";
    let of_eight = |emitter: &str| {
        let text = plan(emitter, "StrategyND", fields).replace("num_partitions=4", "num_partitions=8");
        text.replace("{{0,1,2,3}}", "{{0,1,2,3,4,5,6,7}}")
    };
    assert_eq!([points(&of_eight("RotatedPincerEmitter")), points(&of_eight("RotatedPincerShortEmitter"))], [0, 2]);
    assert_eq!(
        [points(&nd(YX)), points(&ring), points(&with("{\"emitter\":\"SinglePhaseRingSumEmitter\"}"))],
        [0, 1, 1]
    );
}

/// The plans that a strategy has on a torus are those of the dumps, for all topologies and sizes; two of the small plans have fewer colors.
#[test]
fn plans_of_strategies_are_those_of_dumps() {
    let mut table = csv::Reader::from_path(place("plans.csv")).unwrap();
    let columns = table.headers().unwrap().clone();
    let column = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let names = ["emitter", "strategy", "rings", "dim_sizes", "dim_used", "operation", "devices"];
    let [emitter, strategy, rings, dim_sizes, dim_used, operation, devices] = names.map(column);
    let mut seen = std::collections::BTreeMap::new();
    for row in table.records().map(Result::unwrap) {
        if &row[operation] != "psum" || row[strategy].is_empty() {
            continue;
        }
        let devices: usize = row[devices].parse().unwrap();
        let mut extents: Vec<usize> = row[dim_sizes].split(',').filter_map(|size| size.parse().ok()).collect();
        if extents.is_empty() {
            extents.push(devices);
        }
        let plan = CollectivePlan::of(&row[strategy], &extents).unwrap();
        let colors: Vec<Vec<usize>> = row[dim_used]
            .split("},{")
            .map(|color| color.chars().filter_map(|dim| dim.to_digit(10)).map(|dim| dim as usize).collect())
            .collect();
        let is_short = !row[dim_used].is_empty() && colors.len() < plan.colors.len();
        assert!(!is_short || &row[emitter] == "RotatedPincerShortEmitter", "{row:?}");
        let plan = if is_short { plan.with_colors(&colors).unwrap() } else { plan };
        let plan = plan.with_cores(devices / extents.iter().product::<usize>());
        let list = |of: &dyn Fn(&Phase) -> String| {
            let color = |color: &Vec<Phase>| format!("{{{}}}", color.iter().map(of).collect::<Vec<_>>().join(" "));
            plan.colors.iter().map(color).collect::<Vec<_>>().join(",")
        };
        assert_eq!(list(&|phase| phase.ring.to_string()), row[rings], "{row:?}");
        if !row[dim_used].is_empty() {
            assert_eq!(list(&|phase| phase.dim.unwrap().to_string()), row[dim_used], "{row:?}");
        }
        *seen.entry(row[strategy].to_string()).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 12), "{seen:?}");
}

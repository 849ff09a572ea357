//! `--shard auto`: which part of a job array this process is, as the engine that started it says.

use ulpgate_front::run::Shard;

/// The numbering of the processes of one job by an engine, in variables of the environment.
struct Engine {
    name: &'static str,
    /// The process's number.
    index: &'static str,
    /// The number of processes. Kubernetes tells a pod its index only: the manifest gives this one.
    count: &'static str,
    /// The number of the first one: a number, or a variable that holds it.
    first: &'static str,
}

/// Sources: the engines' own lists of variables (Kubernetes, "Indexed Job"; slurm.schedmd.com, "Job Array Support";
/// Bazel, "Test encyclopedia"; GitLab, "Predefined variables"; Buildkite, "Environment variables"; CircleCI, "Built-in
/// variables").
const ENGINES: &[Engine] = &[
    Engine { name: "Kubernetes Indexed Job", index: "JOB_COMPLETION_INDEX", count: "ULPGATE_SHARDS", first: "0" },
    Engine {
        name: "Slurm array",
        index: "SLURM_ARRAY_TASK_ID",
        count: "SLURM_ARRAY_TASK_COUNT",
        first: "SLURM_ARRAY_TASK_MIN",
    },
    Engine { name: "Bazel", index: "TEST_SHARD_INDEX", count: "TEST_TOTAL_SHARDS", first: "0" },
    Engine { name: "GitLab", index: "CI_NODE_INDEX", count: "CI_NODE_TOTAL", first: "1" },
    Engine { name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", count: "BUILDKITE_PARALLEL_JOB_COUNT", first: "0" },
    Engine { name: "CircleCI", index: "CIRCLE_NODE_INDEX", count: "CIRCLE_NODE_TOTAL", first: "0" },
];

/// A part as `--shard` takes it.
///
/// # Errors
/// Neither K/N nor `auto`; and what is wrong with the environment where `auto` does not find exactly one engine in it.
pub fn shard(text: &str) -> Result<Shard, String> {
    if text == "auto" {
        return of_environment(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    }
    text.parse().map_err(|error: ulpgate_front::run::ShardError| format!("{error}, and not `auto`"))
}

fn of_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let found: Vec<&Engine> = ENGINES.iter().filter(|engine| variable(engine.index).is_some()).collect();
    let engine = match found[..] {
        [engine] => engine,
        [] => {
            let known: Vec<String> = ENGINES.iter().map(|e| format!("{} ({})", e.index, e.name)).collect();
            return Err(format!("no engine says which part this is: none of {} is set; give K/N", known.join(", ")));
        }
        [..] => {
            let set: Vec<&str> = found.iter().map(|engine| engine.index).collect();
            return Err(format!("{} are all set, and which one counts is not known; give K/N", set.join(" and ")));
        }
    };
    let number = |name: &str| -> Result<usize, String> {
        let text = variable(name).ok_or_else(|| format!("{} is set and {name} is not", engine.index))?;
        text.parse().map_err(|_| format!("{name} is `{text}`, which is no number"))
    };
    let first = engine.first.parse().or_else(|_| number(engine.first))?;
    let (index, of) = (number(engine.index)?, number(engine.count)?);
    match index.checked_sub(first) {
        Some(at) if at < of => Ok(Shard { part: at + 1, of }),
        _ => Err(format!(
            "{} is {index} where the first is {first} and {} is {of}: the parts of a job follow one another",
            engine.index, engine.count
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Result<Shard, String> {
        of_environment(&|name| set.iter().find(|(one, _)| *one == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn each_engine_numbers_its_parts_in_its_own_way() {
        let third = Ok(Shard { part: 3, of: 7 });
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "2"), ("ULPGATE_SHARDS", "7")]), third);
        let slurm = [("SLURM_ARRAY_TASK_ID", "12"), ("SLURM_ARRAY_TASK_COUNT", "7"), ("SLURM_ARRAY_TASK_MIN", "10")];
        assert_eq!(of(&slurm), third);
        assert_eq!(of(&[("TEST_SHARD_INDEX", "2"), ("TEST_TOTAL_SHARDS", "7")]), third);
        assert_eq!(of(&[("CI_NODE_INDEX", "3"), ("CI_NODE_TOTAL", "7")]), third);
        assert_eq!(of(&[("BUILDKITE_PARALLEL_JOB", "2"), ("BUILDKITE_PARALLEL_JOB_COUNT", "7")]), third);
        assert_eq!(of(&[("CIRCLE_NODE_INDEX", "2"), ("CIRCLE_NODE_TOTAL", "7")]), third);
    }

    #[test]
    fn what_is_not_one_part_of_one_job_is_refused() {
        let says = |set: &[(&str, &str)], part: &str| {
            let error = of(set).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        says(&[], "CI_NODE_INDEX (GitLab)");
        says(&[("CI_NODE_INDEX", "1"), ("TEST_SHARD_INDEX", "0")], "TEST_SHARD_INDEX and CI_NODE_INDEX");
        says(&[("JOB_COMPLETION_INDEX", "2")], "ULPGATE_SHARDS is not");
        says(&[("CI_NODE_INDEX", "one"), ("CI_NODE_TOTAL", "7")], "`one`, which is no number");
        says(&[("CI_NODE_INDEX", "0"), ("CI_NODE_TOTAL", "7")], "CI_NODE_INDEX is 0 where the first is 1");
        // An array with steps of its own, or cut short by hand, would leave parts out.
        let stepped = [("SLURM_ARRAY_TASK_ID", "9"), ("SLURM_ARRAY_TASK_COUNT", "5"), ("SLURM_ARRAY_TASK_MIN", "1")];
        says(&stepped, "SLURM_ARRAY_TASK_ID is 9");
    }
}

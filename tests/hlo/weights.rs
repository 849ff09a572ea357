//! Suites over models from outside: arguments bound to the tensors of a file, and the truth of another program.

use std::fs;
use std::process::Command;

use tempfile::TempDir;
use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

/// The rows of a table that four ids name, doubled.
const LOOK_UP: &str = r"HloModule look_up

ENTRY main {
  ids.1 = s32[4,1]{1,0} parameter(0)
  table.1 = f32[3,2]{1,0} parameter(1)
  rows = f32[4,2]{1,0} gather(table.1, ids.1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}
  ROOT sum = f32[4,2]{1,0} add(rows, rows)
}
";

const SUITE: &str = r#"claim = "Rows of a table are doubled"
why = "A model's weights are its own"
source = "FACTS 1.5"

[[matrix]]
program = ["look_up.hlo"]
results = ["z"]
truth = "look_up.hlo"
rounded = "stored"
chip = ["cpu"]
excess = ["as-compiled"]
input = ["fixture-zeros"]
arguments = { ids = "tokens.safetensors:text" }
weights = "model.safetensors"
rows = [8]
metric = ["max_abs_error"]
"#;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(TempDir::new().unwrap());
        fs::create_dir_all(folder.0.path().join("suites")).unwrap();
        folder.write("model.toml", SUITE);
        folder.write("look_up.hlo", LOOK_UP);
        folder.save("tokens", "text", Tensor::new(&[8, 1], Data::S32(vec![0, 1, 2, 0, 2, 2, 1, 0])));
        folder.table(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join("suites").join(name), text).unwrap();
    }

    fn save(&self, file: &str, name: &str, tensor: Tensor) {
        let path = self.0.path().join("suites").join(file).with_extension("safetensors");
        safetensors::write(&path, &[(name.to_string(), tensor)]).unwrap();
    }

    fn table(&self, values: &[f32]) {
        self.save("model", "table", Tensor::new(&[3, 2], Data::F32(values.to_vec())));
    }

    /// Runs and holds the exit code to `code`: what was printed, or the error.
    #[track_caller]
    fn exits(&self, code: i32, arguments: &[&str]) -> String {
        let ran = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).current_dir(&self.0).output().unwrap();
        let (out, err) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
        if code == 2 { err } else { out }
    }

    /// The largest error that the report has.
    fn error(&self) -> String {
        let report = fs::read_to_string(self.0.path().join("reports/model.csv")).unwrap();
        let cells = |line: usize| report.lines().nth(line).unwrap().split(',').map(str::to_string).collect::<Vec<_>>();
        let column = cells(0).iter().position(|name| name == "max_abs_error").unwrap();
        cells(1)[column].clone()
    }

    #[track_caller]
    fn refused(&self, (from, to): (&str, &str), said: &[&str]) {
        assert_eq!(SUITE.matches(from).count(), 1, "`{from}` must stand there once");
        self.write("model.toml", &SUITE.replace(from, to));
        let err = self.exits(2, &["run"]);
        said.iter().for_each(|said| assert!(err.contains(said), "{err} does not contain {said}"));
    }
}

#[test]
fn arguments_answer_to_the_names_of_a_file() {
    let folder = Folder::new();
    // Nothing judges what is measured.
    folder.exits(2, &["run"]);
    assert_eq!(folder.error(), "0");
    let id = "model/look_up.hlo[rows=8]/cpu/default/as-compiled/\
              fixture-zeros+ids=tokens.safetensors:text+weights=model.safetensors/2/0";
    assert!(folder.exits(0, &["explain", id]).contains("truth: look_up.hlo"));
    // A journal belongs to the weights, too: what a run of others left is not taken for this one's.
    folder.table(&[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
    folder.exits(2, &["run", "--resume"]);
    // Of the other program the doubled rows are a third short: 2 x 7 instead of 3 x 7.
    folder.write(
        "tripled.hlo",
        &LOOK_UP
            .replace("add(rows, rows)", "add(twice, rows)")
            .replace("  ROOT", "  twice = f32[4,2]{1,0} add(rows, rows)\n  ROOT"),
    );
    folder.write("model.toml", &SUITE.replace("truth = \"look_up.hlo\"", "truth = \"tripled.hlo\""));
    folder.exits(2, &["run"]);
    assert_eq!(folder.error(), "7");
}

#[test]
fn what_is_not_bound_or_of_another_shape_is_refused_at_its_place() {
    let folder = Folder::new();
    folder.refused(("{ ids = ", "{ id = \"normal\", ids = "), &["suites/model.toml:13:", "there is no argument `id`"]);
    folder.refused(
        ("arguments = { ids = \"tokens.safetensors:text\" }\n", ""),
        &["suites/model.toml:12:", "the rows of `ids.1` are integers"],
    );
    folder.refused(("weights = \"model", "weights = \"gone"), &["suites/model.toml:14:11: ", "gone.safetensors"]);
    folder.refused(
        ("weights = \"model", "weights = \"tokens"),
        &["bound to `tokens.safetensors`", "no array for the argument `table.1`"],
    );
    folder.write("wide.hlo", &LOOK_UP.replace("[3,2]", "[5,2]"));
    folder.refused(
        ("truth = \"look_up.hlo\"", "truth = \"wide.hlo\""),
        &["suites/model.toml:8:9: ", "wide.hlo[rows=4] is not the truth of look_up.hlo[rows=4]", "f32[5,2]"],
    );
    // As many results, of other dims.
    let half = LOOK_UP
        .replace("  ROOT", " ")
        .replace("\n}", "\n  ROOT half = f32[4,1]{1,0} slice(sum), slice={[0:4], [0:1]}\n}");
    folder.write("half.hlo", &half);
    folder.refused(
        ("truth = \"look_up.hlo\"", "truth = \"half.hlo\""),
        &["half.hlo[rows=4] is not the truth of look_up.hlo[rows=4]: it gives f32[4,1], not f32[4,2]"],
    );
    folder.refused(("\"stored\"", "\"bf16\""), &["suites/model.toml:9:11: "]);
}

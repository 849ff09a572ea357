//! Files in which frameworks exchange programs, and which hold no HLO text.

use std::path::Path;

/// The first bytes of MLIR's bytecode.
const BYTECODE: &[u8] = b"ML\xefR";

/// Ends of names of files that hold programs.
const ENDS: [&str; 5] = ["mlir", "mlirbc", "pb", "hlo", "before"];

/// The reason why a file is no HLO text, with the command that makes HLO of it: of StableHLO, as text or bytecode, and of
/// serialised modules, by their bytes or the end of their name. `None` for any other file.
pub fn exchanged_form(path: &Path, data: &[u8]) -> Option<String> {
    if path.extension().is_some_and(|extension| extension == "py") {
        let path = path.display();
        return Some(format!(
            "it is Python, not HLO text; `python scripts/dump_hlo.py {path}:NAME SHAPES --out dumps` writes what JAX makes of its function \
             NAME, dumps/cpu/NAME.before.hlo"
        ));
    }
    let what = match path.extension().and_then(|extension| extension.to_str()) {
        Some("pb") => "a serialised HloModuleProto",
        Some("mlir" | "mlirbc") => "StableHLO",
        _ if data.starts_with(BYTECODE) => "StableHLO as bytecode",
        _ if is_mlir(data) => "StableHLO",
        _ => return None,
    };
    let (path, name) = (path.display(), plain_name(path));
    Some(format!(
        "it holds {what}, not HLO text; `python scripts/dump_hlo.py {path} --out dumps` writes its HLO before compilation, \
         dumps/cpu/{name}.before.hlo (and with `--topology v5e` what a TPU's compiler makes of it); in Python `ulpgate.judge` and \
         `ulpgate.audit_stablehlo` take the file as it is"
    ))
}

/// The name of a file without the ends that `scripts/dump_hlo.py` takes off.
fn plain_name(path: &Path) -> String {
    let mut name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    while let Some((stem, _)) = name.rsplit_once('.').filter(|(stem, end)| !stem.is_empty() && ENDS.contains(end)) {
        name = stem.to_string();
    }
    name
}

/// Whether bytes begin as a module of MLIR, behind comments, as `module @jit_f attributes {...}`.
fn is_mlir(data: &[u8]) -> bool {
    let mut lines = data.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"//"));
    let begins = |line: &[u8], word: &[u8]| {
        line.strip_prefix(word).is_some_and(|rest| rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric()))
    };
    first.is_some_and(|line| {
        [&b"module"[..], b"builtin.module", b"func.func"].iter().any(|word| begins(line, word))
            || line.starts_with(b"#") && line.contains(&b'=')
    })
}

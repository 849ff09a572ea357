//! Files in which frameworks exchange programs, and which hold no HLO text.

use std::path::Path;

/// The first bytes of MLIR's bytecode.
const BYTECODE: &[u8] = b"ML\xefR";

/// The reason why a file is no HLO text, with the command that makes HLO of it: of StableHLO, as text or bytecode, and of
/// serialised modules, by their bytes or the end of their name. `None` for any other file.
pub fn exchanged_form(path: &Path, data: &[u8]) -> Option<String> {
    let what = match path.extension().and_then(|extension| extension.to_str()) {
        Some("pb") => "a serialised HloModuleProto",
        Some("mlir" | "mlirbc") => "StableHLO",
        _ if data.starts_with(BYTECODE) => "StableHLO as bytecode",
        _ if is_mlir(data) => "StableHLO",
        _ => return None,
    };
    let path = path.display();
    Some(format!(
        "it holds {what}, not HLO text; `python scripts/dump_hlo.py {path} --out dumps --topology v5e` writes its HLO, before and \
         after compilation; in Python `ulpgate.audit_stablehlo` judges it"
    ))
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

//! The fingerprint of this crate's sources, as the variable `ULPGATE_SOURCES`.

fn main() -> std::io::Result<()> {
    ulpgate_fingerprint::emit()
}

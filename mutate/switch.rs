//! The fault that is switched on. `cargo run -p ulpgate-mutate` adds this file to its copy of the project.

#![allow(unsafe_code, reason = "the switch is set before the program starts, and its counters race on purpose")]

/// The fault in force; 0 is none.
///
/// A plain static, which loops may read once: it is written before `main`, and never again. (Constant functions may
/// name it as well; where a constant is made of one, the compiler refuses, and its fault gets a build of its own.)
static mut ACTIVE: u32 = 0;

/// The value that records which faults a run would have met, and switches none on.
const RECORD: u32 = u32::MAX;

/// The faults that were met. Threads race to write the same 1.
static mut MET: [u8; 1 << 16] = [0; 1 << 16];

/// Whether this fault is switched on.
#[inline(always)]
pub const fn on(fault: u32) -> bool {
    unsafe { ACTIVE == fault || ACTIVE == RECORD && met(fault) }
}

#[cold]
#[inline(never)]
const fn met(fault: u32) -> bool {
    unsafe { MET[fault as usize] = 1 };
    false
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let wanted = std::env::var("ULPGATE_MUTANT").unwrap_or_default();
    unsafe {
        ACTIVE = if wanted == "record" { RECORD } else { wanted.parse().unwrap_or(0) };
        if ACTIVE == RECORD {
            atexit(write_met);
        }
    }
}

/// Appends what was met to the file that `ULPGATE_MET` names: a test and the programs that it starts share it.
extern "C" fn write_met() {
    use std::io::Write;
    let Ok(path) = std::env::var("ULPGATE_MET") else { return };
    let met: &[u8] = unsafe { &*(&raw const MET) };
    let text: String = (0..met.len()).filter(|&fault| met[fault] == 1).map(|fault| format!("{fault}\n")).collect();
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        let _ = file.write_all(text.as_bytes());
    }
}

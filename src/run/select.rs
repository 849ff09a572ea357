//! Which cases run.

use std::str::FromStr;

use crate::suite::Case;

/// One part of `of` equal parts, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub part: usize,
    pub of: usize,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { part: 1, of: 1 }
    }
}

impl Shard {
    /// Whether the group at this position belongs to the part.
    pub fn takes(&self, at: usize) -> bool {
        at % self.of == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}` is not K/N with K from 1 to N, such as 1/4");
        let (part, of) = text.split_once('/').ok_or_else(wrong)?;
        let (part, of) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if part == 0 || part > of { Err(wrong()) } else { Ok(Shard { part, of }) }
    }
}

/// What a run takes of its suites.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only cases whose id contains this.
    pub filter: Option<String>,
    /// Whether slow cases run too.
    pub slow: bool,
    pub shard: Shard,
}

impl Selection {
    pub fn takes(&self, case: &Case) -> bool {
        (self.slow || !case.slow) && self.filter.as_ref().is_none_or(|text| case.id.contains(text.as_str()))
    }

    /// Whether every case of the suites runs, save the slow ones: only then may reports be overwritten.
    pub fn is_whole(&self) -> bool {
        self.filter.is_none() && self.shard == Shard::default() && !self.slow
    }
}

//! Selection of the cases that run.

use std::str::FromStr;

use crate::suite::{Asked, fingerprint};

/// One of several parts into which machines divide the groups of cases, as in `1/4`; by default `1/1`, all of them.
///
/// The key that a group's cases share alone decides its part, so that another case, or another order, moves none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The part's number, from 1.
    pub part: usize,
    /// The number of parts.
    pub of: usize,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { part: 1, of: 1 }
    }
}

impl Shard {
    /// Whether a group belongs to the part, by the key that its cases share.
    pub(super) fn takes(&self, shared: &str) -> bool {
        let hash = fingerprint([shared.as_bytes()].into_iter());
        // The lowest bits of FNV-1a are the least mixed: the highest go with them.
        (hash ^ (hash >> 32)) % self.of as u64 == self.part as u64 - 1
    }
}

/// A text that names no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not K/N with K from 1 to N, such as 1/4")]
pub struct ShardError {
    /// The text as given.
    pub text: String,
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let wrong = || ShardError { text: text.to_string() };
        let (part, of) = text.split_once('/').ok_or_else(wrong)?;
        let (part, of) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if part == 0 || part > of { Err(wrong()) } else { Ok(Shard { part, of }) }
    }
}

/// The cases that a run takes of its suites.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The cases, of whatever part.
    pub asked: Asked,
    /// The part of the groups that the cases make.
    pub shard: Shard,
}

impl Selection {
    /// Whether no suite is taken in part, slow cases apart.
    pub fn takes_whole_suites(&self) -> bool {
        self.asked.filter.is_none() && self.shard == Shard::default()
    }

    /// Whether exactly the cases of the suites that are not slow run: only then may reports be overwritten.
    pub fn is_whole(&self) -> bool {
        self.takes_whole_suites() && !self.asked.slow
    }
}

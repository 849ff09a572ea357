//! Sets of cases by their ids, as headers hold them: whatever their size they are compared, and take no room.

use serde::{Deserialize, Serialize};

use crate::suite::fingerprint;

/// A set of cases: how many they are, and a fingerprint of their ids that tells it from other sets.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CaseSet {
    /// The number of cases.
    pub count: u64,
    /// The sum of their ids' hashes (FNV-1a, 64 bits), in whichever order they come; in JSON 16 hex digits.
    #[serde(with = "hex")]
    ids: u64,
}

impl CaseSet {
    /// The set of some ids, each given once.
    pub fn of<T: AsRef<str>>(ids: impl IntoIterator<Item = T>) -> CaseSet {
        ids.into_iter().fold(CaseSet::default(), |set, id| {
            let hash = fingerprint([id.as_ref().as_bytes()].into_iter());
            set.plus(CaseSet { count: 1, ids: hash })
        })
    }

    /// The cases of both sets, which have none in common.
    pub fn plus(self, other: CaseSet) -> CaseSet {
        CaseSet { count: self.count + other.count, ids: self.ids.wrapping_add(other.ids) }
    }
}

/// 64 bits as 16 hex digits: JSON's numbers have 53.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = digits.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        value.ok_or_else(|| D::Error::custom(format!("`{text}` is not 16 hex digits")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_the_same_in_any_order_and_no_other_set_is() {
        let set = CaseSet::of(["a/1", "a/2", "b/1"]);
        assert_eq!(set, CaseSet::of(["b/1", "a/1", "a/2"]));
        assert_eq!(set, CaseSet::of(["b/1"]).plus(CaseSet::of(["a/2", "a/1"])));
        for other in [&["a/1", "a/2", "b/2"][..], &["a/1", "a/2"], &["a/1", "a/2b", "/1"], &["a/1", "a/1", "b/1"]] {
            assert_ne!(set, CaseSet::of(other), "{other:?}");
        }
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<CaseSet>(&text).unwrap(), set);
        assert!(serde_json::from_str::<CaseSet>(r#"{"count":1,"ids":"+000000000000001"}"#).is_err());
    }
}

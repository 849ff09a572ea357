//! The part that stored zero points have in elements and rules.

/// Relation of the zero points that elements were rounded with to the stored ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZeroUse {
    /// They are the stored ones, or there are none.
    Stored,
    /// Each is so much above the stored one.
    Above(i32),
    /// Each is the stored one with the other sign.
    Negated,
    /// Elements lie over zero.
    Ignored,
}

impl ZeroUse {
    /// All of them for elements of so many bits, the likeliest first.
    pub fn all(bits: u32) -> [ZeroUse; 7] {
        let half = 1i32 << (bits - 1);
        let beside = [1, -1, half, -half].map(ZeroUse::Above);
        let [one, less, half, less_half] = beside;
        [ZeroUse::Stored, one, less, half, less_half, ZeroUse::Negated, ZeroUse::Ignored]
    }

    /// The zero point of elements and rules, from the stored one.
    pub fn of(self, stored: f64) -> f64 {
        match self {
            ZeroUse::Stored => stored,
            ZeroUse::Above(steps) => stored + f64::from(steps),
            ZeroUse::Negated => -stored,
            ZeroUse::Ignored => 0.0,
        }
    }

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            ZeroUse::Stored => "used",
            ZeroUse::Above(_) => "shifted",
            ZeroUse::Negated => "negated",
            ZeroUse::Ignored => "ignored",
        }
    }

    /// The fault in words, `None` where there is none.
    pub fn fault(self) -> Option<String> {
        Some(match self {
            ZeroUse::Stored => return None,
            ZeroUse::Above(steps) => {
                let side = if steps > 0 { "low" } else { "high" };
                format!("all zero points are {} too {side}: the elements were rounded with others", steps.abs())
            }
            ZeroUse::Negated => {
                "the zero points have the wrong sign: the elements were rounded with their negatives".to_string()
            }
            ZeroUse::Ignored => "the zero points are ignored: the elements were rounded without them".to_string(),
        })
    }
}

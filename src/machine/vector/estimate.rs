//! The processor on which a library computes its functions: some of them refine an estimate that differs between processors, a
//! modelling choice of two.

/// A processor, by the estimate of a reciprocal root that its instruction `rsqrtss` gives (FACTS 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// An AMD EPYC with AVX-512 (Zen 4): 8192 intervals of [1, 4), a table. It is refined once.
    Zen4,
    /// An Intel Xeon with AVX-512: 2048 intervals of [1, 4), of each the number with 12 bits that is nearest to 1/sqrt of its
    /// middle. It is refined twice.
    Intel,
}

impl Estimate {
    /// All of them, the default first.
    pub const ALL: &'static [Estimate] = &[Estimate::Zen4, Estimate::Intel];

    /// The name in a mode, as in `rsqrt=intel`.
    pub const fn name(self) -> &'static str {
        match self {
            Estimate::Zen4 => "zen4",
            Estimate::Intel => "intel",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Estimate> {
        Estimate::ALL.iter().copied().find(|estimate| estimate.name() == name)
    }

    /// Description for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            Estimate::Zen4 => "that of an AMD EPYC with AVX-512 (Zen 4), refined once",
            Estimate::Intel => "that of an Intel Xeon with AVX-512, refined twice",
        }
    }
}

//! Whether a divergence grows faster with size than it should.

use crate::metric::{Better, Unit};
use crate::stat::{Fit, fit_log_log};

use super::{Check, FigureDoc, Outcome, Scope};

pub(super) struct Growth;

/// The check's name, which [`Check::name`] and records of series use.
pub const NAME: &str = "growth";

/// Room above the expected slope, for the curvature that a power law leaves out.
const SLOPE_MARGIN: f64 = 0.1;
/// Confidence of the slope's interval.
const CONFIDENCE: f64 = 0.95;
/// Fewer sizes than this fit anything.
const FEWEST_SIZES: usize = 4;

impl Check for Growth {
    fn name(&self) -> &'static str {
        NAME
    }

    fn doc(&self) -> &'static str {
        "Asks: does a metric grow with size as the theory of the declared mode says? Why it matters: a divergence that is \
         small in a test grows into another token at the sizes that are served. Fails when: the 95 % interval of the \
         slope of log metric against log size lies above the expected slope + 0.1. Sizes with zero or infinite error are \
         dropped, and told; under four sizes it abstains."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["metric", "slope"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[FigureDoc {
            name: "slope",
            unit: Unit::One,
            better: Some(Better::Lower),
            doc: "slope on log-log axes, in growth.csv",
        }]
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Series
    }
}

/// The check's verdict on one metric over one series of sizes.
#[derive(Clone, Debug)]
pub struct Growing {
    /// `Finding` if the slope's interval lies above the expected slope + 0.1; `Abstain` without a fit.
    pub outcome: Outcome,
    /// The fit on log-log axes, with the 95 % interval of its slope; `None` where nothing could be fitted.
    pub fit: Option<Fit>,
    /// The number of sizes with a finite error above zero: those that a fit uses.
    pub used: usize,
    /// The slope against the expected one in words, or why there is no fit.
    pub note: String,
}

/// Fits `metric ~ size^slope` to `(size, metric)` pairs and judges the slope. Pairs whose metric is zero or not finite
/// are dropped, and the note names them; with fewer than four others the outcome is `Abstain`.
pub fn judge(points: &[(f64, f64)], expected_slope: f64) -> Growing {
    // On log-log axes zero has no place, and an infinity would decide the slope alone.
    let used: Vec<(f64, f64)> = points.iter().copied().filter(|(_, y)| *y > 0.0 && y.is_finite()).collect();
    let dropped: Vec<String> =
        points.iter().filter(|point| !used.contains(point)).map(|(n, _)| n.to_string()).collect();
    let (of_all, without) = match &dropped[..] {
        [] => (String::new(), String::new()),
        sizes => (format!(" of {}", points.len()), format!(" (without n = {})", sizes.join(", "))),
    };
    if used.len() < FEWEST_SIZES {
        let note = format!("{}{of_all} sizes with a finite error above zero{without}; four are needed", used.len());
        return Growing { outcome: Outcome::Abstain, fit: None, used: used.len(), note };
    }
    let Some(fit) = fit_log_log(&used, CONFIDENCE) else {
        let note = "all sizes are equal".to_string();
        return Growing { outcome: Outcome::Abstain, fit: None, used: used.len(), note };
    };
    let found = fit.slope_interval.low > expected_slope + SLOPE_MARGIN;
    let note = format!(
        "slope {:.3} [{:.3}, {:.3}] over {}{of_all} sizes{without}, expected {expected_slope}",
        fit.slope,
        fit.slope_interval.low,
        fit.slope_interval.high,
        used.len()
    );
    Growing { outcome: if found { Outcome::Finding } else { Outcome::Pass }, fit: Some(fit), used: used.len(), note }
}

//! The statistics behind the checks: intervals, fits, expectations, rounding-error constants.
//!
//! All of it is elementary arithmetic and correctly rounded functions in a fixed order: the same bits on any machine.

mod binomial;
mod bisect;
mod expected_recall;
mod fit;
mod gamma;
mod quantile;
mod student;
mod tail;

pub use binomial::{Interval, clopper_pearson};
pub use expected_recall::{ExpectedRecall, expected_recall};
pub use fit::{Fit, WeightedPoint, fit_line, fit_log_log};
pub use gamma::{gamma, least_share, probabilistic_gamma, probabilistic_lambda, sum_share};
pub use quantile::quantile;
pub use student::{t_cdf, t_quantile};
pub use tail::{deviation_limit, mean_square_limits};

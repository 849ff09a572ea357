//! The plans of matmuls in compiled TPU files: `window_config` and `convolution_algorithm_config` of a fusion's
//! `backend_config` (FACTS 10.1).

use serde_json::Value;

use crate::ir::Tiling;

use crate::hlo::ast::{self, Attribute};
use crate::hlo::view::Attributes;

/// The plan that an instruction carries; none where it has no such configuration.
pub fn tiling(attributes: &Attributes) -> Option<Tiling> {
    let Some(Attribute { value: ast::Value::Braces(text), .. }) = attributes.find("backend_config") else {
        return None;
    };
    // Most instructions have other configurations, and big files have many: only what names a plan is parsed.
    if !text.contains("\"window_config\"") || !text.contains("\"convolution_algorithm_config\"") {
        return None;
    }
    let config: Value = serde_json::from_str(text).ok()?;
    let windows = config.get("window_config")?;
    let numbers = |name: &str| -> Vec<usize> {
        let number = |v: &Value| v.as_str().and_then(|s| s.parse().ok()).or_else(|| v.as_u64().map(|n| n as usize));
        let list = windows.get(name).and_then(Value::as_array);
        list.and_then(|list| list.iter().map(number).collect()).unwrap_or_default()
    };
    Some(Tiling {
        emitter: config.get("convolution_algorithm_config")?.get("emitter")?.as_str()?.to_string(),
        kernel_window: numbers("kernel_window_bounds"),
        output_window: numbers("output_window_bounds"),
        input_window: numbers("input_window_bounds"),
        iterations: numbers("iteration_bounds"),
        k_block: None,
    })
}

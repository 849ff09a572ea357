//! The plans of matmuls in compiled TPU files: `window_config` and `convolution_algorithm_config` of a fusion's
//! `backend_config` (FACTS 10.1).

use serde_json::Value;

use crate::ir::Tiling;

use crate::ast::{self, Attribute};
use crate::error::LowerError;
use crate::view::Attributes;

/// The plan that an instruction carries; none where it has no such configuration.
///
/// # Errors
/// If a plan is there and one of its lists is no list of numbers.
pub fn tiling(attributes: &Attributes) -> Result<Option<Tiling>, LowerError> {
    let Some(Attribute { value: ast::Value::Braces(text), .. }) = attributes.find("backend_config") else {
        return Ok(None);
    };
    // Most instructions have other configurations, and big files have many: only what names a plan is parsed.
    if !text.contains("\"window_config\"") || !text.contains("\"convolution_algorithm_config\"") {
        return Ok(None);
    }
    // What is no JSON is kept as a setting.
    let Ok(config) = serde_json::from_str::<Value>(text) else { return Ok(None) };
    let emitter = config.get("convolution_algorithm_config").and_then(|algorithm| algorithm.get("emitter"));
    let (Some(windows), Some(emitter)) = (config.get("window_config"), emitter) else { return Ok(None) };
    let wrong = |name: &str, is: &str| attributes.refuse("backend_config", format!("{name} of the plan is no {is}"));
    let numbers = |name: &str| -> Result<Vec<usize>, LowerError> {
        let number = |v: &Value| match v {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|number| usize::try_from(number).ok()),
        };
        let Some(list) = windows.get(name) else { return Ok(Vec::new()) };
        let list = list.as_array().and_then(|list| list.iter().map(number).collect());
        list.ok_or_else(|| wrong(name, "list of numbers"))
    };
    Ok(Some(Tiling {
        emitter: emitter.as_str().ok_or_else(|| wrong("emitter", "name"))?.to_string(),
        kernel_window: numbers("kernel_window_bounds")?,
        output_window: numbers("output_window_bounds")?,
        input_window: numbers("input_window_bounds")?,
        iterations: numbers("iteration_bounds")?,
        k_block: None,
    }))
}

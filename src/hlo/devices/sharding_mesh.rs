//! The meshes of devices that a module's header names: `xla.sdy.meshes` of its `frontend_attributes`.
//!
//! Shardy's forms: openxla/shardy, `docs/sdy_dialect.md`.

use crate::ast::{self, Attribute, Module};

/// The named axes of an array of devices, first the one that varies most slowly.
pub(crate) type Mesh = Vec<(String, usize)>;

/// An attribute's text, without the backslashes of strings in strings.
pub(crate) fn text(attribute: &Attribute) -> Option<String> {
    match &attribute.value {
        ast::Value::Braces(text) | ast::Value::Text(text) => Some(text.replace('\\', "")),
        _ => None,
    }
}

/// The meshes that a module's header names: `mesh = #sdy.mesh<["x"=2, "y"=2]>`.
pub(crate) fn meshes(attributes: &[Attribute]) -> Vec<(String, Mesh)> {
    let found = attributes.iter().filter(|a| a.name == "frontend_attributes").filter_map(text);
    let mut meshes = Vec::new();
    for text in found {
        let Some((_, rest)) = text.split_once("xla.sdy.meshes=") else { continue };
        let mut before = rest;
        while let Some((head, tail)) = before.split_once("= #sdy.mesh<[") {
            let name = head.trim().rsplit(['{', ',', ' ', '"']).next().unwrap_or_default();
            let Some((axes, tail)) = tail.split_once(']') else { break };
            let axis = |axis: &str| {
                let (name, size) = axis.split_once('=')?;
                Some((name.trim().trim_matches('"').to_string(), size.trim().parse().ok()?))
            };
            let axes: Option<Mesh> = axes.split(',').filter(|axis| !axis.trim().is_empty()).map(axis).collect();
            // A mesh in another order of devices says so with device_ids.
            if let (Some(axes), true) = (axes, tail.trim_start().starts_with('>')) {
                meshes.push((name.trim_start_matches('@').to_string(), axes));
            }
            before = tail;
        }
    }
    meshes
}

/// Number of devices of a module's largest mesh; `None` if its header names no mesh.
pub fn devices(module: &Module) -> Option<usize> {
    let size = |mesh: &Mesh| mesh.iter().try_fold(1usize, |product, (_, size)| product.checked_mul(*size));
    meshes(&module.attributes).iter().map(|(_, mesh)| size(mesh).unwrap_or(usize::MAX)).max().filter(|n| *n > 0)
}

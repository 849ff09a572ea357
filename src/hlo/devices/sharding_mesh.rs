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
///
/// # Errors
/// If an axis has no device, or a mesh more of them than can be counted: places in a mesh are quotients by its sizes.
pub fn devices(module: &Module) -> Result<Option<usize>, String> {
    let mut most = None;
    for (name, mesh) in meshes(&module.attributes) {
        let mut devices = 1usize;
        for (axis, size) in &mesh {
            if *size == 0 {
                return Err(format!("mesh `{name}` has no device along `{axis}`: an axis has a size of 1 or more"));
            }
            let product = devices.checked_mul(*size);
            devices = product.ok_or_else(|| format!("mesh `{name}` has more than {} devices", usize::MAX))?;
        }
        most = most.max(Some(devices));
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::devices;
    use crate::parse::parse;

    /// A module runs on as many devices as its largest mesh has, in whatever order the meshes are named.
    #[test]
    fn the_largest_mesh_has_all_devices() {
        let of = |meshes: &[&str]| {
            let header = match meshes {
                [] => String::new(),
                _ => format!(", frontend_attributes={{xla.sdy.meshes={{{}}}}}", meshes.join(", ")),
            };
            let text = format!("HloModule m{header}\n\nENTRY e {{\n  ROOT x = f32[] parameter(0)\n}}\n");
            devices(&parse(&text).unwrap()).unwrap()
        };
        let (eight, four) = (r#"a = #sdy.mesh<["x"=2, "y"=4]>"#, r#"b = #sdy.mesh<["x"=4]>"#);
        assert_eq!([of(&[eight]), of(&[four]), of(&[])], [Some(8), Some(4), None]);
        assert_eq!([of(&[eight, four]), of(&[four, eight])], [Some(8); 2]);
    }
}

//! Operations of two programs that the tool assigns no semantics to.

use crate::ir::Op;

use super::super::change::NotUnderstood;
use super::super::graph::Graph;
use super::super::matching::Pair;

pub fn find_unknown(pair: &Pair) -> NotUnderstood {
    let [(alike, lost), (_, new)] =
        [(&pair.before, &pair.after), (&pair.after, &pair.before)].map(|(own, other)| sides(own, other));
    NotUnderstood { alike, apart: [lost, new] }
}

/// Opaque operations that are the same in the other program, and those that are not.
fn sides(own: &Graph, other: &Graph) -> (Vec<String>, Vec<String>) {
    let (mut alike, mut apart) = (Vec::new(), Vec::new());
    for (id, instruction) in own.entry().instructions.iter().enumerate().filter(|(id, _)| own.values[*id].live) {
        let Op::Opaque(opaque) = &instruction.op else { continue };
        let others = other.instances(own.values[id].expression());
        let is_same = others.iter().any(|id| other.entry().instructions[*id].op == instruction.op);
        let list = if is_same { &mut alike } else { &mut apart };
        let name = format!("{} ({})", own.name(id), opaque.name);
        if !list.contains(&name) {
            list.push(name);
        }
    }
    (alike, apart)
}

//! Lists of devices as an attribute writes them: groups of a collective, and pairs.
//!
//! Forms: openxla/xla `hlo_parser.cc`, `replica_group.cc`.

use crate::ast;

/// Groups, or pairs, as they are written; `None` of a form that is not known.
pub(crate) fn read(value: &ast::Value) -> Option<Vec<Vec<usize>>> {
    match value {
        ast::Value::Words(words) if words.is_empty() => Some(Vec::new()),
        ast::Value::Braces(text) => {
            let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
            let lists = inside.split('}').map(|list| list.trim().trim_start_matches(',').trim());
            lists.filter(|list| !list.is_empty()).map(|list| numbers(list.strip_prefix('{')?)).collect()
        }
        ast::Value::Word(word) => match word.strip_prefix("mesh[") {
            Some(mesh) => of_mesh(mesh),
            None => of_iota(word),
        },
        _ => None,
    }
}

fn numbers(text: &str) -> Option<Vec<usize>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect()
}

/// Numbers `0, 1, ...` in an array of `dims`, its dims in the order of `permutation`, as one list.
fn transposed(dims: &[usize], permutation: &[usize]) -> Option<Vec<usize>> {
    let count = dims.iter().try_fold(1usize, |product, dim| product.checked_mul(*dim)).filter(|n| *n <= 1 << 20)?;
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..dims.len()) {
        return None;
    }
    let stride = |dim: usize| dims[dim + 1..].iter().product::<usize>();
    let mut list = Vec::with_capacity(count);
    for place in 0..count {
        let (mut rest, mut number) = (place, 0);
        for dim in permutation.iter().rev() {
            number += rest % dims[*dim] * stride(*dim);
            rest /= dims[*dim];
        }
        list.push(number);
    }
    Some(list)
}

/// `[2,4]<=[8]`, `[4,2]<=[2,4]T(1,0)`: groups and members of the numbers in an array, perhaps transposed.
fn of_iota(text: &str) -> Option<Vec<Vec<usize>>> {
    let (shape, source) = text.split_once("<=")?;
    let [groups, members] = numbers(shape.strip_prefix('[')?.strip_suffix(']')?)?[..] else { return None };
    let (dims, permutation) = match source.split_once('T') {
        Some((dims, order)) => (dims, Some(numbers(order.strip_prefix('(')?.strip_suffix(')')?)?)),
        None => (source, None),
    };
    let dims = numbers(dims.strip_prefix('[')?.strip_suffix(']')?)?;
    let list = transposed(&dims, &permutation.unwrap_or_else(|| (0..dims.len()).collect()))?;
    let fits = members > 0 && groups.checked_mul(members) == Some(list.len());
    fits.then(|| list.chunks(members).map(<[usize]>::to_vec).collect())
}

/// `'x'=2,'y'=4] {'y'}`: devices in an array with named dims; those that differ only along the dims named last are a group.
fn of_mesh(text: &str) -> Option<Vec<Vec<usize>>> {
    let (axes, along) = text.split_once(']')?;
    let name = |text: &str| Some(text.trim().strip_prefix('\'')?.strip_suffix('\'')?.to_string());
    let axes: Vec<(String, usize)> = axes
        .split(',')
        .map(|axis| {
            let (axis, size) = axis.split_once('=')?;
            Some((name(axis)?, size.trim().parse().ok()?))
        })
        .collect::<Option<_>>()?;
    let along = along.trim().strip_prefix('{')?.strip_suffix('}')?;
    let along: Vec<usize> = along
        .split(',')
        .map(|axis| axes.iter().position(|(n, _)| Some(n) == name(axis).as_ref()))
        .collect::<Option<_>>()?;
    let dims: Vec<usize> = axes.iter().map(|(_, size)| *size).collect();
    let mut order: Vec<usize> = (0..dims.len()).filter(|axis| !along.contains(axis)).collect();
    order.extend(&along);
    let members = along.iter().map(|axis| dims[*axis]).product::<usize>();
    let list = transposed(&dims, &order)?;
    (members > 0).then(|| list.chunks(members).map(<[usize]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Vec<Vec<usize>>> {
        let value =
            if text.starts_with("{{") { ast::Value::Braces(text.into()) } else { ast::Value::Word(text.into()) };
        read(&value)
    }

    #[test]
    fn groups_are_read_in_all_forms() {
        let pairs = Some(vec![vec![0, 1], vec![2, 3]]);
        for text in ["{{0,1},{2,3}}", "{ {0, 1}, {2, 3} }", "[2,2]<=[4]", "mesh['a'=2,'b'=2] {'b'}"] {
            let value =
                if text.starts_with('{') { ast::Value::Braces(text.into()) } else { ast::Value::Word(text.into()) };
            assert_eq!(read(&value), pairs, "{text}");
        }
        let strided = Some(vec![vec![0, 2], vec![1, 3]]);
        assert_eq!(of("[2,2]<=[2,2]T(1,0)"), strided);
        assert_eq!(of("mesh['a'=2,'b'=2] {'a'}"), strided);
        assert_eq!(of("mesh['a'=2,'b'=3] {'b','a'}"), Some(vec![vec![0, 3, 1, 4, 2, 5]]));
        assert_eq!(read(&ast::Value::Words(vec![])), Some(vec![]));
        for broken in
            ["[2,2]<=[5]", "[2]<=[2]", "[0,0]<=[0]", "[2,2]<=[2,2]T(1,1)", "mesh['a'=2] {'b'}", "mesh[a=2] {a}"]
        {
            assert_eq!(of(broken), None, "{broken}");
        }
        assert_eq!(of("{{0,x}}"), None);
    }
}

//! Integers of four and eight bits packed in 32: the layouts of GPTQ, AWQ and compressed-tensors, and the tensors that they hold.

use crate::tensor::{DType, Data, Tensor};

use super::given::{Given, Layout, ScalesError};

/// Packed tensors of a file.
#[derive(Clone, Debug)]
pub struct Words {
    /// Elements, s32 or u32 with two axes.
    pub elements: Tensor,
    /// Scales, floats.
    pub scales: Tensor,
    /// Zero points, s32 or u32.
    pub zeros: Option<Tensor>,
    /// The group of each row of K (`g_idx`), where rows were quantised in order of activations.
    pub groups: Option<Tensor>,
    /// The tensor that was quantised, in either orientation.
    pub input: Option<Tensor>,
}

/// Whether a tensor may be one of packed words.
pub fn is_packed(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::S32 | DType::U32) && tensor.dims().len() == 2
}

/// The codes of words along an axis.
fn unpacked(words: &Tensor, axis: usize, bits: usize, columns: &[usize]) -> Option<Tensor> {
    let [rows, width] = *words.dims() else { return None };
    let per_word = 32 / bits;
    let mut dims = [rows, width];
    dims[axis] *= per_word;
    let mut codes = vec![0u8; rows * width * per_word];
    for at in 0..words.len() {
        let word = words.data().bits(at) as u32;
        let (row, column) = (at / width, at % width);
        for (slot, place) in columns.iter().enumerate() {
            let code = (word >> (bits * slot)) as u8 & (0xffu8 >> (8 - bits));
            let flat = match axis {
                0 => (row * per_word + place) * width + column,
                _ => row * dims[1] + column * per_word + place,
            };
            codes[flat] = code;
        }
    }
    Some(Tensor::new(&dims, Data::U8(codes)))
}

/// The same numbers with both axes exchanged.
fn transposed(tensor: &Tensor) -> Tensor {
    let [rows, columns] = *tensor.dims() else { return tensor.clone() };
    let places: Vec<usize> = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column)).collect();
    tensor.pick(&[columns, rows], &places)
}

/// Rows in the order of their groups, each group's rows as they lie; `None` where groups are not all of one size.
fn order_of(groups: &Tensor, rows: usize, count: usize) -> Option<Vec<usize>> {
    let groups = groups.data().to_i64s();
    let side = rows.div_ceil(count.max(1));
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by_key(|row| groups.get(*row).copied());
    let fits = |(at, row): (usize, &usize)| groups.get(*row).copied() == i64::try_from(at / side).ok();
    (groups.len() == rows && order.iter().enumerate().all(fits)).then_some(order)
}

fn with_rows(tensor: &Tensor, order: &[usize]) -> Tensor {
    let columns = tensor.dims().get(1).copied().unwrap_or(1);
    let places: Vec<usize> =
        order.iter().flat_map(|row| (0..columns).map(move |column| row * columns + column)).collect();
    tensor.pick(tensor.dims(), &places)
}

/// Elements as the type that they are of: without zero points, signed integers.
fn typed(codes: &Tensor, bits: usize, is_signed: bool) -> Tensor {
    let turned = (0..codes.len()).map(|at| codes.data().bits(at) as u8 ^ if is_signed { 1 << (bits - 1) } else { 0 });
    let data = match (bits, is_signed) {
        (4, true) => Data::Coded(DType::S4, turned.collect()),
        (4, false) => Data::Coded(DType::U4, turned.collect()),
        (_, true) => Data::S8(turned.map(|code| code as i8).collect()),
        (_, false) => Data::U8(turned.collect()),
    };
    Tensor::new(codes.dims(), data)
}

/// Zero points of a layout, with the dims of the scales; `Some(None)` of files without.
fn zeros_of(words: &Words, layout: Layout, bits: usize) -> Option<Option<Tensor>> {
    let Some(stored) = &words.zeros else { return Some(None) };
    let zeros = unpacked(stored, layout.axes()[1], bits, &layout.columns(32 / bits))?;
    if zeros.dims() != words.scales.dims() {
        return None;
    }
    let less = i32::from(layout == Layout::Gptq);
    let numbers = zeros.data().to_i64s().into_iter().map(|zero| zero as i32 + less).collect();
    Some(Some(Tensor::new(zeros.dims(), Data::S32(numbers))))
}

/// The tensors of one layout, in the orientation that elements have there; empty where dims do not fit.
fn of_layout(words: &Words, layout: Layout, bits: usize) -> Vec<Given> {
    let mut found = Vec::new();
    if matches!(layout, Layout::Awq | Layout::AwqInOrder) && bits != 4 {
        return found;
    }
    // One reading of zero points is enough where there are none.
    if layout == Layout::GptqV2 && words.zeros.is_none() {
        return found;
    }
    let codes = unpacked(&words.elements, layout.axes()[0], bits, &layout.columns(32 / bits));
    let (Some(mut codes), Some(zero_points)) = (codes, zeros_of(words, layout, bits)) else { return found };
    let [rows, width] = *codes.dims() else { return found };
    let [first, second] = *words.scales.dims() else { return found };
    let is_fit = match layout {
        Layout::Compressed => first == rows && second <= width,
        _ => second == width && first <= rows,
    };
    if !is_fit {
        return found;
    }
    let mut inputs = vec![None];
    if let Some(input) = &words.input {
        inputs = [input.clone(), transposed(input)]
            .into_iter()
            .filter(|one| one.dims() == [rows, width])
            .map(Some)
            .collect();
    }
    if let Some(groups) = words.groups.as_ref().filter(|_| layout != Layout::Compressed) {
        let Some(order) = order_of(groups, rows, first) else { return found };
        codes = with_rows(&codes, &order);
        inputs = inputs.into_iter().map(|input| input.map(|input| with_rows(&input, &order))).collect();
    }
    for input in inputs {
        found.push(Given {
            elements: typed(&codes, bits, zero_points.is_none()),
            scales: words.scales.clone(),
            per_tensor: None,
            input,
            zero_points: zero_points.clone(),
            may_be_reciprocals: false,
            packed: Vec::new(),
        });
    }
    found
}

/// Readings of packed words, the likeliest first.
///
/// # Errors
/// If no layout's dims fit.
pub fn readings(words: &Words) -> Result<Vec<(Layout, Given)>, ScalesError> {
    let mut found = Vec::new();
    for bits in [4, 8] {
        for layout in Layout::ALL {
            found.extend(of_layout(words, layout, bits).into_iter().map(|given| (layout, given)));
        }
    }
    if found.is_empty() {
        let dims = |tensor: &Option<Tensor>| tensor.as_ref().map_or("none".into(), |one| format!("{:?}", one.dims()));
        return Err(ScalesError::Packed {
            elements: words.elements.dims().to_vec(),
            scales: words.scales.dims().to_vec(),
            zeros: dims(&words.zeros),
            input: dims(&words.input),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of one size, a group for each row: rows in the order of their groups, or nothing.
    #[test]
    fn rows_are_ordered_by_groups_of_one_size() {
        let of =
            |groups: &[i32], rows: usize| order_of(&Tensor::new(&[groups.len()], Data::S32(groups.to_vec())), rows, 2);
        assert_eq!(of(&[1, 0, 1, 0], 4), Some(vec![1, 3, 0, 2]));
        assert_eq!(of(&[0, 0, 0, 1], 4), None, "three rows of one group");
        assert_eq!(of(&[0, 0, 1, 2], 4), None, "a third group");
        assert_eq!(of(&[-1, 0, 1, 1], 4), None, "no group");
        assert_eq!(of(&[0, 0, 1], 4), None, "a row without a group");
        assert_eq!(of(&[0, 0, 1, 1, 1], 4), None, "a group without a row");
    }
}

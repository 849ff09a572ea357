use super::*;

/// The source position of every element, computed from its own index without any shortcut.
fn moved(dims: &[usize], out_dims: &[usize], source: impl Fn(&[usize]) -> Vec<usize>) -> Vec<usize> {
    let strides = row_major(dims);
    let mut out = Vec::new();
    for_each_index(out_dims, |_, index| {
        out.push(source(index).iter().zip(&strides).map(|(i, step)| i * *step as usize).sum());
    });
    out
}

#[test]
fn transposes_by_tiles_are_transposes() {
    let cases: [(&[usize], &[usize]); 7] = [
        (&[40, 35], &[1, 0]),
        (&[3, 17, 33], &[2, 0, 1]),
        (&[3, 17, 33], &[0, 2, 1]),
        (&[2, 1, 5, 18], &[3, 1, 2, 0]),
        (&[20, 3, 4, 16], &[2, 0, 1, 3]),
        (&[4, 0, 2], &[2, 1, 0]),
        (&[1, 1], &[1, 0]),
    ];
    for (dims, permutation) in cases {
        let elements: Vec<usize> = (0..dims.iter().product()).collect();
        let out_dims: Vec<usize> = permutation.iter().map(|d| dims[*d]).collect();
        let expected = moved(dims, &out_dims, |index| {
            let mut source = vec![0; dims.len()];
            permutation.iter().zip(index).for_each(|(d, i)| source[*d] = *i);
            source
        });
        let op = Op::Transpose { permutation: permutation.to_vec() };
        assert_eq!(apply(&op, &[(&elements, dims)], &[], &[], &out_dims), expected, "{dims:?} {permutation:?}");
        // Elements that own memory go another way.
        let owned: Vec<Vec<usize>> = elements.iter().map(|at| vec![*at]).collect();
        let owned = apply(&op, &[(&owned, dims)], &[], &[], &out_dims);
        assert_eq!(owned.concat(), expected, "{dims:?} {permutation:?}");
    }
}

#[test]
fn slices_that_lie_side_by_side_are_stretches() {
    let dims = [4, 6, 5];
    let elements: Vec<usize> = (0..120).collect();
    let side_by_side: [([usize; 3], bool); 6] = [
        ([1, 6, 5], true),
        ([2, 6, 5], true),
        ([1, 2, 5], true),
        ([1, 1, 3], true),
        ([2, 2, 5], false),
        ([1, 2, 3], false),
    ];
    for (sizes, expected) in side_by_side {
        // The last start is moved so that the window lies inside.
        for starts in [[0, 0, 0], [1, 2, 1], [9, 9, -9]] {
            let op = Op::DynamicSlice { sizes: sizes.to_vec() };
            let slice = apply(&op, &[(&elements, &dims)], &starts, &[], &sizes);
            match stretch(&op, &dims, &starts, &sizes) {
                Some(range) => assert_eq!(elements[range], slice, "{sizes:?} {starts:?}"),
                None => assert!(!expected, "{sizes:?}"),
            }
            assert_eq!(stretch(&op, &dims, &starts, &sizes).is_some(), expected, "{sizes:?}");
        }
    }
    let every_other = Op::Slice { start: vec![0], limit: vec![4], stride: vec![2] };
    assert_eq!(stretch(&every_other, &[4], &[], &[2]), None);
}

#[test]
fn an_update_replaces_its_window_alone() {
    let array: Vec<usize> = (0..24).collect();
    let op = Op::DynamicUpdateSlice;
    // The start is moved from (1, 3) to (1, 2).
    let updated = apply(&op, &[(&array, &[2, 3, 4]), (&[100, 101, 102, 103], &[1, 2, 2])], &[1, 0, 3], &[], &[2, 3, 4]);
    let expected = |at: usize| match at {
        14 | 15 => 86 + at,
        18 | 19 => 84 + at,
        _ => at,
    };
    assert_eq!(updated, (0..24).map(expected).collect::<Vec<usize>>());
    assert_eq!(apply(&op, &[(&[1], &[]), (&[7], &[])], &[], &[], &[]), [7]);
}

/// Rows of a table, and single elements of one.
#[test]
fn a_gather_of_rows_is_that_of_their_elements() {
    let table: Vec<usize> = (0..20).collect();
    let rows = GatherDims {
        offset_dims: vec![1],
        collapsed_slice_dims: vec![0],
        start_index_map: vec![0],
        index_vector_dim: 1,
        slice_sizes: vec![1, 3],
        ..GatherDims::default()
    };
    // The last row is clamped to the table's own.
    let gathered = apply(&Op::Gather(rows.clone()), &[(&table, &[5, 4])], &[3, 0, 9], &[3], &[3, 3]);
    assert_eq!(gathered, [12, 13, 14, 0, 1, 2, 16, 17, 18]);
    let columns = GatherDims { offset_dims: vec![0], ..rows };
    let gathered = apply(&Op::Gather(columns), &[(&table, &[5, 4])], &[3, 0], &[2], &[3, 2]);
    assert_eq!(gathered, [12, 0, 13, 1, 14, 2]);
}

#[test]
fn a_flat_position_is_told_by_its_index() {
    assert_eq!(index_text(&[3, 4], 7), "[1,3]");
    assert_eq!(index_text(&[3, 4], 5), "[1,1]");
    assert_eq!(index_text(&[2, 3, 4], 22), "[1,2,2]");
    assert_eq!(index_text(&[], 0), "[]");
}

/// Slices have one form exactly if they read the same places.
#[test]
fn slices_of_the_same_places_have_one_form() {
    let of_start =
        |start: usize| (start + 1..=6).flat_map(move |limit| (1..=7).map(move |stride| (start, limit, stride)));
    let all: Vec<(usize, usize, usize)> = (0..6).flat_map(of_start).collect();
    let read = |(start, limit, stride): (usize, usize, usize)| (start..limit).step_by(stride).collect::<Vec<_>>();
    for one in &all {
        let form = places_of_slice(one.0, one.1, one.2);
        assert_eq!((read(form), form.1), (read(*one), read(*one).last().unwrap() + 1), "{one:?}");
        for other in &all {
            let is_one_form = form == places_of_slice(other.0, other.1, other.2);
            assert_eq!(is_one_form, read(*one) == read(*other), "{one:?} {other:?}");
        }
    }
}

/// Positions are those of all indices in order; a dim without elements has index 0.
#[test]
fn a_position_is_an_index_of_each_dim() {
    let dims = [2, 3, 4];
    let mut position = 0;
    for_each_index(&dims, |flat, index| {
        assert_eq!((flat, index_of(&dims, flat)), (position, index.to_vec()));
        position += 1;
    });
    assert_eq!((position, index_text(&dims, 17)), (24, "[1,1,1]".to_string()));
    assert_eq!(index_of(&[3, 0], 2), [2, 0]);
}

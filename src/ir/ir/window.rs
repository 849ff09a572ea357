//! Windows over arrays.

use std::fmt;

/// A window over an array, as `reduce-window` moves it: one entry a dim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window(pub Vec<WindowDim>);

impl Window {
    /// The dims along which each of several positions shows all elements, and no others; none where some dim is seen
    /// otherwise than as a whole or element by element. The TPU compiler writes a reduction that is spread over the dim it
    /// took away as a window of 2n - 1 (FACTS 9).
    pub fn whole_dims(&self, dims: &[usize]) -> Option<Vec<usize>> {
        let mut whole = Vec::new();
        for (dim, (window, size)) in self.0.iter().zip(dims).enumerate() {
            if *window == WindowDim::of_size(1) {
                continue;
            }
            let [size, reach] = [*size, window.size].map(|extent| extent as i128);
            let [pad_low, pad_high] = [window.pad_low, window.pad_high].map(i128::from);
            let positions = size + pad_low + pad_high - reach + 1;
            let plain = (window.stride, window.base_dilation, window.window_dilation) == (1, 1, 1);
            if !plain || positions < 2 || positions - 1 > pad_low || reach - pad_low < size {
                return None;
            }
            whole.push(dim);
        }
        (!whole.is_empty()).then_some(whole)
    }

    /// The dims of an array of all windows, and the dims of it that lie within a window: each dim's positions, of which there
    /// are `positions`, are followed by its elements.
    pub fn dims_by_window(&self, positions: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let dims: Vec<usize> = positions.iter().zip(&self.0).flat_map(|(count, dim)| [*count, dim.size]).collect();
        let within = (0..dims.len()).filter(|d| d % 2 == 1).collect();
        (dims, within)
    }
}

/// One dim of a window, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowDim {
    /// Elements that the window shows.
    pub size: usize,
    /// From one place of the window to the next.
    pub stride: usize,
    /// Padding before the first element of the array; a negative one hides elements.
    pub pad_low: i64,
    /// Padding behind the last element of the array; a negative one hides elements.
    pub pad_high: i64,
    /// From one element of the array to the next: 1 where they are neighbours, more with padding between them.
    pub base_dilation: usize,
    /// From one element that the window shows to the next: 1 where they are neighbours.
    pub window_dilation: usize,
}

impl WindowDim {
    /// A window of `size` that moves by one and sees no padding.
    pub const fn of_size(size: usize) -> WindowDim {
        WindowDim { size, stride: 1, pad_low: 0, pad_high: 0, base_dilation: 1, window_dilation: 1 }
    }
}

/// As HLO writes it, `size=1x2 stride=1x2 pad=0_0x1_1`; what is the same for every window of its size is left out.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        type Field = fn(&WindowDim) -> String;
        let fields: [(&str, &str, Field); 5] = [
            ("size", "none", |dim| dim.size.to_string()),
            ("stride", "1", |dim| dim.stride.to_string()),
            ("pad", "0_0", |dim| format!("{}_{}", dim.pad_low, dim.pad_high)),
            ("lhs_dilate", "1", |dim| dim.base_dilation.to_string()),
            ("rhs_dilate", "1", |dim| dim.window_dilation.to_string()),
        ];
        let mut space = "";
        for (name, default, field) in fields {
            let of_dims: Vec<String> = self.0.iter().map(field).collect();
            if of_dims.iter().any(|text| text != default) {
                write!(f, "{space}{name}={}", of_dims.join("x"))?;
                space = " ";
            }
        }
        Ok(())
    }
}

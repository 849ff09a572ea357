//! Addresses as LLVM sees them when it joins reads.

/// Where an element lies along a dim.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// Known when the code is made.
    Known(isize),
    /// Start and stride, of the loop's index first and then of what each function that is called is given.
    Affine(Vec<(isize, isize)>),
}

impl Address {
    /// The place in an array of which what has this one begins at `start`, with a stride.
    pub fn go_on(&mut self, start: isize, stride: isize) {
        match self {
            Address::Known(at) => *at = start + *at * stride,
            Address::Affine(steps) => {
                if let Some((from, step)) = steps.last_mut() {
                    (*from, *step) = (start + *from * stride, *step * stride);
                }
            }
        }
    }

    /// The same in a branch.
    pub fn enter(&mut self, branch: (isize, isize)) {
        if let Address::Affine(steps) = self {
            steps.insert(0, branch);
        }
    }
}

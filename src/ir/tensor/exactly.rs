//! Numbers in another type that has each of them.

use super::{DType, Data};

/// Why numbers are not those of another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Floats are asked for as integers, or the reverse.
    Kind,
    /// The first element whose number the type has not.
    Number(usize),
}

impl Data {
    /// The same numbers in another type of their kind, floats or integers and predicates; every NaN counts as one.
    ///
    /// # Errors
    /// If the type is of the other kind, or has not all of the numbers.
    pub fn exactly(&self, dtype: DType) -> Result<Data, Unfit> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let data = match (self.dtype().is_float(), dtype.is_float()) {
            (true, true) => Data::from_f64s(dtype, &self.to_f64s()),
            (false, false) => Data::from_i64s(dtype, &self.to_i64s()),
            _ => None,
        };
        let data = data.ok_or(Unfit::Kind)?;
        let is_other = |at: &usize| {
            let (before, after) = (self.get_f64(*at), data.get_f64(*at));
            before != after && !(before.is_nan() && after.is_nan())
        };
        match (0..self.len()).find(is_other) {
            Some(at) => Err(Unfit::Number(at)),
            None => Ok(data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_values_or_the_first_that_does_not_is_named() {
        let floats = Data::F32(vec![1.0, f32::NAN, -0.0, f32::INFINITY]);
        let narrow = floats.exactly(DType::BF16).unwrap();
        assert_eq!((narrow.dtype(), narrow.get_f64(0)), (DType::BF16, 1.0));
        assert!(narrow.get_f64(1).is_nan() && narrow.get_f64(2).is_sign_negative());
        assert_eq!(Data::F32(vec![1.0, 1.001]).exactly(DType::BF16).err(), Some(Unfit::Number(1)));
        assert_eq!(floats.exactly(DType::S32).err(), Some(Unfit::Kind));
        assert_eq!(Data::S64(vec![7, -8]).exactly(DType::S4).unwrap().to_i64s(), [7, -8]);
        assert_eq!(Data::S64(vec![7, 8]).exactly(DType::S4).err(), Some(Unfit::Number(1)));
        assert_eq!(Data::S8(vec![1, 0, 2]).exactly(DType::Pred).err(), Some(Unfit::Number(2)));
        assert_eq!(Data::S8(vec![1, 0]).exactly(DType::F32).err(), Some(Unfit::Kind));
    }
}

//! Codes that a backend gives: of which the machine knows that they run, and whether two are the same.

use std::any::{Any, type_name};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The identity of a code. Two codes that are the same give the same bits of the same operands.
pub trait CodeKey: Any + Send + Sync {
    /// Whether the other code is of the same type and equal.
    fn is_same(&self, other: &dyn Any) -> bool;

    /// Hashes type and value.
    fn hash_into(&self, state: &mut dyn Hasher);

    /// The code as a value of its own type.
    fn as_any(&self) -> &dyn Any;
}

impl<T: Any + Eq + Hash + Send + Sync> CodeKey for T {
    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }

    fn hash_into(&self, mut state: &mut dyn Hasher) {
        // A fingerprint of the hash has to tell codes of two types apart, too.
        type_name::<T>().hash(&mut state);
        self.hash(&mut state);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A code of a backend, behind the trait by which the machine runs it. Clones share it.
pub struct Coded<T: ?Sized>(Arc<T>);

impl<T: ?Sized> Coded<T> {
    /// The code, to be shared.
    pub fn new(code: Arc<T>) -> Coded<T> {
        Coded(code)
    }
}

impl<T: ?Sized> Clone for Coded<T> {
    fn clone(&self) -> Coded<T> {
        Coded(self.0.clone())
    }
}

impl<T: ?Sized> Deref for Coded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Coded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + CodeKey> PartialEq for Coded<T> {
    fn eq(&self, other: &Coded<T>) -> bool {
        (*self.0).is_same((*other.0).as_any())
    }
}

impl<T: ?Sized + CodeKey> Eq for Coded<T> {}

impl<T: ?Sized + CodeKey> Hash for Coded<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (*self.0).hash_into(state);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::{CodeKey, Coded};

    /// Two types with the same fields are two codes.
    #[test]
    fn codes_are_the_same_by_type_and_value() {
        #[derive(PartialEq, Eq, Hash)]
        struct Left(usize);
        #[derive(PartialEq, Eq, Hash)]
        struct Right(usize);
        let codes: Vec<Coded<dyn CodeKey>> =
            vec![Coded::new(Arc::new(Left(1))), Coded::new(Arc::new(Left(2))), Coded::new(Arc::new(Right(1)))];
        assert!(codes[0] == Coded::<dyn CodeKey>::new(Arc::new(Left(1))));
        assert!(codes[0] != codes[1] && codes[0] != codes[2]);
        let again = codes.iter().cloned();
        assert_eq!(codes.iter().cloned().chain(again).collect::<HashSet<_>>().len(), 3);
        let fingerprint = |code: &Coded<dyn CodeKey>| {
            let mut state = std::hash::DefaultHasher::new();
            std::hash::Hash::hash(code, &mut state);
            std::hash::Hasher::finish(&state)
        };
        assert_ne!(fingerprint(&codes[0]), fingerprint(&codes[2]));
    }
}

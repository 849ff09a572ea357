//! Parts of a backend that are told apart by their names.

use std::fmt;
use std::hash::{Hash, Hasher};

/// One of a kind that has a name. No two of the kind have one name.
pub trait Name {
    /// The name.
    fn name(&self) -> &'static str;
}

/// One of a kind, behind its trait; its name is its identity.
pub struct Named<T: ?Sized + 'static>(pub &'static T);

impl<T: ?Sized> Clone for Named<T> {
    fn clone(&self) -> Named<T> {
        *self
    }
}

impl<T: ?Sized> Copy for Named<T> {}

impl<T: ?Sized + Name> PartialEq for Named<T> {
    fn eq(&self, other: &Named<T>) -> bool {
        self.0.name() == other.0.name()
    }
}

impl<T: ?Sized + Name> Eq for Named<T> {}

impl<T: ?Sized + Name> Hash for Named<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

impl<T: ?Sized + Name> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

//! One number in several forms, of which compilers take another than the program's: each file has one identity.

mod inverse_scale;
mod multiples;
mod quotient;
mod uniform_dims;

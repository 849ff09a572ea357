//! A program as a graph of what its values compute.
//!
//! A [`GraphBuilder`] gives each instruction its expression (`express`, by the kind of operation in `regions`, `integers`,
//! `multiples`, `quotient`, `uniform_dims`, `inverse_scale`) and what decides its bits: the operation that rounds ([`RoundingForm`]), the
//! order of additions ([`AdditionOrder`]), the plan of a matmul ([`MatmulPlan`]), the selection of a top-k ([`TopKSelection`]).

mod builder;
pub mod constant_fold;
mod express;
mod form;
mod integers;
mod inverse_scale;
mod multiples;
mod program_graph;
mod quotient;
mod regions;
pub mod roles;
mod selection;
mod sign_of_zero;
mod sum_order;
mod uniform_dims;
mod value;

pub use constant_fold::splat;
pub use form::{Divisor, RoundingForm};
pub use program_graph::Graph;
pub use roles::{ArithmeticHabits, TpuUnit, ValueRole};
pub use selection::TopKSelection;
pub use sum_order::{AdditionOrder, MatmulPlan};
pub use value::Value;

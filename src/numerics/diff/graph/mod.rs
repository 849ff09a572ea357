//! A program as a graph of what its values compute.
//!
//! A `GraphBuilder` gives each instruction its expression (`express`, by the kind of operation in `regions`, `integers`;
//! forms of one number in `identities`) and what decides its bits: the operation that rounds ([`RoundingForm`]), the
//! order of additions ([`AdditionOrder`]), the plan of a matmul ([`MatmulPlan`]), the selection of a top-k ([`TopKSelection`]).

mod addition_order;
pub mod constant_fold;
mod express;
mod graph_builder;
mod graph_value;
mod identities;
mod integers;
mod program_graph;
mod regions;
pub mod roles;
mod rounding_form;
mod sign_of_zero;
mod topk_selection;

pub use addition_order::{AdditionOrder, MatmulPlan};
pub use constant_fold::splat;
pub use graph_value::Value;
pub use program_graph::Graph;
pub use roles::{ArithmeticHabits, TpuUnit, ValueRole};
pub use rounding_form::{Divisor, RoundingForm};
pub use topk_selection::TopKSelection;

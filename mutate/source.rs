//! Places in a file where a fault can be switched on and off while the program runs.

use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Block, Expr, ExprBinary, ExprMatch, ExprUnary, File, Pat};

use crate::Failure;

/// The text of a choice at a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Around the body of a function.
    Body,
    /// Around an expression.
    Expression,
    /// In a guard, between the pattern of a match arm and its arrow: the arm is there, or it is not.
    Arm,
}

/// The bytes of a file that a choice replaces.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

impl Place {
    fn new(kind: Kind, range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end, kind }
    }
}

/// The syntax of a file, as far as faults need it.
#[derive(Default)]
pub struct Source {
    /// Bodies of functions with their braces.
    bodies: Vec<Range<usize>>,
    /// Expressions, and the part of each that a fault may replace: an operator or the whole.
    expressions: Vec<(Range<usize>, Range<usize>)>,
    /// Arms of matches, and what stands between the pattern and the arrow of each.
    arms: Vec<(Range<usize>, Range<usize>)>,
}

impl Source {
    pub fn read(text: &str) -> Result<Self, Failure> {
        let file: File = syn::parse_str(text)?;
        let mut source = Self::default();
        source.visit_file(&file);
        Ok(source)
    }

    /// The places at which this edit can be switched, best first: each switches more text than the one before. None
    /// outside of functions.
    ///
    /// A choice around an expression costs little to compile, but both sides must have one type; around the body of a
    /// function it is nearly always right.
    pub fn places(&self, edit: &Range<usize>, to: &str) -> Vec<Place> {
        let mut places = Vec::new();
        if to.is_empty() {
            let arm = self.arms.iter().find(|(arm, _)| arm == edit);
            places.extend(arm.map(|(_, gap)| Place::new(Kind::Arm, gap.clone())));
        }
        let expression = self.expressions.iter().find(|(_, part)| part == edit);
        places.extend(expression.map(|(whole, _)| Place::new(Kind::Expression, whole.clone())));
        // Braces stay where they are.
        let inside = |body: &&Range<usize>| body.start < edit.start && edit.end < body.end;
        let body = self.bodies.iter().filter(inside).min_by_key(|body| body.len());
        places.extend(body.map(|body| Place::new(Kind::Body, body.clone())));
        places
    }

    fn body(&mut self, block: &Block) {
        self.bodies.push(bytes(block.span()));
    }
}

fn bytes(span: Span) -> Range<usize> {
    span.byte_range()
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.body(&item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.body(&item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.body(block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        // `let` may stand in a chain only.
        if !in_chain(&binary.left) && !in_chain(&binary.right) {
            self.expressions.push((bytes(binary.span()), bytes(binary.op.span())));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        self.expressions.push((bytes(unary.span()), bytes(unary.op.span())));
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, choice: &'ast ExprMatch) {
        let takes_all = |arm: &Arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_) | Pat::Ident(_));
        for arm in &choice.arms {
            // An arm with a guard counts for nothing when the compiler looks for values that no arm takes.
            if !takes_all(arm) && choice.arms.iter().any(takes_all) {
                let gap = bytes(arm.pat.span()).end..bytes(arm.fat_arrow_token.span()).start;
                self.arms.push((bytes(arm.span()), gap));
            }
            if let Some((_, guard)) = &arm.guard {
                self.expressions.push((bytes(guard.span()), bytes(guard.span())));
            }
        }
        visit::visit_expr_match(self, choice);
    }
}

/// Whether this is a `let`, or a chain with one.
fn in_chain(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary { left, op: BinOp::And(_), right, .. }) => in_chain(left) || in_chain(right),
        _ => false,
    }
}

//! Contraction inside a fusion: products that are added without being rounded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ir::{Binary, Computation, ComputationId, Fusion, Mark, Op, ValueId};
use crate::machine::operand_bit;
use crate::tensor::DType;

use super::super::library::LibraryDot;
use super::chosen_terms::equal_choices;
use super::elements_in_places::elements_in_places;
use super::emission::Emission;
use super::folding::Folding;
use super::invariant::Invariants;
use super::known_choice::known_elements;
use super::runs::Runs;
use super::signs::Signs;
use super::sum_loop::leaves_no_loop;

mod reads;

use reads::{Product, Reads};

/// Products that are added before they are rounded.
#[derive(Default)]
pub struct Contractions {
    /// For each value, whether it is such a product, or a move or negation of one.
    pub products: Vec<bool>,
    /// For each user that takes some of these values rounded nevertheless, the bits of these operands.
    pub rounded: HashMap<ValueId, u64>,
    /// For each sum of two products that is computed in several places, whether each element contracts the left
    /// product. The other product is rounded.
    pub left_first: HashMap<ValueId, Arc<[bool]>>,
}

impl Contractions {
    /// Whether `reader` takes its operand at this position unrounded.
    pub fn is_exact_for(&self, reader: ValueId, position: usize, operand: ValueId) -> bool {
        let is_rounded = self.rounded.get(&reader).is_some_and(|bits| *bits & operand_bit(position) != 0);
        self.products.get(operand) == Some(&true) && !is_rounded
    }
}

/// For each value of a computation, whether it is an f32 product, or a move or negation of one, that a compiler
/// contracts with its sum into one fused multiply-add (LLVM's `AllowFPOpFusion::Fast`, as XLA:CPU sets it). Its only
/// user adds or subtracts it in the same fusion, or sums it up with others (`sums` says which regions do). Of two
/// products the left one is contracted, as in LLVM's `visitFADDForFMACombine`. The left operand of an addition is the
/// one of lower rank (`Emission::exchanges`), or the one from which a negated product is subtracted. An exponential
/// ends in a product that is exact, contracted or not: if it is the left one, the other product is rounded.
///
/// A library that takes a sum of products for a dot does not round them either (`LibraryDot`).
///
/// A product that is invariant along the innermost dim is computed before the innermost loop, and rounded there. So is
/// one that is the same for all rows if that loop is unrolled (`invariant.rs`), and one before branches behind which
/// its sum is computed. A user that reads elements of a product at other positions than its own has its own code for
/// the product (`ways.rs`), and rounds there or does not. `uses` counts the reads of each value, and one more for the
/// root.
#[expect(clippy::too_many_lines, reason = "one pass with one state")]
pub fn find_contractions(
    computation: &Computation,
    uses: &[usize],
    sums: impl Fn(ComputationId) -> bool,
) -> Contractions {
    let instructions = &computation.instructions;
    let mut contracted = vec![false; instructions.len()];
    let users = computation.users();
    let reads = Reads::new(computation, (uses, &users));
    // The users that add a product to another number, or pass it to one that does.
    let mut exact: HashSet<(ValueId, ValueId)> = HashSet::new();
    let mut emissions: HashMap<Fusion, Emission> = HashMap::new();
    let mut runs: HashMap<Fusion, Option<Runs>> = HashMap::new();
    let mut by_place: HashMap<ValueId, Arc<[bool]>> = HashMap::new();
    let invariants = Invariants::new(computation);
    let mut folding = Folding::new(computation);
    for (id, instruction) in instructions.iter().enumerate() {
        contracted[id] |= instruction.mark == Some(Mark::Joined);
        // A library that computes a sum of products as a dot keeps its own order, and rounds none of them (FACTS 3.12).
        let in_library = matches!(instruction.fusion(), Some(Fusion::Custom { .. }));
        if in_library
            && let Op::Reduce { to_apply, .. } = instruction.op
            && sums(to_apply)
            && LibraryDot::of_sum(computation, instruction, uses).is_some()
        {
            contracted[instruction.operands[0]] = true;
        }
        let compiled = instruction.fusion().is_some_and(Fusion::is_compiled);
        let adds = match instruction.op {
            Op::Binary(Binary::Add | Binary::Subtract) => true,
            Op::Reduce { to_apply, .. } => sums(to_apply),
            _ => false,
        };
        // Other types are rounded after each operation: LLVM fuses none of them here.
        if !compiled || !adds || instruction.shape.dtype() != Some(DType::F32) {
            continue;
        }
        let mut terms: Vec<Product> = match equal_choices(computation, uses, instruction) {
            Some(choices) => {
                let term = |[choice, chosen]: &[ValueId; 2]| Some(reads.product(*chosen, *choice)?.by_way_of(*choice));
                choices.iter().filter_map(term).collect()
            }
            None => instruction.operands.iter().filter_map(|operand| reads.product(*operand, id)).collect(),
        };
        // With AVX-512 the choice between a product and 0 is made behind the subtraction (`foldSelectWithIdentityConstant`, FACTS 3.11).
        if let Op::Binary(Binary::Subtract) = &instruction.op
            && terms.iter().all(|term| term.partly.is_some())
            && let Some(product) = reads.product_behind_choice(instruction)
        {
            terms = vec![product];
        }
        // A choice that is known in some elements alone is followed neither beside another product nor in a sum (FACTS 3.11).
        if terms.len() > 1 || matches!(instruction.op, Op::Reduce { .. }) {
            terms.retain(|term| term.partly.is_none());
        }
        if let (Some(fusion), Op::Binary(_)) = (instruction.fusion(), &instruction.op) {
            let emission = emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion)));
            let is_gone = |sum: Option<ValueId>| sum.is_some_and(|sum| leaves_no_loop(computation, sum));
            let leaves = |product: ValueId| reads.loops(Some(fusion), |loops| loops.leaves(product, id, is_gone));
            let runs = runs.entry(fusion).or_insert_with(|| Runs::new(computation, fusion));
            let parts = |product: ValueId| runs.as_ref().is_some_and(|runs| runs.parts(product, id));
            let is_apart = |product: ValueId| {
                emission.parts(product, id) || invariants.leaves(product) || leaves(product) || parts(product)
            };
            // Instructions are selected block by block: a product in another block than its sum is rounded there.
            terms.retain(|term| !term.path.last().is_some_and(|product| is_apart(*product)));
            if terms.len() > 1 {
                // The compiler folds a product of constants with each operation rounded: of two products the other one is contracted.
                terms.retain(|term| !term.path.last().is_some_and(|product| folding.takes_all(*product)));
            }
        }
        let taken = match (&terms[..], &instruction.op, instruction.fusion()) {
            ([left, right], Op::Binary(binary), Some(fusion)) => {
                let signs = || Signs::new(*binary == Binary::Subtract, [left.term.clone(), right.term.clone()]);
                let emission = emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion)));
                // The rank of the operands may differ from place to place where a value is computed in several.
                let exchanges = emission.exchanges(id, [left.path[0], right.path[0]]);
                let is_left = |exchanges: bool| signs().first(|| exchanges) == 0;
                let of_places: Vec<bool> = exchanges.values().map(|exchanges| is_left(*exchanges)).collect();
                let first = of_places.first().copied().unwrap_or_else(|| is_left(false));
                let differ = of_places.iter().any(|is_left| *is_left != first);
                let elements = differ.then(|| elements_in_places(computation, Some(fusion), id)).flatten();
                match elements.is_some() || left.parts.is_some() || right.parts.is_some() {
                    true => {
                        let mut left_first = vec![first; instruction.shape.elements()];
                        for (place, is_left) in exchanges.keys().zip(of_places).rev() {
                            let own = elements.iter().filter_map(|elements| elements.get(place)).flatten();
                            left_first.iter_mut().zip(own).filter(|(_, own)| **own).for_each(|(at, _)| *at = is_left);
                        }
                        for (at, is_left) in left_first.iter_mut().enumerate() {
                            *is_left = left.is_at(at) && (*is_left || !right.is_at(at));
                        }
                        by_place.insert(id, left_first.into());
                        vec![left, right]
                    }
                    false => vec![if first { left } else { right }],
                }
            }
            ([Product { path, partly: Some(choice), .. }], ..) => {
                let Some(known) = known_elements(computation, (id, path), choice) else { continue };
                let is_left = instruction.operands[0] == path[0];
                by_place.insert(id, known.iter().map(|is_known| *is_known == is_left).collect());
                vec![&terms[0]]
            }
            ([only], ..) => vec![only],
            _ => continue,
        };
        // The last product of an exponential is by a power of two, and exact: rounded or not it is the same.
        for product in taken.iter().filter(|product| !product.exponential) {
            product.path.iter().for_each(|id| contracted[*id] = true);
            let readers = || [id].into_iter().chain(product.path.iter().copied());
            exact.extend(product.path.iter().flat_map(|read| readers().map(|reader| (reader, *read))));
        }
    }
    let mut rounded: HashMap<ValueId, u64> = HashMap::new();
    // Code for a product that is contracted is written for each user: those that only read it see it rounded.
    for product in (0..instructions.len()).filter(|id| contracted[*id] && uses[*id] > 1) {
        for reader in users[product].iter().filter(|reader| !exact.contains(&(**reader, product))) {
            let operands = instructions[*reader].operands.iter().enumerate();
            let positions = operands.filter(|(_, operand)| **operand == product).map(|(position, _)| position);
            positions.for_each(|position| *rounded.entry(*reader).or_default() |= operand_bit(position));
        }
    }
    Contractions { products: contracted, rounded, left_first: by_place }
}

#[cfg(test)]
mod tests;

//! The computations that an instruction names: inlined in the place of a call, or regions of their own.

use std::sync::Arc;

use crate::ast::Position;
use crate::error::LowerError;
use crate::ir::{self, Binary, Compare, CompareOrder, ComputationId, Fusion, Mark, Op, Setting, Shape, ValueId};
use crate::opcode::{Control, Opcode};
use crate::settings::{is_small_call, packed_part};
use crate::tensor::DType;
use crate::written_shape::Elements;

use super::body::Body;
use super::computation::inline;
use super::emitter::Emitter;
use super::lowered_value::Value;
use super::lowering::Given;
use super::surroundings::Scope;
use super::window_config;

type Result<T> = std::result::Result<T, LowerError>;

impl Emitter<'_, '_> {
    /// The region that an attribute names; of complex numbers, what it does with one part of them.
    pub fn region(&mut self, attribute: &str) -> Result<ComputationId> {
        if self.elements == Elements::OnePart {
            if !self.is_sum(attribute)? {
                return Err(self.unknown_at(attribute, "of regions over complex numbers sums are supported"));
            }
            let dtype = self.claimed_shape()?.element_type();
            return Ok(self.adder(dtype));
        }
        self.named_region(attribute, false)
    }

    /// Whether the region that an attribute names is a sum of its two parameters.
    ///
    /// # Errors
    /// If there is no such region.
    pub fn is_sum(&self, attribute: &str) -> Result<bool> {
        let region = self.lowering.computation(self.instruction, self.attributes().callee(attribute)?)?;
        let root = region.instructions.get(region.root);
        let adds = root.is_some_and(|root| root.opcode == Opcode::Binary(Binary::Add));
        Ok(adds && region.instructions.len() == 3)
    }

    /// The region that adds two numbers of a type.
    pub fn adder(&mut self, dtype: DType) -> ComputationId {
        self.combiner(Binary::Add, dtype)
    }

    /// The region that is a function of two numbers of a type.
    pub fn combiner(&mut self, binary: Binary, dtype: DType) -> ComputationId {
        let result = if binary == Binary::Add { "sum" } else { binary.name() };
        self.of_two(&format!("{}_{dtype}", binary.name()), dtype, result, Op::Binary(binary), dtype)
    }

    /// The comparator that puts the larger of two integers of a type first.
    pub fn larger_first(&mut self, dtype: DType) -> ComputationId {
        let compare = Op::Compare { direction: Compare::Gt, order: CompareOrder::Partial };
        self.of_two(&format!("larger_{dtype}"), dtype, "is_larger", compare, DType::Pred)
    }

    /// The region that makes one number of two of a type.
    fn of_two(&mut self, name: &str, dtype: DType, result: &str, op: Op, to: DType) -> ComputationId {
        let parameter = |number: usize| {
            let shape = Shape::array(dtype, &[]);
            ir::Instruction::new(format!("p{number}"), Op::Parameter(number), vec![], shape)
        };
        let result = ir::Instruction::new(result.to_string(), op, vec![0, 1], Shape::array(to, &[]));
        let region =
            ir::Computation { name: name.to_string(), instructions: vec![parameter(0), parameter(1), result], root: 2 };
        let found = self.lowering.computations.iter().position(|known| *known == region);
        found.unwrap_or_else(|| self.add_computation(region))
    }

    /// The region that an attribute names, with a tuple as its result.
    pub fn tuple_region(&mut self, attribute: &str) -> Result<ComputationId> {
        self.named_region(attribute, true)
    }

    /// The region that an attribute names, as a computation of its own; its result is a tuple if it is one in the file,
    /// or if that is asked for.
    fn named_region(&mut self, attribute: &str, tuple: bool) -> Result<ComputationId> {
        let place = self.lowering.place(self.instruction, self.attributes().callee(attribute)?)?;
        let key = (place, tuple, self.scope.small_call);
        if let Some(id) = self.lowering.regions.get(&key) {
            return Ok(*id);
        }
        let computation = &self.lowering.module.computations[place];
        let (mut body, scope) = (Body::default(), self.scope.of_region());
        let root = inline(self.handlers, self.lowering, computation, Given::Parameters, &mut body, &scope)?;
        let root = match root {
            Value::Array(id) if !tuple => id,
            other => {
                let mut parts = Vec::new();
                other.leaves(&mut parts);
                let results = body.push_results(parts, Position::default(), &self.lowering.computations);
                results.map_err(|why| self.fail(why))?
            }
        };
        let id = self.add_computation(ir::Computation {
            name: computation.name.clone(),
            instructions: body.instructions,
            root,
        });
        self.lowering.regions.insert(key, id);
        Ok(id)
    }

    /// A region that takes a value like `state`, and its root.
    pub fn open_region(&mut self, attribute: &str, state: &Value) -> Result<(Body, Value)> {
        let place = self.lowering.place(self.instruction, self.attributes().callee(attribute)?)?;
        let computation = &self.lowering.module.computations[place];
        let (mut body, scope) = (Body::default(), self.scope.of_region());
        let root = inline(self.handlers, self.lowering, computation, Given::Like(state), &mut body, &scope)?;
        Ok((body, root))
    }

    /// The region that was opened, with its root.
    pub fn close_region(&mut self, attribute: &str, body: Body, root: ValueId) -> Result<ComputationId> {
        let name = self.attributes().callee(attribute)?.to_string();
        Ok(self.add_computation(ir::Computation { name, instructions: body.instructions, root }))
    }

    /// Adds a computation to the program.
    pub fn add_computation(&mut self, computation: ir::Computation) -> ComputationId {
        self.lowering.computations.push(computation);
        self.lowering.computations.len() - 1
    }

    /// The region that an attribute names, with f32 in the place of bf16.
    pub fn wide_region(&mut self, attribute: &str) -> Result<ComputationId> {
        let region = self.region(attribute)?;
        let wide = self.lowering.computations[region].widen();
        let found = self.lowering.computations.iter().position(|c| *c == wide);
        Ok(found.unwrap_or_else(|| {
            self.lowering.computations.push(wide);
            self.lowering.computations.len() - 1
        }))
    }

    /// The result of a computation for these arguments, inlined in the place of the call.
    pub fn inline(&mut self, attribute: &str, arguments: &[Value]) -> Result<Value> {
        let name = self.attributes().callee(attribute)?;
        self.inline_call(name, arguments)
    }

    pub fn inline_call(&mut self, name: &str, arguments: &[Value]) -> Result<Value> {
        let over = match &self.instruction.opcode {
            Opcode::Control(Control::Map) => Some(self.claimed_shape()?.dims().to_vec()),
            _ => self.scope.over.clone(),
        };
        self.inline_within(name, arguments, over, None)
    }

    /// The result of a computation for these arguments, inlined element by element over the dims `over`, or in an
    /// exchange between devices.
    pub fn inline_within(
        &mut self,
        name: &str,
        arguments: &[Value],
        over: Option<Vec<usize>>,
        exchange: Option<Mark>,
    ) -> Result<Value> {
        let callee = self.lowering.computation(self.instruction, name)?;
        let mark = exchange.or_else(|| self.scope.mark.clone());
        let fusion = match mark {
            Some(_) => self.scope.fusion,
            None => self.scope.fusion.or_else(|| self.begun_fusion()),
        };
        let scope = Scope {
            within: self.scope.within.clone().or_else(|| Some(self.instruction.name.clone())),
            op_name: self.attributes().op_name().or_else(|| self.scope.op_name.clone()),
            over,
            fusion,
            mark,
            tiling: window_config::tiling(&self.attributes())?.map(Arc::new).or_else(|| self.scope.tiling.clone()),
            packed: packed_part(
                self.instruction,
                callee,
                self.scope.packed,
                &|name| self.lowering.find(name),
                self.lowering.left,
            ),
            small_call: self.scope.small_call || is_small_call(&self.attributes()),
            settings: self.settings.as_deref().map(<[Setting]>::to_vec).unwrap_or_default(),
            depth: self.scope.depth + 1,
        };
        inline(self.handlers, self.lowering, callee, Given::Arguments(arguments), self.body, &scope)
    }

    /// The fusion that begins here; none for a call.
    fn begun_fusion(&mut self) -> Option<Fusion> {
        if self.instruction.opcode != Opcode::Control(Control::Fusion) {
            return None;
        }
        self.lowering.fusions += 1;
        let number = self.lowering.fusions;
        Some(match self.attributes().word("kind") {
            Some("kCustom") => Fusion::Custom { number, rounds: self.lowering.rounds },
            _ if self.scope.small_call => Fusion::SmallCall(number),
            _ => Fusion::Compiled(number),
        })
    }
}

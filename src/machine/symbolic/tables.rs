//! Functions of one narrow float, by all of their values. A number of 16 bits or fewer has 65,536 values at most: what is computed of it
//! alone is run for each of them, by the kernel that the element has. Functions with equal values are one, however they are
//! computed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::ir::{CompareOrder, Instruction, Op, Shape};
use crate::num::{bf16_nearest, flush_f32};
use crate::tensor::{DTYPES, DType};

use super::super::backend::{Code, Kernel};
use super::super::function_code::FoldedColumns;
use super::super::operand::Operand;
use super::super::value::Value;
use super::run::{Result, Site, Tracer};
use super::symbol::{Facts, Number, Symbol};
use super::symbol_key::Key;
use super::symbols::{Array, Symbols};

/// Tables that one program may have, of up to half a megabyte each.
const TABLES: usize = 256;
/// Elements of which it is known that they are such functions, at most.
const ELEMENTS: usize = 1 << 21;

/// The values of a function for each code of a narrow float. All NaNs are one.
struct Table {
    /// The fingerprint of the values.
    print: Symbol,
    /// Floats as f32 and integers as s64, whatever type they have.
    values: Value,
}

/// A function of a narrow float.
#[derive(Clone)]
struct Function {
    /// The narrow float.
    leaf: Symbol,
    table: Rc<Table>,
}

/// Elements with one code and operands of the same values, of floats of one type, have one name.
type OneName = (Option<Code>, Option<DType>, Vec<Symbol>);

/// A table's name, to be applied to the narrow float.
#[derive(Clone)]
enum Name {
    /// One number, whatever the argument is.
    Number(Symbol),
    /// The argument itself, or its opposite.
    Argument { opposite: bool },
    /// A function of it, or the opposite of one. Opposite functions have one table.
    Function { table: Rc<Table>, facts: Facts, is_bf16: bool, opposite: bool },
}

/// An operand of an element.
enum Given {
    /// A number that no argument decides.
    Number(Symbol),
    Function(Rc<Table>),
}

impl Given {
    fn print(&self) -> Symbol {
        match self {
            Given::Number(number) => *number,
            Given::Function(table) => table.print,
        }
    }

    /// It for each code of a narrow float of so many.
    fn values(&self, shape: &Shape, count: usize) -> Option<Operand> {
        let values = match self {
            Given::Number(number) => Array::new(vec![*number; count]).value(shape.element_type()),
            Given::Function(table) => table.in_type(shape.element_type()).filter(|values| values.len() == count),
        };
        values.map(Operand::whole)
    }
}

/// The functions that are known by their values.
#[derive(Default)]
pub struct Tables {
    functions: RefCell<HashMap<Symbol, Function>>,
    /// Narrow floats as functions of themselves.
    arguments: RefCell<HashMap<DType, Rc<Table>>>,
    /// The same functions of another sign, or flushed, by their prints.
    changed: RefCell<HashMap<(Symbol, bool, bool), Rc<Table>>>,
    names: RefCell<HashMap<(Symbol, DType), Name>>,
}

impl Table {
    fn new(values: Value) -> Option<Rc<Table>> {
        let one_nan = |v: &f32| if v.is_nan() { f32::NAN } else { *v };
        let values = match values {
            Value::Float(_, values) => Value::float(DType::F32, values.iter().map(one_nan).collect()),
            Value::Integer(_, values) => Value::Integer(DType::S64, values),
            Value::Products(products) => Value::Products(products.map(|v| if v.is_nan() { f64::NAN } else { v })),
            Value::Pred(values) => Value::Pred(values),
            Value::Double(_) | Value::Tuple(_) => return None,
        };
        let mut mixer = Key::Values.mixer();
        let mut absorb = |kind: u64, word: u64| {
            mixer.absorb(kind);
            mixer.absorb(word);
        };
        match &values {
            Value::Float(_, values) => values.iter().for_each(|v| absorb(0, v.to_bits().into())),
            Value::Integer(_, values) => values.iter().for_each(|v| absorb(1, *v as u64)),
            Value::Pred(values) => values.iter().for_each(|v| absorb(2, (*v).into())),
            Value::Products(products) => products.single()?.iter().for_each(|v| absorb(3, v.to_bits())),
            Value::Double(_) | Value::Tuple(_) => return None,
        }
        Some(Rc::new(Table { print: mixer.symbol(), values }))
    }

    /// The values with the other sign, or flushed, or both: first flushed.
    fn changed(&self, opposite: bool, flushed: bool) -> Option<Rc<Table>> {
        let one = |v: f32| if flushed { flush_f32(v) } else { v };
        match &self.values {
            Value::Float(dtype, values) => {
                let changed = values.iter().map(|v| if opposite { -one(*v) } else { one(*v) });
                Table::new(Value::float(*dtype, changed.collect()))
            }
            Value::Pred(values) if !flushed => Table::new(Value::pred(values.iter().map(|v| *v != opposite).collect())),
            Value::Products(products) if !flushed => {
                Table::new(Value::Products(products.map(|v| if opposite { -v } else { v })))
            }
            _ => None,
        }
    }

    /// The values in a type that holds them.
    fn in_type(&self, dtype: DType) -> Option<Value> {
        match &self.values {
            Value::Float(_, values) if dtype.is_float() && dtype != DType::F64 => {
                Some(Value::Float(dtype, values.clone()))
            }
            Value::Integer(_, values) if dtype.is_integer() => Some(Value::Integer(dtype, values.clone())),
            Value::Pred(_) if dtype == DType::Pred => Some(self.values.clone()),
            Value::Products(_) if dtype == DType::F32 => Some(self.values.clone()),
            _ => None,
        }
    }

    /// Whether the first value that has a sign is negative; of predicates whether the first one holds.
    fn begins_negative(&self) -> bool {
        match &self.values {
            Value::Float(_, values) => values.iter().find(|v| !v.is_nan()).is_some_and(|v| v.is_sign_negative()),
            Value::Pred(values) => values.first().copied().unwrap_or(false),
            Value::Products(products) => {
                let first = products.single().and_then(|products| products.iter().find(|v| !v.is_nan()));
                first.is_some_and(|v| v.is_sign_negative())
            }
            _ => false,
        }
    }

    /// The number that all values are. NaN is none: the bits that its users may see are not one.
    fn constant(&self) -> Option<Symbol> {
        match &self.values {
            Value::Float(_, values) => {
                let first = values.first()?;
                let is_one = !first.is_nan() && values.iter().all(|v| v.to_bits() == first.to_bits());
                is_one.then(|| Symbol::of(Number::Float(*first)))
            }
            Value::Integer(_, values) => {
                let first = values.first()?;
                values.iter().all(|v| v == first).then(|| Symbol::of(Number::Integer(*first)))
            }
            Value::Pred(values) => {
                let first = values.first()?;
                values.iter().all(|v| v == first).then(|| Symbol::of(Number::Integer(i64::from(*first))))
            }
            _ => None,
        }
    }

    /// Facts of every value, and whether bf16 holds them all.
    fn facts(&self) -> (Facts, bool) {
        let Value::Float(_, values) = &self.values else { return (Facts::default(), false) };
        let facts = Facts {
            normal: values.iter().all(|v| !v.is_subnormal()),
            not_negative: values.iter().all(|v| v.is_nan() || v.is_sign_positive()),
            not_minus_zero: values.iter().all(|v| v.to_bits() != (-0f32).to_bits()),
        };
        (facts, values.iter().all(|v| v.is_nan() || bf16_nearest(*v) == *v))
    }
}

/// The type of a narrow float, where a symbol is known to belong to one.
fn narrow_type(symbol: Symbol) -> Option<DType> {
    DTYPES.into_iter().find(|dtype| symbol.is_of(*dtype))
}

/// The kernel for an array of elements each of which is like the one at this place; `None` where they have another.
fn kernel_at(kernel: &Kernel, at: usize, count: usize, operand: DType) -> Option<Kernel> {
    let all = FoldedColumns { width: 1, first: 0, end: 1 };
    let code = match &kernel.code {
        Code::Unit | Code::Unrounded | Code::InFlight { several: false } => kernel.code.clone(),
        Code::Product { rounded } => Code::Product { rounded: rounded.filter(|folded| folded.hold(at)).map(|_| all) },
        Code::SumOfTwo { left_first } => Code::SumOfTwo { left_first: vec![*left_first.get(at)?; count].into() },
        // Columns are chosen among f32 alone.
        Code::Function(coded) if coded.hold(at) && (coded.columns.is_none() || operand == DType::F32) => {
            let mut coded = coded.clone();
            coded.columns = None;
            Code::Function(coded)
        }
        Code::Function(_) => Code::Unit,
        Code::InFlight { several: true } | Code::Terms { .. } => return None,
    };
    Some(Kernel { code, ..kernel.clone() })
}

/// Whether an operation is one on elements that shows no bits of a NaN.
fn hides_nan(op: &Op) -> bool {
    match op {
        Op::Compare { order, .. } => *order == CompareOrder::Partial,
        Op::Convert | Op::ReducePrecision { .. } | Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Clamp => true,
        _ => false,
    }
}

impl Tracer<'_> {
    /// The elements of a result of an operation on elements, those that are functions of one narrow float named by their values.
    pub fn by_values(&self, site: &Site, result: Symbols) -> Result<Symbols> {
        let Symbols::Array(array) = &result else { return Ok(result) };
        let several = site.operands.iter().any(|operand| operand.as_array().several);
        if !self.permits.by_values || array.several || several || !hides_nan(&site.instruction.op) {
            return Ok(result);
        }
        let mut made: HashMap<OneName, Option<Name>> = HashMap::new();
        let mut elements = array.elements.to_vec();
        for (at, element) in elements.iter_mut().enumerate().filter(|(_, element)| !element.is_known()) {
            let Some((leaf, operands)) = self.operands_by_values(site, at) else { continue };
            // A list of choices has one for each element.
            let code = match &site.kernel.code {
                Code::Unit => None,
                _ => kernel_at(site.kernel, at, 1, site.shapes[0].element_type()).map(|kernel| kernel.code),
            };
            let key = (code, narrow_type(leaf), operands.iter().map(Given::print).collect());
            let name = match made.get(&key) {
                Some(name) => name.clone(),
                None => {
                    let name = self.tabulate(site, at, leaf, &operands)?;
                    made.insert(key, name.clone());
                    name
                }
            };
            if let Some(named) = name.and_then(|name| self.apply_name(&name, leaf)) {
                *element = named;
            }
        }
        Ok(Symbols::Array(Array { exact: array.exact, ..Array::new(elements) }))
    }

    /// A product in flight, rounded, where its values are known.
    pub fn round_by_values(&self, symbol: Symbol) -> Option<Symbol> {
        let Function { leaf, table } = self.function(symbol)?;
        let Value::Products(products) = &table.values else { return None };
        let rounded = Table::new(Value::float(DType::F32, products.to_f32(self.machine.unit.flush)))?;
        self.apply_name(&self.name(rounded, leaf)?, leaf)
    }

    /// The function that a symbol is known to be: of itself, where it is a narrow float.
    fn function(&self, symbol: Symbol) -> Option<Function> {
        if symbol.is_known() || !self.permits.by_values {
            return None;
        }
        let (bare, opposite) = symbol.split_sign();
        let base = bare.unflush();
        let known = self.tables.functions.borrow().get(&base).cloned();
        let Function { leaf, table } = match known {
            Some(function) => function,
            None => Function { leaf: base, table: self.argument(narrow_type(base)?)? },
        };
        let table = self.changed(table, opposite, base != bare)?;
        Some(Function { leaf, table })
    }

    /// The same function with the other sign, or flushed.
    fn changed(&self, table: Rc<Table>, opposite: bool, flushed: bool) -> Option<Rc<Table>> {
        if !opposite && !flushed {
            return Some(table);
        }
        let key = (table.print, opposite, flushed);
        if let Some(changed) = self.tables.changed.borrow().get(&key) {
            return Some(changed.clone());
        }
        let changed = table.changed(opposite, flushed)?;
        self.tables.changed.borrow_mut().insert(key, changed.clone());
        Some(changed)
    }

    /// A narrow float as a function of itself.
    fn argument(&self, dtype: DType) -> Option<Rc<Table>> {
        if let Some(table) = self.tables.arguments.borrow().get(&dtype) {
            return Some(table.clone());
        }
        let format = dtype.format().filter(|format| format.width() <= 16)?;
        let numbers = (0..1u64 << format.width()).map(|code| format.decode(code) as f32).collect();
        let table = Table::new(Value::float(dtype, numbers))?;
        self.tables.arguments.borrow_mut().insert(dtype, table.clone());
        Some(table)
    }

    /// The operands of an element, all of them numbers or functions of one narrow float; `None` for any others.
    fn operands_by_values(&self, site: &Site, at: usize) -> Option<(Symbol, Vec<Given>)> {
        let mut leaf = None;
        let mut operands = Vec::with_capacity(site.operands.len());
        for operand in &site.operands {
            let array = operand.as_array();
            let symbol = array.elements[if array.elements.len() == 1 { 0 } else { at }];
            if symbol.is_known() && !array.exact {
                operands.push(Given::Number(symbol));
                continue;
            }
            let function = self.function(symbol)?;
            let in_flight = matches!(function.table.values, Value::Products(_));
            if *leaf.get_or_insert(function.leaf) != function.leaf || in_flight != array.exact {
                return None;
            }
            operands.push(Given::Function(function.table));
        }
        leaf.map(|leaf| (leaf, operands))
    }

    /// The name of an element by the values that the machine computes; `None` where they are not followed.
    fn tabulate(&self, site: &Site, at: usize, leaf: Symbol, operands: &[Given]) -> Result<Option<Name>> {
        let count = narrow_type(leaf).map_or(0, |dtype| 1 << dtype.bits());
        let kernel = kernel_at(site.kernel, at, count, site.shapes[0].element_type());
        let values: Option<Vec<Operand>> = operands.iter().zip(&site.shapes).map(|(g, s)| g.values(s, count)).collect();
        let (Some(kernel), Some(values)) = (kernel, values) else { return Ok(None) };
        if self.tables.names.borrow().len() >= TABLES {
            return Ok(None);
        }
        let of_all = |shape: &Shape| Shape::array(shape.element_type(), &[count]);
        let shapes: Vec<Shape> = site.shapes.iter().map(|shape| of_all(shape)).collect();
        let instruction = Instruction { shape: of_all(&site.instruction.shape), ..site.instruction.clone() };
        let all = self.machine.instruction(&instruction, &kernel, values, &shapes.iter().collect::<Vec<_>>())?;
        Ok(Table::new(all.into_whole(count)).and_then(|table| self.name(table, leaf)))
    }

    /// The name of a table for arguments of a narrow float's type.
    fn name(&self, table: Rc<Table>, leaf: Symbol) -> Option<Name> {
        let dtype = narrow_type(leaf)?;
        let key = (table.print, dtype);
        if let Some(name) = self.tables.names.borrow().get(&key) {
            return Some(name.clone());
        }
        let opposite = table.begins_negative();
        let name = match table.constant() {
            Some(number) => Name::Number(number),
            None => {
                let table = self.changed(table, opposite, false)?;
                if table.print == self.argument(dtype)?.print {
                    Name::Argument { opposite }
                } else {
                    let (facts, is_bf16) = table.facts();
                    Name::Function { table, facts, is_bf16, opposite }
                }
            }
        };
        self.tables.names.borrow_mut().insert(key, name.clone());
        Some(name)
    }

    /// The symbol of what a name says of a narrow float.
    fn apply_name(&self, name: &Name, leaf: Symbol) -> Option<Symbol> {
        match name {
            Name::Number(number) => Some(*number),
            Name::Argument { opposite } => Some(leaf.with_sign(*opposite)),
            Name::Function { table, facts, is_bf16, opposite } => {
                let symbol = Key::ByValues.mixer().and(table.print).and(leaf).symbol().with(*facts);
                let symbol = if *is_bf16 { symbol.in_type(DType::BF16) } else { symbol };
                let mut functions = self.tables.functions.borrow_mut();
                if functions.len() >= ELEMENTS && !functions.contains_key(&symbol) {
                    return None;
                }
                functions.insert(symbol, Function { leaf, table: table.clone() });
                Some(symbol.with_sign(*opposite))
            }
        }
    }
}

//! Syntax tree of an HLO file, before its meaning is known. Grammar: FACTS 7.2, openxla `hlo_parser.cc`.

use crate::tensor::DType;

use super::opcode::{Control, Opcode};

/// One file: `HloModule NAME, ATTRIBUTES`, side tables, computations.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The name behind `HloModule`.
    pub name: String,
    /// Attributes behind the name, in the file's order: `is_scheduled=true`, `entry_computation_layout={...}`.
    pub attributes: Vec<Attribute>,
    /// `FileNames`, `FunctionNames`, `FileLocations`, `StackFrames`: kept to be printed again.
    pub tables: Vec<Table>,
    /// In the file's order: a computation stands before those that call it.
    pub computations: Vec<Computation>,
    /// Position of the computation marked `ENTRY`, or of the last one.
    pub entry: usize,
}

/// A side table between the header and the computations.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The word above it.
    pub heading: String,
    /// Its lines as they stand.
    pub lines: Vec<String>,
}

/// `NAME SIGNATURE { INSTRUCTIONS }, ATTRIBUTES`.
#[derive(Clone, Debug, PartialEq)]
pub struct Computation {
    /// Without `%`.
    pub name: String,
    /// `(x: f32[2]) -> f32[2]`, which the unoptimized form leaves out.
    pub signature: Option<Signature>,
    /// In the file's order: each stands behind its operands.
    pub instructions: Vec<Instruction>,
    /// Position of the instruction marked `ROOT`, or of the last one.
    pub root: usize,
    /// Attributes behind the closing brace: `, execution_thread="main"`.
    pub attributes: Vec<Attribute>,
    /// Position of its name.
    pub at: Position,
}

/// Declared parameters and result of a computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// Names and shapes of the parameters, in order.
    pub parameters: Vec<(String, Shape)>,
    /// The shape of the root.
    pub result: Shape,
}

/// `NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTES`.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Without `%`.
    pub name: String,
    /// The result's type.
    pub shape: Shape,
    /// The operation, known or not.
    pub opcode: Opcode,
    /// Content of the parentheses.
    pub operands: Operands,
    /// In the file's order.
    pub attributes: Vec<Attribute>,
    /// Position of its name.
    pub at: Position,
}

/// Content of an instruction's parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum Operands {
    /// Names of earlier instructions of the same computation, without `%`; older dumps write each one's shape before it.
    Values(Vec<Operand>),
    /// `parameter(0)`.
    Number(u64),
    /// `constant(...)`.
    Literal(Literal),
}

/// An operand as written: `%a`, or `f32[5]{0} %a`.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The shape before the name. Boxed: most operands have none, and a file has more operands than anything else.
    pub shape: Option<Box<Shape>>,
    /// Without `%`.
    pub name: String,
}

/// A constant's value as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `1.5`, `-inf`, `nan(0x400001)`, `true`, `(1, -2)` of a complex number: one element's text.
    Scalar(String),
    /// `{...}`: the printer left the elements out.
    Elided,
    /// `{1, 2}` or `{ { 1, 2 }, { 3, 4 } }`, at each level. Sparse or indexed forms do not occur.
    List(Vec<Literal>),
    /// `( 1, {2, 3} )`, the value of a tuple.
    Tuple(Vec<Literal>),
}

/// `name=value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// Text before the equals sign: `dimensions`.
    pub name: String,
    /// Value behind the equals sign.
    pub value: Value,
    /// Position of its name.
    pub at: Position,
}

/// An attribute's value as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `LT`, `true`, `-3`, `0.9`, `bf_io->bf`, `0_0x1023_0`, `dot_bf16_bf16_f32_x3`, `%region_0.1` (with its `%`), and
    /// what else is neither string nor braces: `[2,4]<=[8]`, `mesh['x'=2] {'x'}`, `s32[2]{0} {1, 2}`, a string that is no
    /// UTF-8 (with its quotation marks and escapes).
    Word(String),
    /// `"TopK"`, without the quotes, its escapes undone.
    Text(String),
    /// `{1,0}`, `{}`: words between braces, parted by commas.
    Words(Vec<String>),
    /// Any other braces, verbatim with them: `{[0:2], [0:4:1]}`, `{op_name="x" stack_frame_id=2}`, JSON, layouts.
    Braces(String),
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// `bf16[8,1024]{1,0}`.
    Array {
        /// The element type: `bf16`.
        element: Element,
        /// The extents: 8 and 1024.
        dims: Vec<u64>,
        /// The layout, where one is written.
        layout: Option<Layout>,
    },
    /// `(f32[8], s32[8])`.
    Tuple(Vec<Shape>),
}

impl Module {
    /// Whether this looks like a compiler's output: it is scheduled or has fusions. Dumps from before optimization may
    /// have signatures, but neither of these.
    pub fn is_compiled(&self) -> bool {
        let fused = |c: &Computation| c.instructions.iter().any(|i| i.opcode == Opcode::Control(Control::Fusion));
        self.attributes.iter().any(|a| a.name == "is_scheduled") || self.computations.iter().any(fused)
    }

    /// Whether arrays lie in tiles, as TPU compilers lay them out.
    pub fn is_tiled(&self) -> bool {
        let tiled = |shape: &Shape| shape.layout().is_some_and(|layout| !layout.tiles.is_empty());
        self.computations.iter().flat_map(|c| &c.instructions).any(|i| tiled(&i.shape))
    }

    /// Whether a TPU's compiler wrote it: it is compiled, and its arrays lie in tiles. A CPU's files show layouts without tiles;
    /// a compiled file that shows no layout is taken for a TPU's.
    pub fn is_compiled_for_tpu(&self) -> bool {
        let mut all = self.computations.iter().flat_map(|c| &c.instructions);
        self.is_compiled() && (self.is_tiled() || all.all(|i| i.shape.layout().is_none()))
    }
}

impl Shape {
    /// The number of arrays: tuples count as their elements.
    pub fn arrays(&self) -> usize {
        match self {
            Shape::Array { .. } => 1,
            Shape::Tuple(parts) => parts.iter().map(Shape::arrays).sum(),
        }
    }

    /// Whether elements of any array are f64, or complex numbers of f64.
    pub fn has_f64(&self) -> bool {
        match self {
            Shape::Array { element: Element::Known(dtype), .. } => *dtype == DType::F64,
            Shape::Array { element: Element::Other(name), .. } => name == "c128",
            Shape::Tuple(parts) => parts.iter().any(Shape::has_f64),
        }
    }

    /// Whether it is that of a token, which holds nothing.
    pub fn is_token(&self) -> bool {
        matches!(self, Shape::Array { element: Element::Other(name), .. } if name == "token")
    }

    /// Whether it is that of an array of complex numbers.
    pub fn is_complex(&self) -> bool {
        matches!(self, Shape::Array { element: Element::Other(name), .. } if name == "c64" || name == "c128")
    }

    /// The layout of an array, where one is written.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            Shape::Array { layout, .. } => layout.as_ref(),
            Shape::Tuple(_) => None,
        }
    }
}

/// An element type: one that this project has arithmetic for, or another that HLO knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// One with arithmetic.
    Known(DType),
    /// `c64`, `token`, `s4`, ...: parsed, printed, and refused when it is to be computed with.
    Other(String),
}

/// Memory layout of an array: `{1,0:T(8,128)(2,1)S(1)}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// `1,0`: the dims, the one whose neighbours lie side by side first.
    pub minor_to_major: Vec<u64>,
    /// `T(8,128)(2,1)`: the outermost tile first.
    pub tiles: Vec<Vec<u64>>,
    /// The rest of what stands behind the colon, verbatim: `S(1)`, `E(4)`.
    pub rest: String,
}

/// Whether names contain this character: `[A-Za-z0-9_.-]`.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

/// A place in the file, counted from 1, the column in characters. Two places are always equal, so that what was read
/// from two layouts of one text compares equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// The line, from 1; 0 for what stands in no file.
    pub line: u32,
    /// The column in characters, from 1; 0 for what stands in no file.
    pub column: u32,
}

impl PartialEq for Position {
    fn eq(&self, _: &Position) -> bool {
        true
    }
}

impl Eq for Position {}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

//! Random programs, written as HLO in many ways.

use crate::Random;

/// Rows and columns of every array.
pub const ROWS: usize = 3;
pub const COLUMNS: usize = 6;

/// An operation on arrays `f32[ROWS,COLUMNS]`; operands are earlier ones, the first of which are the two arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Unary(&'static str, usize),
    Binary(&'static str, usize, usize),
    /// Rounded to bf16 and taken as f32 again.
    Rounded(usize),
    /// A binary operation in bf16 of operands that are rounded to it, and f32 again.
    Narrow(&'static str, usize, usize),
    /// Each row's sum or largest element, spread over the row.
    Row(&'static str, usize),
    /// A product with the third argument, `f32[COLUMNS,COLUMNS]`.
    Dot(usize),
    /// The second where the first is greater than zero, else the third.
    Choice(usize, usize, usize),
    /// A number.
    Number(&'static str),
}

pub const ARGUMENTS: usize = 2;

const UNARY: [&str; 7] = ["exponential", "negate", "abs", "tanh", "log", "sqrt", "floor"];
const BINARY: [&str; 6] = ["add", "multiply", "subtract", "divide", "maximum", "minimum"];
const NUMBERS: [&str; 8] = ["0", "-0", "1", "-1", "2", "3", "0.25", "-inf"];

pub fn program(random: &mut Random, length: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    while nodes.len() < length {
        let known = ARGUMENTS + nodes.len();
        // Late values are read more often.
        let mut operand =
            || if random.chance(60) { known - 1 - random.below(known.min(3)) } else { random.below(known) };
        let [a, b, c] = [operand(), operand(), operand()];
        nodes.push(node(random, [a, b, c]));
    }
    nodes
}

fn node(random: &mut Random, [a, b, c]: [usize; 3]) -> Node {
    match random.below(12) {
        0 | 1 => Node::Unary(UNARY[random.below(UNARY.len())], a),
        2..=5 => Node::Binary(BINARY[random.below(BINARY.len())], a, b),
        6 => Node::Rounded(a),
        7 => Node::Narrow(BINARY[random.below(4)], a, b),
        8 => Node::Row(["add", "maximum"][random.below(2)], a),
        9 => Node::Dot(a),
        10 => Node::Choice(a, b, c),
        _ => Node::Number(NUMBERS[random.below(NUMBERS.len())]),
    }
}

/// The program with one operation exchanged for another, or reading another operand.
pub fn edited(random: &mut Random, nodes: &[Node]) -> Vec<Node> {
    let mut nodes = nodes.to_vec();
    let at = random.below(nodes.len());
    let known = ARGUMENTS + at;
    let operands = [random.below(known), random.below(known), random.below(known)];
    nodes[at] = match nodes[at].clone() {
        Node::Binary(binary, a, b) if random.chance(40) => Node::Binary(binary, b, a),
        Node::Binary(binary, a, b) if random.chance(50) => Node::Narrow(binary, a, b),
        Node::Narrow(binary, a, b) if random.chance(50) => Node::Binary(binary, a, b),
        Node::Rounded(a) if random.chance(50) => Node::Binary("maximum", a, a),
        Node::Unary(_, a) if random.chance(50) => Node::Unary(UNARY[random.below(UNARY.len())], a),
        _ => node(random, operands),
    };
    nodes
}

/// The ways of writing a program: each choice leaves all bits as they are.
pub struct Hand<'r> {
    random: &'r mut Random,
    /// The number of steps in a hundred that are written otherwise than plainly.
    percent: usize,
    text: String,
    next: usize,
}

impl<'r> Hand<'r> {
    pub fn new(random: &'r mut Random, percent: usize) -> Hand<'r> {
        Hand { random, percent, text: String::new(), next: 0 }
    }

    fn otherwise(&mut self) -> bool {
        self.random.chance(self.percent)
    }

    fn line(&mut self, shape: &str, operation: &str) -> String {
        let name = format!("v{}", self.next);
        self.next += 1;
        self.text.push_str(&format!("  {name} = {shape} {operation}\n"));
        name
    }

    /// The program as HLO, one computation or all of it in a fusion of this kind.
    pub fn write(mut self, nodes: &[Node], fusion: Option<&str>) -> String {
        let square = format!("f32[{ROWS},{COLUMNS}]");
        let arguments = format!(
            "  x0 = {square} parameter(0)\n  x1 = {square} parameter(1)\n  w = f32[{COLUMNS},{COLUMNS}] parameter(2)\n"
        );
        let mut names = vec!["x0".to_string(), "x1".to_string()];
        for node in nodes {
            if self.otherwise() {
                // Nobody reads this.
                self.line(&square, &format!("add({}, x0)", names[names.len() - 1]));
            }
            let name = self.node(node, &names);
            let name = self.moved(name);
            names.push(name);
        }
        let root = &names[names.len() - 1];
        let regions = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
            maximum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(b, a) }\n";
        let text = &self.text;
        match fusion {
            None => format!(
                "HloModule m\n{regions}ENTRY main {{\n{arguments}{text}  ROOT t = ({square}) tuple({root})\n}}\n"
            ),
            Some(kind) => format!(
                "HloModule m, is_scheduled=true\n{regions}fused {{\n{arguments}{text}  ROOT copied = {square} copy({root})\n}}\n\
                 ENTRY main {{\n{arguments}  f = {square} fusion(x0, x1, w), kind={kind}, calls=fused\n  \
                 ROOT t = ({square}) tuple(f)\n}}\n"
            ),
        }
    }

    /// The same elements by a way round.
    fn moved(&mut self, name: String) -> String {
        if !self.otherwise() {
            return name;
        }
        let square = format!("f32[{ROWS},{COLUMNS}]");
        match self.random.below(5) {
            0 => {
                let turned =
                    self.line(&format!("f32[{COLUMNS},{ROWS}]"), &format!("transpose({name}), dimensions={{1,0}}"));
                self.line(&square, &format!("transpose({turned}), dimensions={{1,0}}"))
            }
            1 => {
                let flat = self.line(&format!("f32[{}]", ROWS * COLUMNS), &format!("reshape({name})"));
                self.line(&square, &format!("reshape({flat})"))
            }
            2 => {
                let half = |from: usize, to: usize| format!("slice({name}), slice={{[0:{ROWS}], [{from}:{to}]}}");
                let left = self.line(&format!("f32[{ROWS},2]"), &half(0, 2));
                let right = self.line(&format!("f32[{ROWS},{}]", COLUMNS - 2), &half(2, COLUMNS));
                self.line(&square, &format!("concatenate({left}, {right}), dimensions={{1}}"))
            }
            3 => {
                let back = self.line(&square, &format!("reverse({name}), dimensions={{0}}"));
                self.line(&square, &format!("reverse({back}), dimensions={{0}}"))
            }
            _ => self.line(&square, &format!("copy({name})")),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn node(&mut self, node: &Node, names: &[String]) -> String {
        let square = format!("f32[{ROWS},{COLUMNS}]");
        let narrow = format!("bf16[{ROWS},{COLUMNS}]");
        match node {
            Node::Unary(unary, a) => self.line(&square, &format!("{unary}({})", names[*a])),
            Node::Binary("subtract", a, b) if self.otherwise() => {
                let opposite = self.line(&square, &format!("negate({})", names[*b]));
                self.line(&square, &format!("add({opposite}, {})", names[*a]))
            }
            Node::Binary(binary @ ("add" | "multiply"), a, b) if self.otherwise() => {
                self.line(&square, &format!("{binary}({}, {})", names[*b], names[*a]))
            }
            Node::Binary(binary, a, b) => self.line(&square, &format!("{binary}({}, {})", names[*a], names[*b])),
            Node::Rounded(a) if self.otherwise() => {
                self.line(&square, &format!("reduce-precision({}), exponent_bits=8, mantissa_bits=7", names[*a]))
            }
            Node::Rounded(a) => {
                let rounded = self.line(&narrow, &format!("convert({})", names[*a]));
                self.line(&square, &format!("convert({rounded})"))
            }
            Node::Narrow(binary, a, b) => {
                let [a, b] = [a, b].map(|operand| self.line(&narrow, &format!("convert({})", names[*operand])));
                if self.otherwise() {
                    let [a, b] = [a, b].map(|operand| self.line(&square, &format!("convert({operand})")));
                    let wide = self.line(&square, &format!("{binary}({a}, {b})"));
                    let rounded = self.line(&narrow, &format!("convert({wide})"));
                    return self.line(&square, &format!("convert({rounded})"));
                }
                let result = self.line(&narrow, &format!("{binary}({a}, {b})"));
                self.line(&square, &format!("convert({result})"))
            }
            Node::Row(region, a) => {
                let init = self.line("f32[]", if *region == "add" { "constant(0)" } else { "constant(-inf)" });
                let row = format!("f32[{ROWS}]");
                let sum = if self.otherwise() {
                    let columns = format!("f32[{COLUMNS},{ROWS}]");
                    let turned = self.line(&columns, &format!("transpose({}), dimensions={{1,0}}", names[*a]));
                    self.line(&row, &format!("reduce({turned}, {init}), dimensions={{0}}, to_apply={region}"))
                } else {
                    self.line(&row, &format!("reduce({}, {init}), dimensions={{1}}, to_apply={region}", names[*a]))
                };
                self.line(&square, &format!("broadcast({sum}), dimensions={{0}}"))
            }
            Node::Dot(a) if self.otherwise() => {
                let turned = self.line(&format!("f32[{COLUMNS},{COLUMNS}]"), "transpose(w), dimensions={1,0}");
                let contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
                self.line(&square, &format!("dot({}, {turned}), {contracted}", names[*a]))
            }
            Node::Dot(a) => {
                let contracted = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
                self.line(&square, &format!("dot({}, w), {contracted}", names[*a]))
            }
            Node::Choice(a, b, c) => {
                let pred = format!("pred[{ROWS},{COLUMNS}]");
                let zero = self.line("f32[]", "constant(0)");
                let zeros = self.line(&square, &format!("broadcast({zero}), dimensions={{}}"));
                let asks = if self.otherwise() {
                    format!("compare({zeros}, {}), direction=LT", names[*a])
                } else {
                    format!("compare({}, {zeros}), direction=GT", names[*a])
                };
                let asks = self.line(&pred, &asks);
                self.line(&square, &format!("select({asks}, {}, {})", names[*b], names[*c]))
            }
            Node::Number(number) => {
                let number = self.line("f32[]", &format!("constant({number})"));
                self.line(&square, &format!("broadcast({number}), dimensions={{}}"))
            }
        }
    }
}

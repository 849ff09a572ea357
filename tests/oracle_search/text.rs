//! HLO text of the programs of the search.

use std::fmt::Write;

use ulpgate::ir::{Binary, CompareOrder, Unary};
use ulpgate::tensor::{DType, Data};

use super::ast::{Comparator, Graph, Kind, Node, Op, Reducer, Window, data};

impl Node {
    fn shape(&self) -> String {
        shape(self.dtype, &self.dims)
    }
}

fn shape(dtype: DType, dims: &[usize]) -> String {
    format!("{dtype}[{}]", list(dims))
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

impl Graph {
    /// As HLO text. Constants must not be NaN with a meaning in its bits: HLO text has none.
    pub fn text(&self) -> String {
        let mut text = Text { regions: Vec::new(), lines: String::new(), parameters: 0 };
        for (id, node) in self.nodes.iter().enumerate() {
            text.node(self, id, node);
        }
        let shapes: Vec<String> = self.outputs.iter().map(|o| self.nodes[*o].shape()).collect();
        let names: Vec<String> = self.outputs.iter().map(|o| format!("v{o}")).collect();
        let root = format!("  ROOT results = ({}) tuple({})\n", shapes.join(", "), names.join(", "));
        let regions: String = text.regions.iter().map(|(_, body)| format!("{body}\n")).collect();
        format!("HloModule search\n\n{regions}ENTRY main {{\n{}{root}}}\n", text.lines)
    }
}

struct Text {
    /// Names and texts.
    regions: Vec<(String, String)>,
    lines: String,
    parameters: usize,
}

impl Text {
    fn line(&mut self, name: &str, shape: &str, call: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.lines, "  {name} = {shape} {call}");
    }

    fn region(&mut self, name: String, body: impl FnOnce(&str) -> String) -> String {
        if !self.regions.iter().any(|(known, _)| *known == name) {
            let text = format!("{name} {{\n{}}}\n", body(&name));
            self.regions.push((name.clone(), text));
        }
        name
    }

    fn binary_region(&mut self, binary: Binary, dtype: DType) -> String {
        let opcode = binary.name();
        self.region(format!("{}_{dtype}", opcode.replace('-', "_")), |_| {
            format!("  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT r = {dtype}[] {opcode}(a, b)\n")
        })
    }

    fn reducer(&mut self, reducer: Reducer, dtype: DType) -> String {
        self.region(format!("{reducer:?}_{dtype}"), |_| {
            let body = match reducer {
                Reducer::Binary(_) | Reducer::Magnitude => format!(
                    "  m = {dtype}[] abs(a)\n  n = {dtype}[] abs(b)\n  p = pred[] compare(m, n), direction=GE\n  ROOT r \
                     = {dtype}[] select(p, a, b)\n"
                ),
                Reducer::SquareSum => {
                    format!("  s = {dtype}[] multiply(b, b)\n  ROOT r = {dtype}[] add(a, s)\n")
                }
            };
            format!("  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n{body}")
        })
    }

    /// The condition and the body of a loop.
    fn loop_regions(&mut self, trips: usize, binary: Binary, array: &str) -> (String, String) {
        let state = format!("(s32[], {array}, {array})");
        let id = array.replace(['[', ']', ','], "_");
        let parts = format!("  s = {state} parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n");
        let condition = self.region(format!("below_{trips}_{id}"), |_| {
            format!("{parts}  n = s32[] constant({trips})\n  ROOT p = pred[] compare(i, n), direction=LT\n")
        });
        let body = self.region(format!("step_{}_{id}", binary.name()), |_| {
            format!(
                "{parts}  x = {array} get-tuple-element(s), index=1\n  y = {array} get-tuple-element(s), index=2\n  \
                 one = s32[] constant(1)\n  j = s32[] add(i, one)\n  z = {array} {}(x, y)\n  ROOT t = {state} tuple(j, z, \
                 x)\n",
                binary.name()
            )
        });
        (condition, body)
    }

    /// A computation of one function of an array.
    fn function(&mut self, function: Unary, array: &str) -> String {
        let id = array.replace(['[', ']', ','], "_");
        self.region(format!("{}_{id}", function.name().replace('-', "_")), |_| {
            format!("  x = {array} parameter(0)\n  ROOT r = {array} {}(x)\n", function.name())
        })
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn node(&mut self, graph: &Graph, id: usize, node: &Node) {
        let (name, shape_text) = (format!("v{id}"), node.shape());
        let operands: Vec<String> = node.operands.iter().map(|o| format!("v{o}")).collect();
        let joined = operands.join(", ");
        let dtype = node.dtype;
        let dims_of = |operand: usize| graph.nodes[node.operands[operand]].dims.as_slice();
        let dtype_of = |operand: usize| graph.nodes[node.operands[operand]].dtype;
        let plain = |opcode: &str| format!("{opcode}({joined})");
        let with = |opcode: &str, attributes: String| format!("{opcode}({joined}), {attributes}");
        let call = match &node.op {
            Op::Leaf { parameter: true, .. } => {
                self.parameters += 1;
                format!("parameter({})", self.parameters - 1)
            }
            Op::Leaf { codes, .. } => format!("constant({})", literal(&data(dtype, codes), &node.dims)),
            Op::Iota { dim } => format!("iota(), iota_dimension={dim}"),
            Op::Convert => plain("convert"),
            Op::BitcastConvert => plain("bitcast-convert"),
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                with("reduce-precision", format!("exponent_bits={exponent_bits}, mantissa_bits={mantissa_bits}"))
            }
            Op::Copy => plain("copy"),
            Op::Barrier => plain("opt-barrier"),
            Op::Broadcast { dims } => with("broadcast", format!("dimensions={{{}}}", list(dims))),
            Op::Reshape => plain("reshape"),
            Op::Transpose { permutation } => with("transpose", format!("dimensions={{{}}}", list(permutation))),
            Op::Slice { start, limit, stride } => {
                let range = |d: usize| format!("[{}:{}:{}]", start[d], limit[d], stride[d]);
                let ranges: Vec<String> = (0..start.len()).map(range).collect();
                with("slice", format!("slice={{{}}}", ranges.join(", ")))
            }
            Op::Concatenate { dim } => with("concatenate", format!("dimensions={{{dim}}}")),
            Op::Pad { low, high, interior } => {
                let edge = |d: usize| format!("{}_{}_{}", low[d], high[d], interior[d]);
                with("pad", format!("padding={}", (0..low.len()).map(edge).collect::<Vec<_>>().join("x")))
            }
            Op::Reverse { dims } => with("reverse", format!("dimensions={{{}}}", list(dims))),
            Op::DynamicSlice { sizes } => with("dynamic-slice", format!("dynamic_slice_sizes={{{}}}", list(sizes))),
            Op::DynamicUpdateSlice => plain("dynamic-update-slice"),
            Op::Take => {
                let rest: Vec<usize> = (1..dims_of(0).len()).collect();
                let sizes = [&[1], &dims_of(0)[1..]].concat();
                with(
                    "gather",
                    format!(
                        "offset_dims={{{}}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, \
                         slice_sizes={{{}}}",
                        list(&rest),
                        list(&sizes)
                    ),
                )
            }
            Op::Unary(unary) => plain(unary.name()),
            Op::Binary(binary) => plain(binary.name()),
            Op::Compare { direction, order } => {
                let total = if *order == CompareOrder::Total { ", type=TOTALORDER" } else { "" };
                with("compare", format!("direction={}{total}", direction.name()))
            }
            Op::Select => plain("select"),
            Op::Clamp => plain("clamp"),
            Op::Reduce { dims, reducer } => {
                let region = match reducer {
                    Reducer::Binary(binary) => self.binary_region(*binary, dtype),
                    other => self.reducer(*other, dtype),
                };
                with("reduce", format!("dimensions={{{}}}, to_apply={region}", list(dims)))
            }
            Op::Window { windows, binary } => {
                let region = self.binary_region(*binary, dtype);
                with("reduce-window", format!("window={{{}}}, to_apply={region}", window(windows)))
            }
            Op::ArgExtreme { dim, largest, result } => {
                let of = dtype_of(0);
                let region = self.arg_region(of, *largest);
                let (indices, kept) = (shape(DType::S32, dims_of(0)), list(&node.dims));
                self.line(&format!("{name}.at"), &indices, &format!("iota(), iota_dimension={dim}"));
                let worst = if *largest { "-inf" } else { "inf" };
                self.line(&format!("{name}.low"), &format!("{of}[]"), &format!("constant({worst})"));
                self.line(&format!("{name}.zero"), "s32[]", "constant(0)");
                self.line(
                    &format!("{name}.pair"),
                    &format!("({of}[{kept}], s32[{kept}])"),
                    &format!(
                        "reduce({joined}, {name}.at, {name}.low, {name}.zero), dimensions={{{dim}}}, to_apply={region}"
                    ),
                );
                format!("get-tuple-element({name}.pair), index={result}")
            }
            Op::Sort { dim, stable, comparator, result } => {
                let dtypes: Vec<DType> = (0..operands.len()).map(dtype_of).collect();
                let region = self.comparator(*comparator, &dtypes);
                let call = with("sort", format!("dimensions={{{dim}}}, is_stable={stable}, to_apply={region}"));
                if operands.len() == 1 {
                    call
                } else {
                    let parts: Vec<String> = (0..operands.len()).map(|o| shape(dtype_of(o), dims_of(o))).collect();
                    self.line(&format!("{name}.all"), &format!("({})", parts.join(", ")), &call);
                    format!("get-tuple-element({name}.all), index={result}")
                }
            }
            Op::TopK { k, largest, result } => {
                let dims = list(&node.dims);
                let parts = format!("({}[{dims}], s32[{dims}])", dtype_of(0));
                self.line(&format!("{name}.both"), &parts, &with("topk", format!("k={k}, largest={largest}")));
                format!("get-tuple-element({name}.both), index={result}")
            }
            Op::Dot { lhs_contracting, rhs_contracting, batch } => {
                let batches = if *batch { ", lhs_batch_dims={0}, rhs_batch_dims={0}" } else { "" };
                let dims =
                    format!("lhs_contracting_dims={{{lhs_contracting}}}, rhs_contracting_dims={{{rhs_contracting}}}");
                with("dot", dims + batches)
            }
            Op::While { trips, binary } => {
                let (condition, body) = self.loop_regions(*trips, *binary, &shape_text);
                let state = format!("(s32[], {shape_text}, {shape_text})");
                self.line(&format!("{name}.zero"), "s32[]", "constant(0)");
                self.line(&format!("{name}.state"), &state, &format!("tuple({name}.zero, {joined})"));
                let call = format!("while({name}.state), condition={condition}, body={body}");
                self.line(&format!("{name}.loop"), &state, &call);
                format!("get-tuple-element({name}.loop), index=1")
            }
            Op::Conditional(functions) => {
                let [yes, no] = functions.map(|function| self.function(function, &shape_text));
                with("conditional", format!("true_computation={yes}, false_computation={no}"))
            }
        };
        self.line(&name, &shape_text, &call);
    }

    /// JAX's combiner of values with positions (FACTS 4).
    fn arg_region(&mut self, dtype: DType, largest: bool) -> String {
        let direction = if largest { "GT" } else { "LT" };
        self.region(format!("arg_{direction}_{dtype}"), |_| {
            format!(
                "  v = {dtype}[] parameter(0)\n  i = s32[] parameter(1)\n  w = {dtype}[] parameter(2)\n  j = s32[] \
                 parameter(3)\n  better = pred[] compare(v, w), direction={direction}\n  nan = pred[] compare(v, v), \
                 direction=NE\n  first = pred[] or(better, nan)\n  equal = pred[] compare(v, w), direction=EQ\n  \
                 before = pred[] compare(i, j), direction=LT\n  tie = pred[] and(equal, before)\n  take = pred[] or(first, \
                 tie)\n  value = {dtype}[] select(first, v, w)\n  index = s32[] select(take, i, j)\n  ROOT pair = \
                 ({dtype}[], s32[]) tuple(value, index)\n"
            )
        })
    }

    fn comparator(&mut self, comparator: Comparator, dtypes: &[DType]) -> String {
        let Comparator { kind, descending } = comparator;
        let direction = if descending { "GT" } else { "LT" };
        let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
        self.region(format!("{kind:?}_{direction}_{}", names.join("_")), |_| {
            let mut body = String::new();
            for (at, dtype) in dtypes.iter().enumerate() {
                let _ = writeln!(body, "  a{at} = {dtype}[] parameter({})", 2 * at);
                let _ = writeln!(body, "  b{at} = {dtype}[] parameter({})", 2 * at + 1);
            }
            let key = dtypes[0];
            match kind {
                Kind::Partial => {
                    let _ = writeln!(body, "  ROOT r = pred[] compare(a0, b0), direction={direction}");
                }
                Kind::Total => {
                    let _ = writeln!(body, "  ROOT r = pred[] compare(a0, b0), direction={direction}, type=TOTALORDER");
                }
                Kind::Magnitude => {
                    let _ = writeln!(body, "  a = {key}[] abs(a0)\n  b = {key}[] abs(b0)");
                    let _ = writeln!(body, "  ROOT r = pred[] compare(a, b), direction={direction}");
                }
                Kind::Canonical => {
                    let _ = writeln!(body, "  zero = {key}[] constant(0)\n  nan = {key}[] constant(nan)");
                    for side in ["a", "b"] {
                        let _ = writeln!(
                            body,
                            "  {side}.zero = pred[] compare({side}0, zero), direction=EQ\n  {side}.n = {key}[] \
                             select({side}.zero, zero, {side}0)\n  {side}.nan = pred[] compare({side}0, {side}0), \
                             direction=NE\n  {side} = {key}[] select({side}.nan, nan, {side}.n)"
                        );
                    }
                    let _ = writeln!(body, "  ROOT r = pred[] compare(a, b), direction={direction}, type=TOTALORDER");
                }
                Kind::Ties => {
                    let _ = writeln!(
                        body,
                        "  before = pred[] compare(a0, b0), direction={direction}\n  after = pred[] compare(b0, a0), \
                         direction={direction}\n  tie = pred[] compare(before, after), direction=EQ\n  earlier = \
                         pred[] compare(a1, b1), direction=LT\n  ROOT r = pred[] select(tie, earlier, before)"
                    );
                }
            }
            body
        })
    }
}

fn window(windows: &[Window]) -> String {
    let join = |of: &dyn Fn(&Window) -> String| windows.iter().map(of).collect::<Vec<_>>().join("x");
    format!(
        "size={} stride={} pad={} lhs_dilate={} rhs_dilate={}",
        join(&|w| w.size.to_string()),
        join(&|w| w.stride.to_string()),
        join(&|w| format!("{}_{}", w.low, w.high)),
        join(&|w| w.base_dilation.to_string()),
        join(&|w| w.window_dilation.to_string())
    )
}

/// A constant's elements in braces, one level a dim.
fn literal(data: &Data, dims: &[usize]) -> String {
    let element = |i: usize| match data {
        Data::Pred(v) => v[i].to_string(),
        Data::U64(v) => v[i].to_string(),
        _ if data.dtype().is_float() => {
            let value = data.get_f64(i);
            if value.is_nan() { "nan".to_string() } else { format!("{value:?}") }
        }
        _ => data.get_i64(i).to_string(),
    };
    fn nested(dims: &[usize], at: &mut usize, element: &dyn Fn(usize) -> String) -> String {
        match dims.split_first() {
            None => {
                *at += 1;
                element(*at - 1)
            }
            Some((n, rest)) => {
                let parts: Vec<String> = (0..*n).map(|_| nested(rest, at, element)).collect();
                format!("{{{}}}", parts.join(", "))
            }
        }
    }
    nested(dims, &mut 0, &element)
}

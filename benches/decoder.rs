//! A decoder of Llama's shape (rope, grouped keys and values, SwiGLU) with random weights: its HLO, its arguments, and its logits
//! by plain MPFR arithmetic, one operation after the other.

use rug::Float;
use ulpgate::tensor::{DType, Data, Tensor};

/// Sizes of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Decoder {
    /// Layers.
    pub layers: usize,
    /// Width of the residual stream: heads times the width of one.
    pub width: usize,
    /// Heads.
    pub heads: usize,
    /// Heads of keys and values.
    pub groups: usize,
    /// Width of the feed-forward part.
    pub hidden: usize,
    /// Tokens.
    pub vocabulary: usize,
    /// Positions.
    pub positions: usize,
}

/// The shape of SmolLM2-135M.
pub const SMOL: Decoder =
    Decoder { layers: 30, width: 576, heads: 9, groups: 3, hidden: 1536, vocabulary: 49152, positions: 16 };

/// The number that is added to mean squares.
const EPSILON: f64 = 1.0 / 131072.0;

/// Approximately normal numbers: sums of twelve uniform ones.
struct Normal(u64);

impl Normal {
    fn draw(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

impl Decoder {
    fn head(&self) -> usize {
        self.width / self.heads
    }

    /// The arguments of a layer: the norm's weights and q, k, v, o; then the norm's and gate, up, down.
    fn layer_dims(&self) -> [Vec<usize>; 9] {
        let (width, kept, hidden) = (self.width, self.groups * self.head(), self.hidden);
        [
            vec![width],
            vec![width, width],
            vec![width, kept],
            vec![width, kept],
            vec![width, width],
            vec![width],
            vec![width, hidden],
            vec![width, hidden],
            vec![hidden, width],
        ]
    }

    /// The program's arguments: embeddings of the tokens, cosines and sines, the layers', the last norm's, the head's.
    pub fn arguments(&self, seed: u64) -> Vec<Tensor> {
        let mut normal = Normal(seed);
        let mut random = |dims: &[usize], mean: f64, deviation: f64| {
            let values: Vec<f64> = (0..dims.iter().product()).map(|_| mean + deviation * normal.draw()).collect();
            Tensor::new(dims, Data::from_f64s(DType::BF16, &values).expect("bf16 holds floats"))
        };
        let half = self.head() / 2;
        let angle = |at: usize| {
            let (position, pair) = ((at / half) as f64, (at % half) as f64);
            position * 1e5f64.powf(-pair / half as f64)
        };
        let wave = |of: fn(f64) -> f64| {
            let values = (0..self.positions * half).map(|at| of(angle(at)) as f32).collect();
            Tensor::new(&[self.positions, half], Data::F32(values))
        };
        let mut arguments = vec![random(&[self.positions, self.width], 0.0, 0.1), wave(f64::cos), wave(f64::sin)];
        for _ in 0..self.layers {
            for dims in self.layer_dims() {
                arguments.push(match dims[..] {
                    [_] => random(&dims, 1.0, 0.2),
                    _ => random(&dims, 0.0, (dims[0] as f64).powf(-0.5)),
                });
            }
        }
        arguments.push(random(&[self.width], 1.0, 0.2));
        arguments.push(random(&[self.vocabulary, self.width], 0.0, 0.1));
        arguments
    }

    /// The program: logits of all positions, and the token of each.
    pub fn hlo(&self) -> String {
        let Decoder { heads, groups, width, hidden, vocabulary, positions: t, .. } = *self;
        let (head, half, each) = (self.head(), self.head() / 2, heads / groups);
        let mut text = Text { lines: String::new(), parameters: 0, names: 0, positions: t, width };
        let inputs = ["bf16", "f32", "f32"].into_iter().zip([width, half, half]);
        let inputs: Vec<String> = inputs.map(|(dtype, n)| text.parameter(dtype, &[t, n])).collect();
        let mut x = text.line(&format!("f32[{t},{width}] convert({})", inputs[0]));
        let mask = {
            let [i, j] = [0, 1].map(|dim| text.line(&format!("s32[{t},{t}] iota(), iota_dimension={dim}")));
            let mask = text.line(&format!("pred[{t},{t}] compare({i}, {j}), direction=GE"));
            text.line(&format!("pred[{groups},{t},{each},{t}] broadcast({mask}), dimensions={{1,3}}"))
        };
        for _ in 0..self.layers {
            let weights = self.layer_dims().map(|dims| text.weights(&dims));
            let [norm, q, k, v, o, next_norm, gate, up, down] = &weights;
            let h = text.norm(&x, norm);
            let [q, k, v] = [(q, heads), (k, groups), (v, groups)].map(|(weights, n)| {
                let product = text.matmul(&h, weights, [t, n * head]);
                text.line(&format!("f32[{t},{n},{head}] reshape({product})"))
            });
            let [q, k] = [(q, heads), (k, groups)].map(|(x, n)| text.rope(&x, n, half, &inputs));
            let q = text.line(&format!("f32[{t},{groups},{each},{head}] reshape({q})"));
            let dims = "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}";
            let scores = format!("f32[{groups},{t},{each},{t}]");
            let s = text.line(&format!("{scores} dot({q}, {k}), {dims}"));
            let scale = text.splat((head as f64).powf(-0.5), &scores);
            let low = text.splat(-1e30, &scores);
            let s = text.line(&format!("{scores} multiply({s}, {scale})"));
            let s = text.line(&format!("{scores} select({mask}, {s}, {low})"));
            let p = text.softmax(&s, &scores, &format!("f32[{groups},{t},{each}]"));
            let dims = "lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={3}, rhs_contracting_dims={0}";
            let a = text.line(&format!("f32[{groups},{t},{each},{head}] dot({p}, {v}), {dims}"));
            let a = text.line(&format!("f32[{t},{groups},{each},{head}] transpose({a}), dimensions={{1,0,2,3}}"));
            let a = text.line(&format!("f32[{t},{width}] reshape({a})"));
            let a = text.matmul(&a, o, [t, width]);
            x = text.line(&format!("f32[{t},{width}] add({x}, {a})"));
            let h = text.norm(&x, next_norm);
            let [gate, up] = [gate, up].map(|weights| text.matmul(&h, weights, [t, hidden]));
            let share = text.line(&format!("f32[{t},{hidden}] logistic({gate})"));
            let gate = text.line(&format!("f32[{t},{hidden}] multiply({gate}, {share})"));
            let both = text.line(&format!("f32[{t},{hidden}] multiply({gate}, {up})"));
            let more = text.matmul(&both, down, [t, width]);
            x = text.line(&format!("f32[{t},{width}] add({x}, {more})"));
        }
        let norm = text.weights(&[width]);
        let table = text.weights(&[vocabulary, width]);
        let h = text.norm(&x, &norm);
        let dims = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";
        let logits = text.line(&format!("f32[{t},{vocabulary}] dot({h}, {table}), {dims}"));
        let add = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n";
        let largest =
            "largest {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] maximum(a, b)\n}\n";
        let lines = text.lines.replace(&format!("  {logits} ="), &format!("  ROOT {logits} ="));
        format!(
            "HloModule decoder\n\n{add}\n{largest}\nENTRY main {{\n  zero = f32[] constant(0)\n  low = f32[] constant(-inf)\n{lines}}}\n"
        )
    }

    /// Logits of one position, all earlier ones evaluated for it, rounded to f32.
    #[expect(clippy::too_many_lines, reason = "the layers of one network, in order")]
    pub fn logits(&self, arguments: &[Tensor], position: usize, bits: u32) -> Vec<f32> {
        let (head, half, each) = (self.head(), self.head() / 2, self.heads / self.groups);
        let number = |value: f64| Float::with_val(bits, value);
        let product = |x: &[Float], weights: &Tensor, n: usize| -> Vec<Float> {
            let weights = weights.data();
            let dot = |j: usize| {
                let terms: Vec<Float> = (0..x.len()).map(|l| &x[l] * number(weights.get_f64(l * n + j))).collect();
                terms.iter().fold(number(0.0), |sum, term| sum + term)
            };
            (0..n).map(dot).collect()
        };
        let norm = |x: &[Float], weights: &Tensor| -> Vec<Float> {
            let squares = x.iter().fold(number(0.0), |sum, v| sum + Float::with_val(bits, v * v));
            let root = (squares / x.len() as u32 + EPSILON).recip_sqrt();
            x.iter().enumerate().map(|(i, v)| Float::with_val(bits, v * &root) * weights.data().get_f64(i)).collect()
        };
        let rope = |x: &[Float], n: usize, at: usize| -> Vec<Float> {
            let mut turned = x.to_vec();
            for (unit, i) in (0..n).flat_map(|unit| (0..half).map(move |i| (unit * head, i))) {
                let [cos, sin] = [1, 2].map(|argument| arguments[argument].data().get_f64(at * half + i));
                let (a, b) = (&x[unit + i], &x[unit + half + i]);
                turned[unit + i] = Float::with_val(bits, a * cos) - Float::with_val(bits, b * sin);
                turned[unit + half + i] = Float::with_val(bits, a * sin) + Float::with_val(bits, b * cos);
            }
            turned
        };
        let row =
            |at: usize| (0..self.width).map(|i| number(arguments[0].data().get_f64(at * self.width + i))).collect();
        let mut rows: Vec<Vec<Float>> = (0..=position).map(row).collect();
        for weights in arguments[3..].chunks(9).take(self.layers) {
            let [w_norm, wq, wk, wv, wo, w_next, w_gate, w_up, w_down] = weights else { unreachable!("nine a layer") };
            let kept = self.groups * head;
            let states: Vec<[Vec<Float>; 3]> = rows
                .iter()
                .enumerate()
                .map(|(at, x)| {
                    let h = norm(x, w_norm);
                    let (q, k) = (product(&h, wq, self.width), product(&h, wk, kept));
                    [rope(&q, self.heads, at), rope(&k, self.groups, at), product(&h, wv, kept)]
                })
                .collect();
            for (at, x) in rows.iter_mut().enumerate() {
                let mut mixed = Vec::with_capacity(self.width);
                for unit in 0..self.heads {
                    let (from, to) = (unit * head, unit / each * head);
                    let weight = |other: &[Vec<Float>; 3]| {
                        let score = (0..head).fold(number(0.0), |sum, i| {
                            sum + Float::with_val(bits, &states[at][0][from + i] * &other[1][to + i])
                        });
                        (score * f64::from((head as f64).powf(-0.5) as f32)).exp()
                    };
                    let shares: Vec<Float> = states[..=at].iter().map(weight).collect();
                    let sum = shares.iter().fold(number(0.0), |sum, share| sum + share);
                    mixed.extend((0..head).map(|i| {
                        let terms = shares.iter().zip(&states[..=at]);
                        terms.fold(number(0.0), |total, (share, other)| {
                            total + Float::with_val(bits, share * &other[2][to + i])
                        }) / &sum
                    }));
                }
                x.iter_mut().zip(product(&mixed, wo, self.width)).for_each(|(x, more)| *x += more);
                let h = norm(x, w_next);
                let (gate, up) = (product(&h, w_gate, self.hidden), product(&h, w_up, self.hidden));
                let silu = |v: &Float| Float::with_val(bits, v / (Float::with_val(bits, -v).exp() + 1u32));
                let both: Vec<Float> = gate.iter().zip(&up).map(|(gate, up)| silu(gate) * up).collect();
                x.iter_mut().zip(product(&both, w_down, self.width)).for_each(|(x, more)| *x += more);
            }
        }
        let [.., w_norm, table] = arguments else { unreachable!("a norm and a head") };
        let h = norm(&rows[position], w_norm);
        let table = table.data();
        let dot = |j: usize| {
            (0..self.width).fold(number(0.0), |sum, l| {
                sum + Float::with_val(bits, &h[l] * number(table.get_f64(j * self.width + l)))
            })
        };
        (0..self.vocabulary).map(|j| dot(j).to_f32()).collect()
    }
}

/// HLO text as it grows.
struct Text {
    lines: String,
    parameters: usize,
    names: usize,
    positions: usize,
    width: usize,
}

impl Text {
    fn line(&mut self, what: &str) -> String {
        self.names += 1;
        let name = format!("v{}", self.names);
        self.lines.push_str(&format!("  {name} = {what}\n"));
        name
    }

    fn parameter(&mut self, dtype: &str, dims: &[usize]) -> String {
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        self.parameters += 1;
        self.line(&format!("{dtype}[{}] parameter({})", dims.join(","), self.parameters - 1))
    }

    /// A bf16 parameter, widened.
    fn weights(&mut self, dims: &[usize]) -> String {
        let weights = self.parameter("bf16", dims);
        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
        self.line(&format!("f32[{}] convert({weights})", dims.join(",")))
    }

    fn splat(&mut self, value: f64, shape: &str) -> String {
        let scalar = self.line(&format!("f32[] constant({value:e})"));
        self.line(&format!("{shape} broadcast({scalar}), dimensions={{}}"))
    }

    fn matmul(&mut self, x: &str, weights: &str, [m, n]: [usize; 2]) -> String {
        self.line(&format!("f32[{m},{n}] dot({x}, {weights}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"))
    }

    fn norm(&mut self, x: &str, weights: &str) -> String {
        let (row, whole) = (format!("f32[{}]", self.positions), format!("f32[{},{}]", self.positions, self.width));
        let squares = self.line(&format!("{whole} multiply({x}, {x})"));
        let sum = self.line(&format!("{row} reduce({squares}, zero), dimensions={{1}}, to_apply=add"));
        let count = self.splat(self.width as f64, &row);
        let mean = self.line(&format!("{row} divide({sum}, {count})"));
        let epsilon = self.splat(EPSILON, &row);
        let mean = self.line(&format!("{row} add({mean}, {epsilon})"));
        let root = self.line(&format!("{row} rsqrt({mean})"));
        let roots = self.line(&format!("{whole} broadcast({root}), dimensions={{0}}"));
        let scaled = self.line(&format!("{whole} multiply({x}, {roots})"));
        let weights = self.line(&format!("{whole} broadcast({weights}), dimensions={{1}}"));
        self.line(&format!("{whole} multiply({scaled}, {weights})"))
    }

    fn rope(&mut self, x: &str, heads: usize, half: usize, inputs: &[String]) -> String {
        let t = self.positions;
        let shape = format!("f32[{t},{heads},{half}]");
        let [a, b] = [0, half].map(|from| {
            let slice = format!("{{[0:{t}], [0:{heads}], [{from}:{}]}}", from + half);
            self.line(&format!("{shape} slice({x}), slice={slice}"))
        });
        let [cos, sin] =
            [1, 2].map(|input| self.line(&format!("{shape} broadcast({}), dimensions={{0,2}}", inputs[input])));
        let products = [(&a, &cos), (&b, &sin), (&a, &sin), (&b, &cos)];
        let [ac, bs, as_, bc] = products.map(|(x, y)| self.line(&format!("{shape} multiply({x}, {y})")));
        let first = self.line(&format!("{shape} subtract({ac}, {bs})"));
        let second = self.line(&format!("{shape} add({as_}, {bc})"));
        self.line(&format!("f32[{t},{heads},{}] concatenate({first}, {second}), dimensions={{2}}", 2 * half))
    }

    fn softmax(&mut self, s: &str, whole: &str, rows: &str) -> String {
        let top = self.line(&format!("{rows} reduce({s}, low), dimensions={{3}}, to_apply=largest"));
        let top = self.line(&format!("{whole} broadcast({top}), dimensions={{0,1,2}}"));
        let shifted = self.line(&format!("{whole} subtract({s}, {top})"));
        let e = self.line(&format!("{whole} exponential({shifted})"));
        let sum = self.line(&format!("{rows} reduce({e}, zero), dimensions={{3}}, to_apply=add"));
        let sum = self.line(&format!("{whole} broadcast({sum}), dimensions={{0,1,2}}"));
        self.line(&format!("{whole} divide({e}, {sum})"))
    }
}

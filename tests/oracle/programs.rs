//! Built-in programs against their definitions, written down a second time in plain f64: the truth does not depend on where a
//! program rounds, pads, stores or begins, and is what the formula gives.

use ulpgate::machine::Mode;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::program::ProgramSpec;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

/// Rows of numbers.
type Matrix = Vec<Vec<f64>>;

/// Multiples of 1/16 of either sign, other ones for each argument.
fn matrix(argument: usize, rows: usize, columns: usize) -> Matrix {
    let value = |i: usize| (((i * 37 + argument * 53 + 11) % 101) as f64 - 50.0) / 16.0;
    (0..rows).map(|row| (0..columns).map(|column| value(row * columns + column)).collect()).collect()
}

/// The program's arguments, filled with those numbers.
fn arguments(text: &str, n: usize, rows: usize) -> Vec<Tensor> {
    let program = text.parse::<ProgramSpec>().unwrap().build(n, rows).unwrap();
    let shapes = program.entry().parameter_shapes().into_iter().enumerate();
    let tensor = |(at, shape): (usize, &ulpgate::ir::Shape)| {
        let width = shape.dims().last().copied().unwrap();
        let values = matrix(at, shape.elements() / width, width).concat();
        Tensor::new(shape.dims(), Data::from_f64s(shape.dtype().unwrap(), &values).unwrap())
    };
    shapes.map(tensor).collect()
}

/// The truth of each result, rounded to f64.
fn truth(text: &str, n: usize, rows: usize) -> Vec<Vec<f64>> {
    let program = text.parse::<ProgramSpec>().unwrap().build(n, rows).unwrap();
    let demands = vec![Demand::Rounded; program.output_names.len()];
    let truth = Oracle::default().evaluate(&program, &arguments(text, n, rows), &demands).unwrap();
    let values = |output: &TruthTensor| match output {
        TruthTensor::Float(float) => {
            assert!(float.open.is_empty(), "{text}");
            float.rounded.clone()
        }
        TruthTensor::Integer { values, .. } => values.iter().map(|v| v.unwrap() as f64).collect(),
        other => panic!("{text}: {other:?}"),
    };
    truth.outputs.iter().map(values).collect()
}

/// Whether numbers are the same but for `tolerance` of the largest.
#[track_caller]
fn assert_near(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance * scale, "{what}, element {i}: {got} instead of {expected}");
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn column(of: &Matrix, at: usize) -> Vec<f64> {
    of.iter().map(|row| row[at]).collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.iter().map(|row| (0..b[0].len()).map(|at| dot(row, &column(b, at))).collect()).collect()
}

fn transpose(of: &Matrix) -> Matrix {
    (0..of[0].len()).map(|at| column(of, at)).collect()
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exp: Vec<f64> = x.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = exp.iter().sum();
    exp.iter().map(|e| e / sum).collect()
}

#[test]
fn norms_divide_by_the_deviation() {
    let (n, rows) = (24, 3);
    let [x, gain, bias] = [matrix(0, rows, n), matrix(1, 1, n), matrix(2, 1, n)];
    let mean = |v: &[f64]| v.iter().sum::<f64>() / n as f64;
    for kind in ["rms", "layer"] {
        let mut expected = Vec::new();
        for row in &x {
            let middle = if kind == "layer" { mean(row) } else { 0.0 };
            let centred: Vec<f64> = row.iter().map(|v| v - middle).collect();
            let deviation = (mean(&centred.iter().map(|v| v * v).collect::<Vec<_>>()) + 1e-6).sqrt();
            let shift = |i: usize| if kind == "layer" { bias[0][i] } else { 0.0 };
            expected.extend((0..n).map(|i| centred[i] / deviation * gain[0][i] + shift(i)));
        }
        for round in ["each", "before_gain", "end"] {
            for variance in ["centred", "fast"] {
                for dtype in ["bf16", "f32"] {
                    let text = format!("norm[dtype={dtype},kind={kind},round={round},variance={variance}]");
                    // 1e-6 itself is rounded to the type.
                    assert_near(&text, &truth(&text, n, rows)[0], &expected, 1e-8);
                }
            }
        }
    }
}

#[test]
fn dense_layers_are_activations_of_products() {
    let (n, rows) = (6, 3);
    let [h, w1, c1, w2, c2] =
        [matrix(0, rows, n), matrix(1, n, 2 * n), matrix(2, 1, 2 * n), matrix(3, 2 * n, n), matrix(4, 1, n)];
    let plus = |x: Matrix, c: &Matrix| -> Matrix {
        x.iter().map(|row| row.iter().zip(&c[0]).map(|(x, c)| x + c).collect()).collect()
    };
    let erf = |x: f64| 2.0 / std::f64::consts::PI.sqrt() * integral(x);
    for (name, tolerance) in [("relu", 1e-14), ("gelu", 1e-6), ("gelu_erf", 1e-6), ("silu", 1e-12)] {
        let activation = |x: f64| match name {
            "relu" => x.max(0.0),
            "silu" => x / (1.0 + (-x).exp()),
            "gelu_erf" => x * (1.0 + erf(x / 2f64.sqrt())) / 2.0,
            _ => x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh()) / 2.0,
        };
        let active: Matrix =
            plus(product(&h, &w1), &c1).iter().map(|row| row.iter().map(|x| activation(*x)).collect()).collect();
        let out = plus(product(&active, &w2), &c2);
        for round in ["each", "end"] {
            let text = |layers| format!("mlp[activation={name},dtype=f32,expand=2,layers={layers},round={round}]");
            assert_near(&text(1), &truth(&text(1), n, rows)[0], &active.concat(), tolerance);
            assert_near(&text(2), &truth(&text(2), n, rows)[0], &out.concat(), tolerance);
        }
    }
}

/// The integral of e^-t^2 from 0 to x, by Simpson's rule.
fn integral(x: f64) -> f64 {
    const STEPS: usize = 2000;
    let x = x.clamp(-7.0, 7.0);
    let h = x / STEPS as f64;
    let f = |i: usize| (-(i as f64 * h).powi(2)).exp();
    let inner: f64 = (1..STEPS).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (f(0) + inner + f(STEPS)) * h / 3.0
}

/// Whatever holds the cache, however the context is padded and masked, attention is attention.
#[test]
fn attention_is_a_mean_by_softmax() {
    let (n, rows, d) = (11, 2, 4);
    let [q, k, v] = [matrix(0, rows, d), matrix(1, n, d), matrix(2, n, d)];
    let scores = product(&q, &transpose(&k));
    let weights: Matrix =
        scores.iter().map(|row| softmax(&row.iter().map(|s| s / (d as f64).sqrt()).collect::<Vec<_>>())).collect();
    let expected = product(&weights, &v).concat();
    let mut texts = Vec::new();
    for cache in ["own", "bf16", "f8e4m3fn", "f8e5m2", "int8"] {
        texts.push(format!("attention[cache={cache},d=4]"));
        texts.push(format!("attention[cache={cache},d=4,dtype=f32,softmax=own]"));
    }
    for bucket in [1, 4, 32] {
        for side in ["left", "right"] {
            for filler in ["zero", "other"] {
                for mask in ["lowest", "inf", "clean"] {
                    let padded = format!("bucket={bucket},filler={filler},mask={mask},side={side}");
                    texts.push(format!("attention[d=4,dtype=f32,{padded}]"));
                }
            }
            texts.push(format!("attention[bucket={bucket},d=4,filler=nan,mask=clean,side={side}]"));
        }
    }
    for text in texts {
        assert_near(&text, &truth(&text, n, rows)[0], &expected, 1e-13);
    }
    // A mask of scores alone does not keep a NaN of the values out: 0 times NaN is NaN.
    let text = "attention[bucket=4,d=4,filler=nan,mask=inf]";
    assert!(truth(text, n, rows)[0].iter().all(|v| v.is_nan()));
}

#[test]
fn routers_choose_the_largest() {
    let (n, rows, d, k) = (7, 5, 3, 2);
    let logits = product(&matrix(0, rows, d), &matrix(1, d, n));
    let [mut weights, mut experts, mut tokens] = [const { Vec::new() }; 3];
    for row in &logits {
        let p = softmax(row);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
        weights.extend(order[..k].iter().map(|i| p[*i]));
        tokens.push(order[0] as f64);
        let mut chosen = order[..k].to_vec();
        chosen.sort_unstable();
        experts.extend(chosen.iter().map(|i| *i as f64));
    }
    for logits in ["f32", "own"] {
        let text = format!("router[d=3,logits={logits}]");
        let got = truth(&text, n, rows);
        assert_near(&text, &got[0], &weights, 1e-14);
        assert_eq!(got[1..], [experts.clone(), tokens.clone()], "{text}");
    }
}

#[test]
fn losses_have_their_gradient() {
    let (n, rows) = (9, 3);
    let x = matrix(0, rows, n);
    for label in ["first", "best"] {
        let [mut losses, mut gradients] = [const { Vec::new() }; 2];
        for row in &x {
            let best = (0..n).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
            let at = if label == "best" { best } else { 0 };
            let loss = |row: &[f64]| -softmax(row)[at].ln();
            losses.push(loss(row));
            // By differences, so that nothing is differentiated by hand.
            gradients.extend((0..n).map(|i| {
                let shifted = |by: f64| {
                    let mut row = row.clone();
                    row[i] += by;
                    loss(&row)
                };
                (shifted(1e-4) - shifted(-1e-4)) / 2e-4
            }));
        }
        for (form, round) in [("log_softmax", "each"), ("log_softmax", "end"), ("naive", "each")] {
            let text = format!("cross_entropy[form={form},label={label},round={round}]");
            let got = truth(&text, n, rows);
            assert_near(&text, &got[0], &losses, 1e-12);
            assert_near(&text, &got[1], &gradients, 1e-7);
            let p: Vec<f64> = x.iter().flat_map(|row| softmax(row)).collect();
            assert_near(&text, &got[2], &p, 1e-14);
        }
    }
}

#[test]
fn sums_over_microbatches_and_chips_are_sums() {
    for n in [1, 2, 6, 12] {
        let g = matrix(0, n, 8);
        let sum: Vec<f64> = (0..8).map(|at| column(&g, at).iter().sum()).collect();
        let mean: Vec<f64> = sum.iter().map(|sum| sum / n as f64).collect();
        for kept in ["f32", "own", "compensated"] {
            for divide in ["after", "before"] {
                for steps in ["loop", "unrolled"] {
                    let text = format!("microbatches[divide={divide},steps={steps},sum={kept},width=8]");
                    assert_near(&text, &truth(&text, n, 1)[0], &mean, 1e-15);
                }
            }
        }
        for axes in [1, 2, 3] {
            for hop in ["f32", "own", "int8"] {
                for shards in [1, 3] {
                    let text = format!("psum[axes={axes},hop={hop},shards={shards},width=8]");
                    assert_near(&text, &truth(&text, n, 1)[0], &sum, 1e-15);
                }
            }
        }
        let text = "psum[mean=true,width=8]";
        assert_near(text, &truth(text, n, 1)[0], &mean, 1e-15);
    }
}

/// The machine's results of a program, with every operation rounded.
fn evaluate(text: &str, n: usize, arguments: &[Tensor]) -> Vec<Tensor> {
    let program = text.parse::<ProgramSpec>().unwrap().build(n, 1).unwrap();
    subject::evaluate(&program, &"cpu/f32/off".parse::<Mode>().unwrap(), arguments).unwrap()
}

/// A ring of two hops in order: chip 0 sends whole multiples of a step, which are 127 at the most.
#[test]
fn eight_bits_hold_127_steps_each_way() {
    let values: [f32; 8] = [1.0, -0.3, 0.004, 127.0, -63.6, 0.5, 1.5, 2.5];
    let arguments = [Tensor::new(&[2, 8], Data::F32([values, [0.0; 8]].concat()))];
    let got = evaluate("psum[dtype=f32,hop=int8,shards=1,width=8]", 2, &arguments);
    // Halves go to the even neighbour.
    let expected: [f64; 8] = [1.0, 0.0, 0.0, 127.0, -64.0, 0.0, 2.0, 2.0];
    assert_eq!(got[0].data().to_f64s(), expected);
}

/// The order of the chips decides the lost bits: with bf16 hops 256 + 1 is 256.
#[test]
fn shards_begin_at_chips_of_their_own() {
    let column = [256.0, 1.0, 1.0, 1.0];
    let values: Vec<f64> = column.iter().flat_map(|v| [*v; 4]).collect();
    let arguments = [Tensor::new(&[4, 4], Data::from_f64s(DType::BF16, &values).unwrap())];
    let sums = |text: &str| evaluate(text, 4, &arguments)[0].data().to_f64s();
    assert_eq!(sums("psum[hop=own,shards=1,width=4]"), [256.0; 4]);
    // Begun at chips 0, 1, 2 and 3. 3 + 256 and 258 + 1 are 259, which is midway and goes to 260; 256 + 1 goes to 256.
    assert_eq!(sums("psum[hop=own,shards=4,width=4]"), [256.0, 260.0, 260.0, 256.0]);
    // FACTS 6: once rounded, 259 is 260.
    assert_eq!(sums("psum[width=4]"), [260.0; 4]);
    // Two rings of two: 1 + 1 before 256 + 1.
    assert_eq!(sums("psum[axes=2,hop=own,shards=1,width=4]"), [258.0; 4]);
}

/// Each strategy adds up the same numbers, on tori of two and three dims and in one ring; a torus of other chips is refused.
#[test]
fn planned_sums_are_sums() {
    for (strategy, dims, n) in [
        ("StrategyND", "2x2", 4),
        ("StrategyND", "4x2x4", 32),
        ("StrategyRing", "n", 5),
        ("UniDirection1DRingStrategy", "n", 6),
        ("UniDirectionNDRingStrategy", "3x2", 6),
        ("UniDirectionNDRingStrategy", "2x2x2", 8),
    ] {
        let g = matrix(0, n, 50);
        let sum: Vec<f64> = (0..50).map(|at| column(&g, at).iter().sum()).collect();
        for hop in ["f32", "own"] {
            let text = format!("psum[dims={dims},hop={hop},strategy={strategy},tile=4,width=50]");
            assert_near(&text, &truth(&text, n, 1)[0], &sum, 1e-15);
        }
    }
    for (text, why) in [
        ("psum[dims=2x2,strategy=StrategyND]", "dims = `2x2` is not sizes such as 4x2x4 whose product is n = 8"),
        ("psum[dims=8,strategy=StrategyND]", "is not two or three extents, as StrategyND takes them"),
        ("psum[dims=2x,strategy=StrategyND]", "is not sizes such as 4x2x4"),
        ("psum[dims=2x4,strategy=StrategyND,tile=0]", "tile is 0"),
    ] {
        let error = text.parse::<ProgramSpec>().unwrap().build(8, 1).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// Rings of two, y first: the tiles of the second color are added along x first. Chips count x, then y.
#[test]
fn colors_of_a_plan_take_their_dims_in_their_order() {
    let column = [256.0, 1.0, -256.0, 1.0];
    let values: Vec<f64> = column.iter().flat_map(|v| [*v; 2]).collect();
    let arguments = [Tensor::new(&[4, 2], Data::from_f64s(DType::BF16, &values).unwrap())];
    let sums = |text: &str| evaluate(text, 4, &arguments)[0].data().to_f64s();
    // 256 + 1 is 256 in bf16, and 1 - 256 is -255.
    assert_eq!(sums("psum[dims=2x2,hop=own,strategy=StrategyND,tile=1,width=2]"), [1.0, 2.0]);
}

#[test]
fn training_descends_the_gradient() {
    let (rows, d, hidden, outputs, rate) = (5, 3, 4, 2, 0.05);
    let text = format!("train[d={d},dtype=f32,hidden={hidden},outputs={outputs}]");
    let scaled = |argument, rows, columns| -> Matrix {
        matrix(argument, rows, columns).iter().map(|row| row.iter().map(|v| v / 8.0).collect()).collect()
    };
    let (x, y) = (scaled(0, rows, d), scaled(1, rows, outputs));
    let mut weights = [scaled(2, d, hidden), scaled(3, hidden, outputs)];
    let tensors: Vec<Tensor> = [&x, &y, &weights[0], &weights[1]]
        .map(|m| Tensor::new(&[m.len(), m[0].len()], Data::from_f64s(DType::F32, &m.concat()).unwrap()))
        .to_vec();
    let loss = |w: &[Matrix; 2]| -> f64 {
        let active: Matrix = product(&x, &w[0]).iter().map(|row| row.iter().map(|h| h.tanh()).collect()).collect();
        let out = product(&active, &w[1]).concat();
        out.iter().zip(y.concat()).map(|(o, y)| (o - y).powi(2)).sum::<f64>() / out.len() as f64
    };
    let mut before = 0.0;
    for _ in 0..3 {
        before = loss(&weights);
        let old = weights.clone();
        for layer in 0..2 {
            for i in 0..old[layer].len() {
                for j in 0..old[layer][i].len() {
                    let shifted = |by: f64| {
                        let mut weights = old.clone();
                        weights[layer][i][j] += by;
                        loss(&weights)
                    };
                    weights[layer][i][j] -= rate * (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
                }
            }
        }
    }
    let program = text.parse::<ProgramSpec>().unwrap().build(3, rows).unwrap();
    let got = subject::evaluate(&program, &"cpu/f32/off".parse::<Mode>().unwrap(), &tensors).unwrap();
    let got: Vec<Vec<f64>> = got.iter().map(|t| t.data().to_f64s()).collect();
    assert_near("loss", &got[0], &[before], 1e-6);
    assert_near("w1", &got[1], &weights[0].concat(), 1e-6);
    assert_near("w2", &got[2], &weights[1].concat(), 1e-6);
}

/// Counts of the NaN that each program shows, by row, on three chips of six elements of which chip 1 has one.
#[test]
fn a_nan_is_where_it_is_said_to_be() {
    let expected: &[(&str, &[f64])] = &[
        ("psum", &[1.0]),
        ("int8", &[6.0]),
        ("pmax", &[1.0]),
        ("matmul", &[0.0, 6.0, 0.0]),
        ("softmax", &[0.0, 6.0, 0.0]),
        ("relu", &[0.0, 1.0, 0.0]),
        ("where", &[0.0; 3]),
        ("clip", &[0.0, 1.0, 0.0]),
        ("clip_norm", &[6.0; 3]),
        ("skip", &[0.0; 3]),
        ("argmax", &[0.0]),
        ("top_k", &[0.0]),
        ("filter", &[0.0]),
    ];
    for (through, nans) in expected {
        let run = |nan: bool| {
            let text = format!("one_nan[dtype=f32,nan={nan},through={through},width=6]");
            evaluate(&text, 3, &arguments(&text, 3, 1)).iter().map(|t| t.data().to_f64s()).collect::<Vec<_>>()
        };
        let (with, without) = (run(true), run(false));
        assert_eq!(with[1], *nans, "{through}");
        assert!(without[1].iter().all(|count| *count == 0.0), "{through}");
        // The place of the NaN is 1 * 6 + 2.
        let token = with[0][0];
        match *through {
            "argmax" | "top_k" => assert_eq!(token, 8.0),
            "filter" => assert_eq!(token, 0.0),
            "skip" => assert!(with[0].iter().all(|v| *v == 0.0)),
            _ => {}
        }
    }
}

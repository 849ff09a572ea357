//! Small programs of every opcode, with extents that are zero, huge, or beyond what any machine counts.

/// Extents that an array cannot be trusted to have.
pub const EXTENTS: [u64; 9] =
    [0, 1, 3, 1_000_000, 10_000_000_000, 1_000_000_000_000, (1 << 40) + 1, i64::MAX as u64, u64::MAX];

/// Dims of two, made of an extent.
const SHAPES: [fn(u64) -> [u64; 2]; 4] = [|n| [n, 3], |n| [3, n], |n| [n, 0], |n| [n, n]];

const REGIONS: &str = "
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }

less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }

more { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GT }

twice { a = f32[] parameter(0)
  ROOT r = f32[] add(a, a) }
";

/// The text of an opcode: `D` stands for the dims `A,B`, `A` and `B` for one extent each, and `N` for the extent that they
/// are made of. `x` and `y` are f32[D], `v` is f32[N], `i` s32[N], `q` f32[3,4] and `z` f32[].
const FORMS: &[(&str, &str)] = &[
    ("parameter", "ROOT r = f32[D] negate(x)"),
    ("constant", "ROOT r = f32[D] constant({...})"),
    ("constant", "ROOT r = f32[D] constant({1, 2})"),
    ("iota", "ROOT r = f32[D] iota(), iota_dimension=0"),
    ("iota", "ROOT r = s32[D] iota(), iota_dimension=1"),
    ("iota", "ROOT r = s32[3] iota(), iota_dimension=N"),
    ("convert", "ROOT r = bf16[D] convert(x)"),
    ("bitcast-convert", "ROOT r = s32[D] bitcast-convert(x)"),
    ("bitcast-convert", "ROOT r = u8[D,4] bitcast-convert(x)"),
    ("bitcast-convert", "ROOT r = f64[A] bitcast-convert(x)"),
    ("bitcast", "ROOT r = f32[B,A]{0,1} bitcast(x)"),
    ("bitcast", "ROOT r = f32[B,A]{1,0} bitcast(x)"),
    ("bitcast", "w = f32[N,4]{1,0} broadcast(z), dimensions={}\n  ROOT r = f32[2,N,2]{1,0,2} bitcast(w)"),
    (
        "bitcast",
        "w = f32[N,6]{1,0:T(8,128)} broadcast(z), dimensions={}\n  ROOT r = f32[3,N,2]{0,2,1:T(4,128)} bitcast(w)",
    ),
    ("reduce-precision", "ROOT r = f32[D] reduce-precision(x), exponent_bits=5, mantissa_bits=10"),
    ("reduce-precision", "ROOT r = f32[3,4] reduce-precision(q), exponent_bits=N, mantissa_bits=N"),
    ("opt-barrier", "ROOT r = f32[D] opt-barrier(x)"),
    ("copy", "ROOT r = f32[D]{0,1} copy(x)"),
    ("domain", "ROOT r = f32[D] domain(x), domain={kind=\"sharding\", entry={}, exit={}}"),
    ("broadcast", "ROOT r = f32[D] broadcast(z), dimensions={}"),
    ("broadcast", "ROOT r = f32[D,A,B] broadcast(x), dimensions={0,1}"),
    ("broadcast", "ROOT r = f32[N,D] broadcast(x), dimensions={2,1}"),
    ("broadcast", "ROOT r = f32[3,4,N] broadcast(q), dimensions={0,N}"),
    ("reshape", "ROOT r = f32[B,A] reshape(x)"),
    ("reshape", "ROOT r = f32[N,0] reshape(x)"),
    ("transpose", "ROOT r = f32[B,A] transpose(x), dimensions={1,0}"),
    ("transpose", "ROOT r = f32[4,3] transpose(q), dimensions={N,0}"),
    ("slice", "ROOT r = f32[D] slice(x), slice={[0:A], [0:B]}"),
    ("slice", "ROOT r = f32[1,1] slice(x), slice={[0:A:N], [0:B:N]}"),
    ("slice", "ROOT r = f32[1,1] slice(q), slice={[N:A:N], [0:B:1]}"),
    ("concatenate", "w = f32[A,B] copy(x)\n  ROOT r = f32[A,N] concatenate(x, w), dimensions={1}"),
    ("concatenate", "ROOT r = f32[N,4] concatenate(q, q, q), dimensions={N}"),
    ("pad", "ROOT r = f32[A,B] pad(x, z), padding=0_0x0_0"),
    ("pad", "ROOT r = f32[A,B] pad(q, z), padding=0_Nx0_N"),
    ("pad", "ROOT r = f32[3,N] pad(q, z), padding=0_0x0_0_N"),
    ("pad", "ROOT r = f32[0,4] pad(q, z), padding=-N_0x0_0"),
    ("pad", "ROOT r = f32[3,4] pad(q, z), padding=N_-Nx0_0"),
    ("reverse", "ROOT r = f32[D] reverse(x), dimensions={0,1}"),
    ("reverse", "ROOT r = f32[3,4] reverse(q), dimensions={N}"),
    ("dynamic-slice", "ROOT r = f32[A,1] dynamic-slice(x, j, j), dynamic_slice_sizes={A,1}"),
    ("dynamic-slice", "ROOT r = f32[A,B] dynamic-slice(q, j, j), dynamic_slice_sizes={A,B}"),
    ("dynamic-update-slice", "ROOT r = f32[D] dynamic-update-slice(x, x, j, j)"),
    ("dynamic-update-slice", "ROOT r = f32[D] dynamic-update-slice(x, q, j, j)"),
    (
        "gather",
        "ROOT r = f32[N,4] gather(q, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}",
    ),
    (
        "gather",
        "ROOT r = f32[A,B] gather(q, i), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=0, slice_sizes={A,B}",
    ),
    (
        "gather",
        "ROOT r = f32[N,B] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=N, slice_sizes={1,B}",
    ),
    (
        "scatter",
        "ROOT r = f32[D] scatter(x, i, x), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
    ),
    (
        "scatter",
        "ROOT r = f32[3,4] scatter(q, i, x), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=N, to_apply=sum",
    ),
    ("compare", "ROOT r = pred[D] compare(x, y), direction=GT"),
    ("select", "p = pred[D] compare(x, y), direction=GT\n  ROOT r = f32[D] select(p, x, y)"),
    ("clamp", "ROOT r = f32[D] clamp(z, x, z)"),
    ("reduce", "ROOT r = f32[A] reduce(x, z), dimensions={1}, to_apply=sum"),
    ("reduce", "ROOT r = f32[B] reduce(x, z), dimensions={0}, to_apply=sum"),
    ("reduce", "ROOT r = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum"),
    ("reduce", "ROOT r = f32[3] reduce(q, z), dimensions={N}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[D] reduce-window(x, z), window={size=1x1}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[1,1] reduce-window(x, z), window={size=AxB}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[N] reduce-window(v, z), window={size=N pad=N_N}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[N] reduce-window(v, z), window={size=1000000 pad=999999_0}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[3,4] reduce-window(q, z), window={size=NxN pad=N_0xN_0}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[3,4] reduce-window(q, z), window={size=2x2 stride=NxN pad=1_1x1_1}, to_apply=sum"),
    ("reduce-window", "ROOT r = f32[3,4] reduce-window(q, z), window={size=1x1 lhs_dilate=NxN}, to_apply=sum"),
    (
        "reduce-window",
        "ROOT r = f32[3,4] reduce-window(q, z), window={size=2x2 rhs_dilate=NxN pad=0_Nx0_N}, to_apply=sum",
    ),
    ("reduce-window", "ROOT r = f32[3,4] reduce-window(q, z), window={size=2x2 pad=-N_Nx-N_N}, to_apply=sum"),
    (
        "reduce-window",
        "w = f32[1000000] broadcast(z), dimensions={}\n  ROOT r = f32[1000000] reduce-window(w, z), window={size=N pad=A_B}, to_apply=sum",
    ),
    (
        "reduce-window",
        "w = f32[1000000] broadcast(z), dimensions={}\n  ROOT r = f32[1000001] reduce-window(w, z), window={size=1000000 pad=500000_500000}, to_apply=sum",
    ),
    ("select-and-scatter", "ROOT r = f32[D] select-and-scatter(x, x, z), window={size=1x1}, select=more, scatter=sum"),
    (
        "select-and-scatter",
        "ROOT r = f32[3,4] select-and-scatter(q, q, z), window={size=NxN pad=N_0xN_0}, select=more, scatter=sum",
    ),
    ("sort", "ROOT r = f32[D] sort(x), dimensions={0}, to_apply=less"),
    ("sort", "ROOT r = f32[D] sort(x), dimensions={1}, is_stable=true, to_apply=less"),
    ("topk", "ROOT r = (f32[A,1], s32[A,1]) topk(x), k=1, largest=true"),
    ("topk", "ROOT r = (f32[3,N], s32[3,N]) topk(q), k=N, largest=true"),
    (
        "ApproxTopK",
        "c = s32[D] iota(), iota_dimension=1\n  m = s32[] constant(-1)\n  ROOT r = (f32[A,8], s32[A,8]) custom-call(x, c, z, m), custom_call_target=\"ApproxTopK\", called_computations={more}, backend_config={\"top_k\": N, \"reduction_dim\": 1, \"recall_target\": 0.95, \"aggregate_to_topk\": true, \"reduction_input_size_override\": N}",
    ),
    (
        "PartialReduce",
        "c = s32[D] iota(), iota_dimension=1\n  m = s32[] constant(-1)\n  ROOT r = (f32[A,8], s32[A,8]) custom-call(x, c, z, m), custom_call_target=\"PartialReduce\", called_computations={more}, backend_config={\"log2_reduction\": N, \"reduction_dim\": 1, \"top_k\": N, \"recall_target\": 0.95, \"to_apply_type\": \"comparator\", \"is_fallback\": true}",
    ),
    ("TopK", "ROOT r = (f32[A,N], s32[A,N]) custom-call(x), custom_call_target=\"TopK\", called_computations={more}"),
    ("AllocateBuffer", "ROOT r = f32[D] custom-call(), custom_call_target=\"AllocateBuffer\""),
    ("dot", "ROOT r = f32[A,A] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
    ("dot", "ROOT r = f32[B,B] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    ("dot", "ROOT r = f32[] dot(v, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
    ("dot", "ROOT r = f32[N,N] dot(v, v), lhs_contracting_dims={}, rhs_contracting_dims={}"),
    ("dot", "ROOT r = f32[3,3] dot(q, q), lhs_contracting_dims={N}, rhs_contracting_dims={N}"),
    (
        "dot",
        "w = f32[100000,3] broadcast(z), dimensions={}\n  ROOT r = f32[100000,100000] dot(w, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    ),
    (
        "ragged-dot",
        "g = s32[3] iota(), iota_dimension=0\n  w = f32[3,B,N] broadcast(z), dimensions={}\n  ROOT r = f32[A,N] ragged-dot(x, w, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
    ),
    ("convolution", "ROOT r = f32[A,A] convolution(x, y), dim_labels=bf_oi->bf"),
    (
        "convolution",
        "k = f32[3,1,1] broadcast(z), dimensions={}\n  w = f32[1,N,1] broadcast(z), dimensions={}\n  ROOT r = f32[1,N,1] convolution(w, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
    ),
    (
        "convolution",
        "k = f32[N,1,1] broadcast(z), dimensions={}\n  w = f32[1,8,1] broadcast(z), dimensions={}\n  ROOT r = f32[1,8,1] convolution(w, k), window={size=N pad=N_N}, dim_labels=b0f_0io->b0f",
    ),
    (
        "convolution",
        "k = f32[3,1,1] broadcast(z), dimensions={}\n  w = f32[1,8,1] broadcast(z), dimensions={}\n  ROOT r = f32[1,8,1] convolution(w, k), window={size=3 pad=N_N stride=N lhs_dilate=N rhs_dilate=N}, dim_labels=b0f_0io->b0f",
    ),
    (
        "convolution",
        "k = f32[3,1,N] broadcast(z), dimensions={}\n  w = f32[N,8,N] broadcast(z), dimensions={}\n  ROOT r = f32[N,8,N] convolution(w, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=N",
    ),
    (
        "convolution",
        "k = f32[3,1,N] broadcast(z), dimensions={}\n  w = f32[N,8,1] broadcast(z), dimensions={}\n  ROOT r = f32[1,8,N] convolution(w, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, batch_group_count=N",
    ),
    ("fft", "c = c64[D] complex(x, y)\n  ROOT r = c64[D] fft(c), fft_type=FFT, fft_length={B}"),
    ("fft", "ROOT r = c64[N] fft(v), fft_type=RFFT, fft_length={N}"),
    ("fft", "c = c64[D] complex(x, y)\n  ROOT r = f32[A,N] fft(c), fft_type=IRFFT, fft_length={N}"),
    (
        "complex",
        "c = c64[D] complex(x, y)\n  d = c64[D] tanh(c)\n  e = c64[D] multiply(c, d)\n  ROOT r = f32[D] real(e)",
    ),
    ("cholesky", "w = f32[N,N] broadcast(z), dimensions={}\n  ROOT r = f32[N,N] cholesky(w), lower=true"),
    (
        "triangular-solve",
        "w = f32[N,N] broadcast(z), dimensions={}\n  u = f32[N,3] broadcast(z), dimensions={}\n  ROOT r = f32[N,3] triangular-solve(w, u), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE",
    ),
    (
        "Qr",
        "w = f32[N,3] broadcast(z), dimensions={}\n  ROOT r = (f32[N,3], f32[3]) custom-call(w), custom_call_target=\"Qr\"",
    ),
    (
        "LuDecomposition",
        "w = f32[N,N] broadcast(z), dimensions={}\n  ROOT r = (f32[N,N], s32[N], s32[N]) custom-call(w), custom_call_target=\"LuDecomposition\"",
    ),
    (
        "lapack_spotrf",
        "w = f32[N,N] broadcast(z), dimensions={}\n  ROOT r = (f32[N,N], s32[]) custom-call(w), custom_call_target=\"lapack_spotrf_ffi\", operand_layout_constraints={f32[N,N]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}",
    ),
    (
        "rng-bit-generator",
        "s = u64[2] constant({1, 2})\n  ROOT r = (u64[2], u32[D]) rng-bit-generator(s), algorithm=rng_three_fry",
    ),
    (
        "rng-bit-generator",
        "s = u64[3] constant({1, 2, 3})\n  ROOT r = (u64[3], u64[N]) rng-bit-generator(s), algorithm=rng_philox",
    ),
    ("rng", "ROOT r = f32[D] rng(z, z), distribution=rng_uniform"),
    ("get-dimension-size", "ROOT r = s32[] get-dimension-size(x), dimensions={0}"),
    ("get-dimension-size", "ROOT r = s32[] get-dimension-size(q), dimensions={N}"),
    ("set-dimension-size", "n = s32[] constant(3)\n  ROOT r = f32[D] set-dimension-size(x, n), dimensions={0}"),
    ("tuple", "t = (f32[D], f32[D]) tuple(x, y)\n  ROOT r = f32[D] get-tuple-element(t), index=1"),
    ("get-tuple-element", "t = (f32[D], f32[D]) tuple(x, y)\n  ROOT r = f32[D] get-tuple-element(t), index=N"),
    ("call", "ROOT r = f32[] call(z), to_apply=twice"),
    ("map", "ROOT r = f32[D] map(x), dimensions={0,1}, to_apply=twice"),
    ("scan", "ROOT r = f32[D] scan(x), dimensions={0}, num_carries=0, to_apply=row_twice"),
    ("scan", "ROOT r = f32[3,4] scan(q), dimensions={N}, num_carries=0, to_apply=row_twice"),
    ("while", "ROOT r = s32[] while(j), condition=goes_on, body=next"),
    ("while", "ROOT r = (s32[], f32[D]) while(state), condition=goes_on_beside, body=next_beside"),
    (
        "conditional",
        "p = pred[] compare(z, z), direction=EQ\n  ROOT r = f32[] conditional(p, z, z), true_computation=twice, false_computation=twice",
    ),
    ("conditional", "ROOT r = f32[] conditional(j, z, z), branch_computations={twice, twice}"),
    ("all-reduce", "ROOT r = f32[D] all-reduce(x), replica_groups={}, to_apply=sum"),
    ("all-reduce", "ROOT r = f32[D] all-reduce(x), replica_groups={{0,N}}, to_apply=sum"),
    ("all-reduce", "ROOT r = f32[D] all-reduce(x), replica_groups=[A,B]<=[N], to_apply=sum"),
    ("all-gather", "ROOT r = f32[A,N] all-gather(x), replica_groups={}, dimensions={1}"),
    ("all-gather", "ROOT r = f32[3,N] all-gather(q), replica_groups={{0}}, dimensions={N}"),
    ("all-to-all", "ROOT r = f32[D] all-to-all(x), replica_groups={{0}}, dimensions={0}"),
    ("reduce-scatter", "ROOT r = f32[D] reduce-scatter(x), replica_groups={{0}}, dimensions={0}, to_apply=sum"),
    ("reduce-scatter", "ROOT r = f32[3,N] reduce-scatter(q), replica_groups={}, dimensions={1}, to_apply=sum"),
    ("collective-permute", "ROOT r = f32[D] collective-permute(x), source_target_pairs={{0,0}}"),
    ("collective-permute", "ROOT r = f32[3,4] collective-permute(q), source_target_pairs={{0,N},{N,0}}"),
    ("collective-broadcast", "ROOT r = f32[D] collective-broadcast(x), replica_groups={{0}}"),
    ("partition-id", "p = u32[] partition-id()\n  c = f32[] convert(p)\n  ROOT r = f32[] add(c, z)"),
    ("replica-id", "p = u32[] replica-id()\n  c = f32[] convert(p)\n  ROOT r = f32[] add(c, z)"),
    ("fusion", "ROOT r = f32[D] fusion(x, y), kind=kLoop, calls=fused"),
    ("fusion", "ROOT r = f32[A] fusion(x, y), kind=kLoop, calls=fused_sum"),
    ("fusion", "ROOT r = f32[D] fusion(x), kind=kLoop, calls=fused_concatenate"),
    ("copy-start", "s = (f32[D], f32[D], u32[]) copy-start(x)\n  ROOT r = f32[D] copy-done(s)"),
    (
        "slice-start",
        "s = ((f32[D]), f32[A,1], u32[]) slice-start(x), slice={[0:A], [0:1]}\n  ROOT r = f32[A,1] slice-done(s)",
    ),
    ("after-all", "t = token[] after-all()\n  ROOT r = f32[D] add-dependency(x, t)"),
    ("Sharding", "ROOT r = f32[D] custom-call(x), custom_call_target=\"Sharding\""),
    ("unknown", "ROOT r = f32[D] custom-call(x, q), custom_call_target=\"nobody_knows_this\""),
];

const UNARY: [&str; 25] = [
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "count-leading-zeros",
    "erf",
    "exponential",
    "exponential-minus-one",
    "floor",
    "is-finite",
    "log",
    "log-plus-one",
    "logistic",
    "negate",
    "not",
    "popcnt",
    "round-nearest-afz",
    "round-nearest-even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
    "real",
];

const BINARY: [&str; 16] = [
    "add",
    "and",
    "atan2",
    "divide",
    "maximum",
    "minimum",
    "mulhi",
    "multiply",
    "or",
    "power",
    "remainder",
    "shift-left",
    "shift-right-arithmetic",
    "shift-right-logical",
    "subtract",
    "xor",
];

/// The computations that hold dims.
const SIZED_REGIONS: &str = "
goes_on { s = s32[] parameter(0)
  n = s32[] constant(1000)
  ROOT r = pred[] compare(s, n), direction=LT }

next { s = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT r = s32[] add(s, one) }

goes_on_beside { t = (s32[], f32[D]) parameter(0)
  s = s32[] get-tuple-element(t), index=0
  n = s32[] constant(100)
  ROOT r = pred[] compare(s, n), direction=LT }

next_beside { t = (s32[], f32[D]) parameter(0)
  s = s32[] get-tuple-element(t), index=0
  x = f32[D] get-tuple-element(t), index=1
  one = s32[] constant(1)
  s1 = s32[] add(s, one)
  x1 = f32[D] add(x, x)
  ROOT r = (s32[], f32[D]) tuple(s1, x1) }

row_twice { v = f32[B] parameter(0)
  ROOT r = f32[B] add(v, v) }

fused { x = f32[D] parameter(0)
  y = f32[D] parameter(1)
  m = f32[D] multiply(x, y)
  d = f32[D] divide(x, y)
  a = f32[D] add(m, d)
  ROOT r = f32[D] exponential(a) }

fused_sum { x = f32[D] parameter(0)
  y = f32[D] parameter(1)
  m = f32[D] multiply(x, y)
  z = f32[] constant(0)
  ROOT r = f32[A] reduce(m, z), dimensions={1}, to_apply=sum }

fused_concatenate { x = f32[D] parameter(0)
  z = f32[] constant(0)
  b = f32[D] broadcast(z), dimensions={}
  m = f32[D] multiply(x, b)
  k = f32[D] concatenate(m, x), dimensions={1}
  ROOT r = f32[D] add(k, m) }
";

/// A program with a name.
pub struct Hostile {
    /// Opcode and dims.
    pub name: String,
    /// HLO text.
    pub text: String,
}

/// Capital letters that stand alone, each replaced by a text.
fn replaced(form: &str, with: &[(char, &str)]) -> String {
    let characters: Vec<char> = form.chars().collect();
    let is_word = |at: Option<&char>| at.is_some_and(|c| c.is_ascii_alphanumeric() && *c != 'x' && !c.is_ascii_digit());
    let mut text = String::new();
    for (at, character) in characters.iter().enumerate() {
        let alone =
            !is_word(at.checked_sub(1).and_then(|before| characters.get(before))) && !is_word(characters.get(at + 1));
        match with.iter().find(|(letter, _)| letter == character) {
            Some((_, replacement)) if alone => text.push_str(replacement),
            _ => text.push(*character),
        }
    }
    text
}

/// Each form with each extent, its big arrays taken as arguments or made of a scalar: in `all` shapes, or in one for each extent.
#[expect(clippy::too_many_lines, reason = "one table of cases")]
pub fn programs(all: bool) -> Vec<Hostile> {
    let mut forms: Vec<(String, String)> =
        FORMS.iter().map(|(name, form)| (name.to_string(), form.to_string())).collect();
    forms.extend(UNARY.iter().map(|name| (name.to_string(), format!("ROOT r = f32[D] {name}(x)"))));
    forms.extend(BINARY.iter().map(|name| (name.to_string(), format!("ROOT r = f32[D] {name}(x, y)"))));
    let mut programs = Vec::new();
    for (number, (opcode, form)) in forms.iter().enumerate() {
        for (at, extent) in EXTENTS.iter().enumerate() {
            let sized = form.contains(['A', 'B', 'D']);
            for (shape, dims) in SHAPES.iter().enumerate() {
                if !sized && shape > 0 {
                    break;
                }
                if sized && !all && (number + at + shape) % SHAPES.len() != 0 {
                    continue;
                }
                let [a, b] = dims(*extent).map(|extent| extent.to_string());
                let dims = format!("{a},{b}");
                let n = extent.to_string();
                let letters = [('A', a.as_str()), ('B', &b), ('D', &dims), ('N', &n)];
                // Half of them take their arrays as arguments.
                let given = (number + at / 2 + usize::from(all) * shape) % 2 == 0;
                let array = |name: &str, dims: &str, number: usize| match given {
                    true => format!("  {name} = f32[{dims}] parameter({number})\n"),
                    false => format!("  {name} = f32[{dims}] broadcast(z), dimensions={{}}\n"),
                };
                let mut entry =
                    String::from("  z = f32[] parameter(0)\n  q = f32[3,4] parameter(1)\n  j = s32[] parameter(2)\n");
                let mut parameters = 3;
                for (name, dims) in [("x", &dims), ("y", &dims), ("v", &n)] {
                    let used = [
                        format!("({name})"),
                        format!("({name},"),
                        format!(" {name},"),
                        format!(" {name})"),
                        "state".to_string(),
                    ]
                    .iter()
                    .any(|use_of| form.contains(use_of.as_str()));
                    if used {
                        entry.push_str(&array(name, dims, parameters));
                        parameters += 1;
                    }
                }
                if form.contains(" i)") || form.contains(" i,") {
                    entry.push_str(&format!("  i = s32[{n}] iota(), iota_dimension=0\n"));
                }
                if form.contains("state") {
                    entry.push_str(&format!("  state = (s32[], f32[{dims}]) tuple(j, x)\n"));
                }
                let regions = if form.contains("=goes_on") || form.contains("=fused") {
                    replaced(SIZED_REGIONS, &letters)
                } else {
                    String::new()
                };
                let header = if opcode.ends_with("-id") {
                    format!(", replica_count={n}, num_partitions={a}")
                } else {
                    String::new()
                };
                let body = replaced(form, &letters);
                let text = format!("HloModule m{header}\n{REGIONS}{regions}\nENTRY e {{\n{entry}  {body}\n}}\n");
                programs.push(Hostile { name: format!("{opcode}-{number}-{n}-{shape}"), text });
            }
        }
    }
    programs
}

"""scripts/dump_hlo.py: what arguments it understands, what it draws, and what it writes. Needs jax."""

import argparse
import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("safetensors")
SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "dump_hlo.py"

FUNCTIONS = """
import functools
import jax, jax.numpy as jnp

def greedy(x, axis, twice=False):
    return jnp.argmax(jax.nn.softmax(x, axis=axis), axis=axis) * (2 if twice else 1)

rows = functools.partial(greedy, axis=-1)

class Layer:
    def __call__(self, weights, x):
        return jnp.tanh(x @ weights["w"] + weights["b"][0]), weights["b"][1]

layer = Layer()

def wrong(x):
    return x + jnp.zeros((3, 5))

def attention(x, query, key, value, output):
    q, k, v = x @ query, x @ key, x @ value
    return jax.nn.softmax(q @ k.T / 8) @ v @ output + x

def stacked(weights, x):
    def layer(x, own):
        return jnp.tanh(jnp.einsum("bd,dh->bh", x, own["up"])) @ own["down"], None
    return jax.lax.scan(layer, x, weights)[0]

def scores(q, k):
    return jax.nn.softmax(q @ k.T)

def gram(x):
    return x @ x.T

def embedded(tokens, table):
    return jax.nn.softmax(table[tokens] @ table.T)

def image(x, kernel):
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
"""


@pytest.fixture(scope="module")
def dump_hlo():
    spec = importlib.util.spec_from_file_location("dump_hlo", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path):
    (tmp_path / "f.py").write_text(FUNCTIONS)

    def run(*arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], cwd=tmp_path, capture_output=True, text=True)

    return run



def test_topologies(dump_hlo):
    assert dump_hlo.topology_of("v5e") == "v5e:2x2"
    assert dump_hlo.topology_of("v5e:4x4") == "v5e:4x4"
    with pytest.raises(argparse.ArgumentTypeError, match="no TPU generation is called 'v9x'; known: v2, "):
        dump_hlo.topology_of("v9x")


def test_arguments(dump_hlo):
    import jax.numpy as jnp

    assert dump_hlo.argument("bf16[8,1024]") == (None, dump_hlo.Shape((8, 1024), jnp.bfloat16))
    assert dump_hlo.argument("x=f32[]") == ("x", dump_hlo.Shape((), jnp.float32))
    assert dump_hlo.argument("axis=-1") == ("axis", -1)
    assert dump_hlo.argument("'mean'") == (None, "mean")
    name, tree = dump_hlo.argument("{'w': f32[4,4], 'b': [s32[4], 3, None]}")
    assert name is None
    assert tree == {"w": dump_hlo.Shape((4, 4), jnp.float32), "b": [dump_hlo.Shape((4,), jnp.int32), 3, None]}


@pytest.mark.parametrize("text", ["bf17[8]", "bf16[8", "f(1)", "{'w': x}"])
def test_what_is_no_argument(dump_hlo, text):
    import argparse

    with pytest.raises(argparse.ArgumentTypeError):
        dump_hlo.argument(text)


def test_rows_hold_what_flips_tokens(dump_hlo):
    drawn = dump_hlo.rows(np.random.default_rng(0), (8, 1024))
    assert [round(float(row.std())) for row in drawn[:6]] == [1, 4, 16, 1, 4, 16]
    second, first = np.sort(drawn[6])[-2:]
    assert 0 < first - second <= first / 200
    probabilities = np.exp(drawn[7] - drawn[7].max())
    assert probabilities.max() / probabilities.sum() > 0.99


def test_callables_structures_and_static_arguments(dump_hlo, run, tmp_path):
    for arguments in (
        ["f.py:rows", "bf16[4,64]"],
        ["f.py:greedy", "bf16[4,64]", "axis=-1", "twice=True"],
        ["f.py:layer", "{'w': f32[8,8], 'b': (f32[8], s32[])}", "x=f32[2,8]"],
        ["f.py:rows", "f8e4m3fn[4,64]", "--name", "narrow"],
    ):
        done = run(*arguments, "--out", "out")
        assert done.returncode == 0, done.stderr
    cpu = tmp_path / "out" / "cpu"
    assert "ENTRY" in (cpu / "rows.excess_on.hlo").read_text()
    assert [array.shape for array in dump_hlo.read_tensors(cpu / "greedy.excess_off.outputs.safetensors", "out")] == [(4,)]
    # In the order of JAX's leaves: b's two, w, and x.
    layer = dump_hlo.read_tensors(cpu / "layer.inputs.safetensors", "arg")
    assert [array.shape for array in layer] == [(8,), (), (8, 8), (2, 8)]
    narrow = dump_hlo.read_tensors(cpu / "narrow.inputs.safetensors", "arg")
    assert [str(array.dtype) for array in narrow] == ["float8_e4m3fn"]
    # What was written is what is taken.
    again = run("f.py:rows", "--inputs", "out/cpu/narrow.inputs.safetensors", "--out", "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again/cpu/rows.inputs.safetensors").read_bytes() == (cpu / "narrow.inputs.safetensors").read_bytes()


@pytest.fixture
def functions(tmp_path, dump_hlo):
    (tmp_path / "f.py").write_text(FUNCTIONS)
    return dump_hlo.load(tmp_path / "f.py")


def test_weights_are_arguments_that_are_contracted_with_activations(dump_hlo, functions):
    def fan_ins(name, *texts):
        given = [dump_hlo.argument(text) for text in texts]
        f, arguments = dump_hlo.of_arrays(getattr(functions, name), given, name)
        return dump_hlo.fan_ins(f, arguments)

    square = "bf16[64,64]"
    # x is added to what comes of it, and so no weight.
    assert fan_ins("attention", "bf16[16,64]", square, square, square, square) == {1: 64, 2: 64, 3: 64, 4: 64}
    layers = "{'down': f32[3,32,8], 'up': f32[3,8,32]}"
    assert fan_ins("stacked", layers, "f32[4,8]") == {0: 32, 1: 8}
    assert fan_ins("layer", "{'w': f32[8,16], 'b': (f32[16], s32[])}", "x=f32[2,8]") == {2: 8}
    assert fan_ins("embedded", "s32[7]", "f32[32,8]") == {1: 8}
    assert fan_ins("image", "f32[1,8,8,3]", "f32[5,5,3,16]") == {1: 75}
    assert fan_ins("gram", "f32[8,8]") == {}
    assert fan_ins("greedy", "bf16[4,64]", "axis=-1") == {}
    # Two arguments: the left one is taken for the activations.
    assert fan_ins("scores", "f32[4,8]", "f32[16,8]") == {1: 8}


def test_weights_are_drawn_by_their_fan_in(dump_hlo, run, tmp_path):
    done = run("f.py:attention", "bf16[16,64]", *["bf16[64,64]"] * 4, "--out", "out")
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    drawn = dump_hlo.read_tensors(tmp_path / "out/cpu/attention.inputs.safetensors", "arg")
    x, *weights = [np.asarray(array, np.float64) for array in drawn]
    assert x[2].std() > 8
    for weight in weights:
        assert abs(weight.std() * 8 - 1) < 0.05


def test_inputs_that_saturate_a_softmax_are_told(run):
    done = run("f.py:scores", "f32[16,256]", "f32[64,256]", "--scale", "30", "--out", "out")
    assert done.returncode == 0
    assert "dump_hlo: warning: scores: a softmax in " in done.stderr and "of 16 rows" in done.stderr, done.stderr
    done = run("f.py:scores", "f32[16,64]", "f32[64,64]", "--scale", "0.2", "--out", "out")
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_errors_are_short(run):
    for arguments, says in (
        (["f.py:wrong", "f32[8]"], "dump_hlo: wrong: ValueError: Incompatible shapes"),
        (["f.py:greedy", "f32[8,8]"], "missing a required argument: 'axis'"),
        (["f.py:FUNCTIONS", "f32[8]"], "FUNCTIONS"),
        (["f.py:functools", "f32[8]"], "cannot be called: it is a module"),
    ):
        done = run(*arguments)
        assert done.returncode != 0
        assert says in done.stderr
        assert "Traceback" not in done.stderr


def exported(path):
    """A function as StableHLO in the three forms that frameworks exchange."""
    import jax
    import jax.numpy as jnp
    from jax import export

    def pick(x, w):
        return jnp.argmax(jax.nn.softmax(x @ w), axis=-1)

    shapes = [jax.ShapeDtypeStruct((4, 8), jnp.bfloat16), jax.ShapeDtypeStruct((8, 16), jnp.bfloat16)]
    lowered = jax.jit(pick).lower(*shapes)
    (path / "text.mlir").write_text(lowered.as_text())
    (path / "artifact.mlirbc").write_bytes(export.export(jax.jit(pick))(*shapes).mlir_module_serialized)
    (path / "proto.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())


def test_programs_of_any_framework(dump_hlo, run, tmp_path):
    exported(tmp_path)
    outputs = []
    for file in ("text.mlir", "artifact.mlirbc", "proto.pb", "out/cpu/text.before.hlo"):
        done = run(file, "--out", "again" if file.startswith("out") else "out")
        assert done.returncode == 0, done.stderr
        name = pathlib.Path(file).name.split(".")[0]
        cpu = tmp_path / ("again" if file.startswith("out") else "out") / "cpu"
        assert "ENTRY" in (cpu / f"{name}.excess_off.hlo").read_text()
        assert str(tmp_path) not in (cpu / f"{name}.before.hlo").read_text()
        outputs.append([array.tolist() for array in dump_hlo.read_tensors(cpu / f"{name}.excess_on.outputs.safetensors", "out")])
    assert len(outputs[0][0]) == 4 and outputs.count(outputs[0]) == 4
    for arguments, says in (
        (["text.mlir", "f32[2]"], "a program says its arguments itself: leave them out"),
        (["f.py"], "nor a program's file, which ends with one of .mlir, .mlirbc, .pb, .hlo"),
        (["missing.mlir"], "missing.mlir: No such file or directory"),
        (["f.mlir"], "f.mlir: it is no StableHLO: "),
        (["f.pb"], "f.pb: it is not a serialised HloModuleProto, or HloProto: "),
    ):
        for end in ("mlir", "pb"):
            (tmp_path / f"f.{end}").write_text("no program")
        done = run(*arguments)
        assert done.returncode != 0 and says in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_manifest_says_what_made_a_dump(run, tmp_path, monkeypatch):
    import json

    import jax

    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    done = run("f.py:greedy", "x=bf16[4,64]", "axis=-1", "--seed", "3", "--out", "out")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out/cpu/greedy.made.json").read_text())
    assert made["jax"] == jax.__version__ and made["jaxlib"] and made["topology"] == "cpu"
    assert made["flags"] == {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}
    assert (made["function"], made["shapes"]) == ("f.py:greedy", ["x=bf16[4,64]", "axis=-1"])
    assert (made["draw"], made["seed"], made["scale"]) == ("rows", 3, 1.0)


SHARDED = """
module @sharded attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=2]>
  func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) -> tensor<4x8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"i"}, {}]>] out_shardings=[<@mesh, [{"i"}, {}]>] manual_axes={"i"} (%y: tensor<2x8xf32>) {
      %1 = stablehlo.exponential %y : tensor<2x8xf32>
      sdy.return %1 : tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
"""


def test_stablehlo_of_several_devices_is_cut(run, tmp_path):
    from safetensors.numpy import load

    (tmp_path / "sharded.mlir").write_text(SHARDED)
    told = run("sharded.mlir", "--out", "dumps")
    assert told.returncode == 0, told.stderr
    assert "num_partitions=2" in (tmp_path / "dumps/cpu/sharded.excess_on.hlo").read_text()
    whole, parts, results = (
        load((tmp_path / f"dumps/cpu/sharded.{what}.safetensors").read_bytes()) for what in ("inputs", "cut_inputs", "excess_on.outputs")
    )
    assert list(whole) == ["arg0"] and sorted(parts) == ["arg0@0", "arg0@1"] and sorted(results) == ["out0@0", "out0@1"]
    assert (np.concatenate([parts["arg0@0"], parts["arg0@1"]]) == whole["arg0"]).all()
    np.testing.assert_allclose(results["out0@1"], np.exp(whole["arg0"][2:]), rtol=1e-5)


def test_results_that_safetensors_has_no_type_for(run, tmp_path):
    from safetensors.numpy import load

    (tmp_path / "g.py").write_text(
        "import jax, jax.numpy as jnp\n\ndef mixed(x):\n    return (x * 3).astype(jnp.int4), jax.random.split(jax.random.key(1), 2)\n"
    )
    told = run("g.py:mixed", "f32[8]", "--out", "dumps", "--draw", "normal")
    assert told.returncode == 0, told.stderr
    results = load((tmp_path / "dumps/cpu/mixed.excess_on.outputs.safetensors").read_bytes())
    assert results["out0"].dtype == np.int8 and results["out1"].shape == (2, 2) and results["out1"].dtype == np.uint32

"""Times XLA:CPU on what `benches/serving.rs` takes, a folder that `examples/llama.py` wrote: python benches/serving_jax.py FOLDER HEAD_SIZE

The types and shapes are those of the folder's weights; rope's base and the like cost nothing.
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))

import decoder
import jax
import ml_dtypes  # numpy's bf16
from safetensors.numpy import load_file

ROUNDS = 3

folder, config = pathlib.Path(sys.argv[1]), decoder.Config(head_size=int(sys.argv[2]))
weights, tokens = load_file(folder / "decoder.safetensors"), load_file(folder / "tokens.safetensors")
names = (*decoder.WEIGHTS, decoder.HEAD) if decoder.HEAD in weights else decoder.WEIGHTS
for name, given in (("prefill", tokens["held_out"][:64]), ("generate", tokens["prompts"][:1])):
    function = decoder.of_arrays(*decoder.ENTRIES[name], config, names)
    arguments = [jax.device_put(array) for array in (given, *(weights[name] for name in names))]
    for flag in (True, False):
        run = jax.jit(function).lower(*arguments).compile(compiler_options={"xla_allow_excess_precision": flag})
        jax.block_until_ready(run(*arguments))
        best = processor = float("inf")
        for _ in range(ROUNDS):
            started, before = time.perf_counter(), time.process_time()
            jax.block_until_ready(run(*arguments))
            best, processor = min(best, time.perf_counter() - started), min(processor, time.process_time() - before)
        print(f"XLA:CPU, jax {jax.__version__}: {name}, excess {flag}: {best:.3f} s, processor {processor:.3f} s, best of {ROUNDS}", flush=True)

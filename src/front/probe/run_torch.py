"""Answers the questions of `ulpgate probe` with PyTorch: `python run_torch.py [cuda]` in this folder writes answers.npz."""
import json, sys, numpy as np, torch

def dot(precision):  # "medium" lets f32 operands be rounded to bf16, "high" to TF32 or to two bf16 parts.
    def run(a, b):
        torch.set_float32_matmul_precision({"default": "medium", "high": "high", "highest": "highest"}[precision])
        if a.dtype == torch.float32:
            return a @ b
        return torch.mm(a, b, out_dtype=torch.float32) if a.is_cuda else None  # CPUs have no f32 result of bf16 operands.
    return run
total = lambda dim: lambda x: x.sum(dim).float()
ask = {"dot_default": dot("default"), "dot_high": dot("high"), "dot_highest": dot("highest"), "sum_last": total(-1),
       "sum_first": total(0), "scan": lambda x: x.cumsum(1), "divide": torch.div, "maximum": torch.maximum, "add": torch.add,
       "add_twice": lambda x, y, z: ((x + y) + z).float(), "exp": torch.exp, "log": torch.log, "tanh": torch.tanh, "rsqrt": torch.rsqrt}
device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
inputs, questions = np.load("inputs.npz"), json.load(open("manifest.json"))["questions"]
name = torch.cuda.get_device_name() if device == "cuda" else device
answers = {"about": np.frombuffer(f"torch {torch.__version__} on {name}".encode(), np.uint8)}
for q in [q for q in questions if q["operation"] in ask]:
    x = [torch.from_numpy(inputs[x]).to(device, getattr(torch, q["dtype"])) for x in q["operands"]]
    answer = ask[q["operation"]](*x)
    if answer is not None:
        answers[q["name"]] = answer.cpu().numpy()
np.savez_compressed("answers.npz", **answers)

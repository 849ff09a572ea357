"""Tells whether a numerics change alters a model's tokens.

``audit`` lowers a JAX function with the jax that is installed, for CPU and for TPUs that need not be there, and says what
the compiler changed, which tokens are not the true ones and how far results are from the truth. ``audit_stablehlo`` does so for StableHLO of any
framework. ``diff``, ``evaluate``, ``exact`` and ``show`` take HLO text and need no jax, and StableHLO by jaxlib. ``scales`` names the rule behind a quantised array, ``quantize`` makes one. ``assert_conforms`` and ``assert_same_tokens`` are for tests; ``pytest --ulpgate-bless`` accepts what they
find.
``judge`` says of results from elsewhere whether they are right, ``tolerance`` of a test's tolerance whether it is fit; ``assert_permitted``
and ``assert_accurate`` hold results and functions to what is permitted, and to the truth.

>>> import numpy as np, ulpgate
>>> hlo = '''HloModule quarter, is_scheduled=true
... ENTRY main {
...   x = bf16[3] parameter(0)
...   y = bf16[3] constant({0.25, 0.25, 0.25})
...   ROOT out = bf16[3] add(x, y)
... }'''
>>> x = ulpgate.array([1, 100, 1000], "bf16")
>>> ulpgate.evaluate(hlo, x, mode="v5e/default/as-compiled")["out0"].astype(float)
array([   1.25,  100.  , 1000.  ])
>>> ulpgate.exact(hlo, x)["out0"]
array([   1.25,  100.25, 1000.25])
"""

from ._accuracy import assert_accurate
from ._arrays import array
from ._audit import Audit, Target, audit, audit_stablehlo
from ._hlo import (
    Change,
    Diff,
    Distance,
    Flow,
    ResultError,
    Results,
    TokenRows,
    WorstElement,
    WrongRow,
    diff,
    evaluate,
    exact,
    result_errors,
    show,
    token_rows,
)
from ._judge import JudgedResult, Judgement, ToleranceVerdict, assert_permitted, judge, tolerance
from ._scales import Quantized, ScaleRules, quantize, scales
from ._ulpgate import Error, __version__
from .testing import assert_conforms, assert_same_tokens

__all__ = [
    "Audit",
    "Change",
    "Diff",
    "Distance",
    "Error",
    "Flow",
    "JudgedResult",
    "Judgement",
    "Quantized",
    "ResultError",
    "Results",
    "ScaleRules",
    "Target",
    "TokenRows",
    "ToleranceVerdict",
    "WorstElement",
    "WrongRow",
    "__version__",
    "array",
    "assert_accurate",
    "assert_conforms",
    "assert_permitted",
    "assert_same_tokens",
    "audit",
    "audit_stablehlo",
    "diff",
    "evaluate",
    "exact",
    "judge",
    "quantize",
    "result_errors",
    "scales",
    "show",
    "token_rows",
    "tolerance",
]

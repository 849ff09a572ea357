"""Examples that need jax are skipped where it is not installed."""

import importlib.util

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if importlib.util.find_spec("jax") is not None:
        return
    for item in items:
        examples = item.dtest.examples if isinstance(item, pytest.DoctestItem) and item.dtest is not None else []
        if any(example.source.startswith("import jax") for example in examples):
            item.add_marker(pytest.mark.skip(reason="the example needs jax"))

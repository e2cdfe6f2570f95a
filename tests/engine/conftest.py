from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def _generated_code(generated_code: None) -> None:
    """What is evaluated when, and what a throw takes along, depends on the code that Spark generates."""

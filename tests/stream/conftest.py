from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from world import World


@pytest.fixture
def world(spark: Any, tmp_path: Path) -> World:
    return World.create(spark, tmp_path)

from __future__ import annotations

import pytest

from tests.orchestrator.firing.desk import Firing
from tests.orchestrator.office import Office


@pytest.fixture
def firing(office: Office) -> Firing:
    return Firing(office)

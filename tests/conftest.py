import os

import numpy as np
import pytest
from hypothesis import settings

from places import SHARED

DATA = SHARED / "data"

os.environ.pop(
    "COLUMNS", None
)  # commands print as into a pipe, however wide the terminal is that tests were started from

# The same examples in every run, and no deadline: a test's verdict never depends on the clock.
settings.register_profile("privreg", deadline=None, derandomize=True)
settings.load_profile("privreg")


@pytest.fixture
def rng():
    return np.random.default_rng(20231210)


@pytest.fixture(scope="session")
def real_data():
    """Folder of the paper's data sets, which a user's machine does not have."""
    if not DATA.is_dir():
        pytest.skip("the paper's data sets are not on this machine")
    return DATA

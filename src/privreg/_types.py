"""Names for numpy arrays. Loads numpy and nothing else, so that nobody compiles a kernel for a name."""

import numpy as np
from numpy.typing import NDArray

Bool = NDArray[np.bool_]
Int16 = NDArray[np.int16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

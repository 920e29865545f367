"""Arrays as NumPy has them, lazy: the last line runs one kernel."""

import numpy as np
import ostinato as ost

x = ost.Tensor(np.linspace(-2, 2, 12, dtype="f4").reshape(3, 4))
y = ost.silu(x) * 2 + x[0]
print(y)  # Tensor(f32[3, 4] on cpu:0, lazy)
print(y.numpy())

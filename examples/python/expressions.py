"""An expression as a function, and what it became."""

import numpy as np
from ostinato import dsl

f = dsl.compile("matmul(A, relu(B)) + softmax(C)", A=(8, 16), B=(16, 8), C=(8, 8))
a, b, c = (np.ones(s, "f4") for s in ((8, 16), (16, 8), (8, 8)))
print(f(a, b, c)[0, 0])
print(f.explain())

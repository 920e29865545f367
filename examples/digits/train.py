#!/usr/bin/env python3
"""Trains the digit classifier of the demo and writes weights.safetensors, x_test.npy and y_test.npy beside this file.

Only for re-training; the demo uses the committed files. It makes its own virtual environment in .venv at the top of the
repository on the first run. The data is the UCI set that scikit-learn bundles: 1,797 images of 8x8 pixels, of which
360 are held out. Same package versions, same machine type: same files (the seed is fixed).
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE.parent.parent / ".venv"
PACKAGES = ["numpy==2.4.6", "scikit-learn==1.9.1", "safetensors==0.8.0"]
SEED = 20
HIDDEN = 64
HELD_OUT = 360


def inside_venv() -> None:
    """Runs this script again with the packages that it needs, unless they are here already."""
    try:
        import safetensors.numpy  # noqa: F401
        import sklearn  # noqa: F401
    except ImportError:
        if os.environ.get("OSTINATO_DIGITS_VENV"):
            raise
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(VENV / "bin" / "pip"), "install", "-q", *PACKAGES], check=True)
        os.environ["OSTINATO_DIGITS_VENV"] = "1"
        python = str(VENV / "bin" / "python")
        os.execv(python, [python, __file__, *sys.argv[1:]])


def main() -> None:
    import numpy as np
    from safetensors.numpy import save_file
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32)
    x_train, x_test, y_train, y_test = train_test_split(
        images, labels, test_size=HELD_OUT, random_state=SEED, stratify=labels
    )
    model = MLPClassifier(
        hidden_layer_sizes=(HIDDEN,), activation="relu", alpha=1e-3, batch_size=32, max_iter=400, random_state=SEED
    )
    model.fit(x_train, y_train)
    (w1, w2), (b1, b2) = model.coefs_, model.intercepts_
    weights = {"W1": w1, "b1": b1, "W2": w2, "b2": b2}
    weights = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}
    save_file(weights, str(HERE / "weights.safetensors"))
    np.save(HERE / "x_test.npy", np.ascontiguousarray(x_test, dtype=np.float32))
    np.save(HERE / "y_test.npy", y_test.astype(np.int64))

    hidden = np.maximum(x_test @ weights["W1"] + weights["b1"], 0)
    accuracy = float(np.mean((hidden @ weights["W2"] + weights["b2"]).argmax(axis=1) == y_test))
    print(f"accuracy {accuracy:.3f} on {len(y_test)} held-out images")


if __name__ == "__main__":
    inside_venv()
    main()

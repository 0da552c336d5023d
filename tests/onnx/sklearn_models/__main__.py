"""python -m tests.onnx.sklearn_models: train the models and write the files of this folder.

It needs ``pip install skl2onnx``; the tests read what it has written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

HERE = Path(__file__).parent


def models() -> dict[str, tuple[Any, str]]:
    """By name an untrained model, and what it learns: classes, two of them, a number or nothing."""
    logistic = LogisticRegression()
    return {
        "ada": (AdaBoostClassifier(n_estimators=2, random_state=0), "classes"),
        "bagging": (BaggingClassifier(n_estimators=2, random_state=0), "classes"),
        "boosting": (GradientBoostingClassifier(n_estimators=3, random_state=0), "classes"),
        "boosting_of_two": (GradientBoostingClassifier(n_estimators=3, random_state=0), "two"),
        "boosting_regressor": (GradientBoostingRegressor(n_estimators=3, random_state=0), "number"),
        "forest": (RandomForestClassifier(5, max_depth=3, random_state=0), "classes"),
        "forest_of_two": (RandomForestClassifier(3, max_depth=3, random_state=0), "two"),
        "forest_regressor": (RandomForestRegressor(3, max_depth=3, random_state=0), "number"),
        "imputer": (make_pipeline(SimpleImputer(), MinMaxScaler(), Normalizer("l1")), ""),
        "kmeans": (KMeans(3, random_state=0), ""),
        "linear": (LinearRegression(), "number"),
        "linear_svc": (LinearSVC(random_state=0), "classes"),
        "logistic": (logistic, "classes"),
        "logistic_of_two": (logistic, "two"),
        "mlp": (MLPClassifier((8,), max_iter=300, random_state=0), "classes"),
        "mlp_regressor": (
            MLPRegressor(hidden_layer_sizes=(8,), max_iter=300, random_state=0),
            "number",
        ),
        "naive_bayes": (GaussianNB(), "classes"),
        "neighbors": (KNeighborsClassifier(3), "classes"),
        "pipeline": (make_pipeline(StandardScaler(), PCA(2), logistic), "classes"),
        "polynomial": (make_pipeline(PolynomialFeatures(), LinearRegression()), "number"),
        "svc": (SVC(), "classes"),
        "svc_of_two": (SVC(kernel="poly"), "two"),
        "svr": (SVR(), "number"),
    }


def answers(model: Any, x: np.ndarray) -> list[np.ndarray]:
    """What sklearn predicts, in the order of the file's outputs."""
    if not hasattr(model, "predict"):
        return [model.transform(x)]
    results = [model.predict(x)]
    if isinstance(model, KMeans):
        return [*results, model.transform(x)]
    if hasattr(model, "predict_proba"):
        return [*results, model.predict_proba(x)]
    if hasattr(model, "decision_function"):
        return [*results, model.decision_function(x)]
    return results


def main() -> None:
    """Write a file for each model, and the samples and predictions of all."""
    from skl2onnx import to_onnx

    flowers, classes = load_iris(return_X_y=True)
    flowers = flowers.astype(np.float32)[::2]
    classes = classes[::2]
    expected = {
        "classes": classes,
        "two": (classes > 0).astype(int),
        "number": 2 * flowers[:, 0] - flowers[:, 1],
        "": None,
    }
    samples = flowers[::5]
    arrays = {"samples": samples}
    for name, (model, kind) in models().items():
        model.fit(flowers, expected[kind])
        content = to_onnx(model, samples[:1]).SerializeToString()
        (HERE / f"{name}.onnx").write_bytes(content)
        for i, each in enumerate(answers(model, samples)):
            arrays[f"{name}.{i}"] = each.astype(np.int64 if each.dtype.kind == "i" else np.float32)
    np.savez_compressed(HERE / "predictions.npz", **arrays)


if __name__ == "__main__":
    main()

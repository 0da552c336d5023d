"""Operators that cannot be exported, and the reasons."""

from __future__ import annotations

from mixnet.onnx.export.table import REASONS

_FACTOR = "ONNX has no matrix decompositions; compute the result before the model, and pass it in."
_DRAWS = (
    "it draws random numbers of a distribution that ONNX does not have; draw them outside and pass "
    "them in."
)
_UPDATE = "it writes its arrays, and an ONNX model has no state between calls."
_PYTHON = "it runs Python."

REASONS.update(
    dict.fromkeys(
        [
            "_linalg_trsm",
            "_linalg_potrf",
            "_linalg_potri",
            "_linalg_gelqf",
            "_linalg_syevd",
            "_linalg_inverse",
            "_linalg_slogdet",
            "_npi_slogdet",
            "_npi_cholesky",
            "_npi_svd",
            "_npi_solve",
            "_npi_tensorinv",
            "_npi_tensorsolve",
            "_npi_pinv",
            "_npi_pinv_scalar_rcond",
            "_npi_eigh",
            "_npi_eigvalsh",
            "_npi_eig",
            "_npi_eigvals",
        ],
        _FACTOR,
    )
)
REASONS["_contrib_fft"] = REASONS["_contrib_ifft"] = (
    "ONNX's DFT gives numbers in another layout, and few runtimes have it; transform outside of the model."
)
REASONS["reset_arrays"] = _UPDATE
REASONS["Custom"] = _PYTHON

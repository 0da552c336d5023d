"""Errors of linear algebra and of CTC."""

from __future__ import annotations

import pytest

from mixnet import nd
from mixnet.base import ShapeError

BAD = {
    "gemm2": (lambda: nd.linalg.gemm2(nd.ones((2, 3)), nd.ones((2, 3))), "columns of the one"),
    "gemm2 batch": (lambda: nd.linalg.gemm2(nd.ones((2, 3, 3)), nd.ones((3, 3))), "must agree"),
    "gemm2 axis": (lambda: nd.linalg.gemm2(nd.ones((3, 3)), nd.ones((3, 3)), axis=1), "axis=1"),
    "gemm": (lambda: nd.linalg.gemm(*[nd.ones((3, 3))] * 2, nd.ones((3, 2))), "C is"),
    "syrk": (lambda: nd.linalg.syrk(nd.ones(3)), "two axes"),
    "trmm": (lambda: nd.linalg.trmm(nd.ones((3, 3)), nd.ones((2, 3))), "does not exist"),
    "potrf": (lambda: nd.linalg.potrf(nd.ones((3, 2))), "potrf: the matrix is"),
    "gelqf": (lambda: nd.linalg.gelqf(nd.ones((3, 2)))[0], "Transpose"),
    "extractdiag": (lambda: nd.linalg.extractdiag(nd.ones((3, 3)), offset=3), "between -2 and 2"),
    "maketrian": (lambda: nd.linalg.maketrian(nd.ones(4)), "1, 3, 6, 10"),
    "ctc classes": (lambda: nd.CTCLoss(nd.ones((4, 2)), nd.ones((2, 2))), "time, batch, classes"),
    "ctc batch": (lambda: nd.CTCLoss(nd.ones((4, 2, 3)), nd.ones((3, 2))), "2 rows"),
    "ctc lengths": (
        lambda: nd.CTCLoss(nd.ones((4, 2, 3)), nd.ones((2, 2)), nd.ones(3), use_data_lengths=True),
        "one length per sequence",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_named(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises(ShapeError, match=message):
        call().asnumpy()

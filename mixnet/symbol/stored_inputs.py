"""What the graph of an executor reads of its sparse arguments: stored values and rows, not dense copies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixnet.autograd.scope import unrecorded
from mixnet.autograd.tape import Mark
from mixnet.graph.graph import Graph
from mixnet.ndarray.csr_array import CSRNDArray
from mixnet.ndarray.ndarray import NDArray
from mixnet.ndarray.row_sparse_array import RowSparseNDArray, rows_in_room
from mixnet.ndarray.sparse_array import host_indices, places_among

if TYPE_CHECKING:
    from mixnet.passes.stored_values import StoredValues


class StoredInputs:
    """The arrays that stand for the arguments of an executor.

    Three stand for a csr matrix that the graph only multiplies by, see ``read_by_values``. The stored rows
    of a row_sparse weight stand for it while they are those that a matrix multiplies, see
    ``weights_by_matrix``: their gradient is then that of the weight.

    Args:
        graph: of the symbol.
        arguments: the arguments by name.
        gradients: the arrays for their gradients, None where there is none.
        requests: ``grad_req`` by name.
        whole: whether all arrays are read as dense ones.
    """

    def __init__(
        self,
        graph: Graph,
        arguments: Mapping[str, NDArray],
        gradients: Mapping[str, NDArray | None],
        requests: Mapping[str, str],
        whole: bool,
    ):
        self._arguments, self._gradients, self._requests = arguments, gradients, requests
        self._matrices: dict[str, CSRNDArray] = {} if whole else self._find_matrices(graph)
        self._order: dict[str, list[int]] = {}
        self._weights: dict[str, list[str]] = {}
        if self._matrices:
            self._order = self._with_stored_values(graph).order
            self._weights = self._find_weights(graph)
        self._place()

    def _find_matrices(self, graph: Graph) -> dict[str, CSRNDArray]:
        """The csr arguments without gradients that the graph can read as stored values."""
        matrices = {
            name: array
            for name, array in self._arguments.items()
            if isinstance(array, CSRNDArray)
            and (self._gradients[name] is None or self._requests.get(name, "null") == "null")
        }
        if not matrices:
            return {}
        from mixnet.passes.stored_values import read_by_values  # few programs need it

        names = read_by_values(graph, matrices)
        return {name: array for name, array in matrices.items() if name in names}

    def _find_weights(self, graph: Graph) -> dict[str, list[str]]:
        """By the name of a matrix, the weights whose rows have the numbers of its columns."""
        from mixnet.passes.rows_of_weights import weights_by_matrix

        weights = {
            name
            for name, array in self._arguments.items()
            if isinstance(array, RowSparseNDArray)
            and isinstance(self._gradients[name], RowSparseNDArray | None)
        }
        return weights_by_matrix(graph, self._matrices, weights)

    def _place(self) -> None:
        counts = [3 if name in self._matrices else 1 for name in self._arguments]
        places = itertools.accumulate(counts, initial=0)
        self.places = dict(zip(self._arguments, places, strict=False))
        """Where each argument, or the first array that stands for it, is among the inputs."""
        weights = itertools.chain(*self._weights.values())
        self.varying = [self.places[name] for name in (*self._matrices, *weights)]
        """The positions of inputs whose shapes vary from batch to batch."""

    def read_whole(self) -> None:
        """Read all arrays as dense ones from now on."""
        self._matrices.clear()
        self._weights.clear()
        self._place()

    def read(self) -> tuple[list[NDArray], dict[int, RowsRead]]:
        """The inputs, and what is read in place of weights by position."""
        inputs: list[NDArray] = []
        rows_read: dict[int, RowsRead] = {}
        for name, array in self._arguments.items():
            if name in self._matrices:
                parts = self._matrices[name]._stored()
                if name in self._weights:
                    parts[1] = self._read_rows(name, parts[1], rows_read)
                inputs += [parts[i] for i in self._order[name]]
            else:
                inputs.append(array)
        for position, read in rows_read.items():
            inputs[position] = read.rows
        return inputs, rows_read

    def _read_rows(self, matrix: str, columns: NDArray, rows_read: dict[int, RowsRead]) -> NDArray:
        """The columns as numbers of the rows that are read: stored rows, noted in ``rows_read``, or all."""
        names = self._weights[matrix]
        weights: list[Any] = [self._arguments[name] for name in names]
        places = places_of_columns(columns.asnumpy(), weights)
        if places is None:
            return columns
        for name, weight in zip(names, weights, strict=True):
            request = self._requests.get(name, "null")
            rows_read[self.places[name]] = RowsRead(weight, self._gradients[name], request)
        return host_indices(places, columns.context)

    def in_graph(self, graph: Graph) -> Graph:
        """The graph with these inputs."""
        return self._with_stored_values(graph).graph if self._matrices else graph

    def _with_stored_values(self, graph: Graph) -> StoredValues:
        from mixnet.passes.stored_values import with_stored_values

        return with_stored_values(graph, {n: each.shape for n, each in self._matrices.items()})


class RowsRead:
    """The stored rows of a weight, read in place of the weight.

    Args:
        weight: the weight.
        gradient: the array for its gradient, None for none.
        request: how the gradient is written.
    """

    def __init__(self, weight: RowSparseNDArray, gradient: NDArray | None, request: str):
        self.rows = unrecorded(weight._rows_with_room)
        self._numbers = weight._aux[0].asnumpy()
        self._gradient, self._adds = gradient, request == "add"
        self.mark: Mark | None = None
        """Of the rows as a variable of the tape; None without a gradient."""
        if gradient is not None and request != "null":
            self.mark = Mark(NDArray._wrap(self.rows._read().alias()), "write")

    def write_gradient(self) -> None:
        """Write, or add, the gradient of the rows to that of the weight, after backward."""
        if self.mark is None or not isinstance(self._gradient, RowSparseNDArray):
            return
        computed = NDArray._wrap(self.mark.gradient._read())
        gradient = rows_in_room(computed, self._numbers, self._gradient.shape)
        if self._adds:
            rows, numbers = gradient._roomy
            self._gradient._write_rows([(numbers._read(), rows._read())], True)
        else:
            self._gradient._replace(gradient)


def places_of_columns(
    columns: np.ndarray, weights: Sequence[RowSparseNDArray]
) -> np.ndarray | None:
    """Where the row of each column is among the stored rows of the weights.

    None unless every weight stores the rows of these columns and no others, in order: as ``prepare`` of a
    module leaves them. Other rows would get gradients of 0, which count as stored.
    """
    numbers = weights[0]._aux[0].asnumpy()
    if not 0 < len(numbers) < weights[0].shape[0]:
        return None
    for other in weights[1:]:
        if not np.array_equal(other._aux[0].asnumpy(), numbers):
            return None
    if not (numbers[1:] > numbers[:-1]).all():
        return None
    places = places_among(numbers, columns, weights[0].shape[0])
    if places is None or not np.bincount(places, minlength=len(numbers)).all():
        return None
    return places

"""Classes of JAX's primitives, by name."""

# Primitives that compute element k of the result only from elements k of the operands.
ELEMENTWISE = frozenset([
    "abs", "acos", "acosh", "add", "add_any", "and", "asin", "asinh", "atan", "atan2", "atanh",
    "bessel_i0e", "bessel_i1e", "cbrt", "ceil", "clamp", "conj", "convert_element_type", "copy",
    "copy_p", "cos", "cosh", "digamma", "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2",
    "expm1", "floor", "ge", "gt", "igamma", "igamma_grad_a", "igammac", "imag", "integer_pow",
    "is_finite", "le", "lgamma", "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne",
    "neg", "nextafter", "not", "or", "polygamma", "population_count", "pow", "quotient", "real",
    "reduce_precision", "regularized_incomplete_beta", "rem", "round", "rsqrt", "select_n",
    "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt",
    "square", "stop_gradient", "sub", "tan", "tanh", "xor", "zeta",
])  # fmt: skip
# Primitives whose results are written to memory, because a compiler does not fuse them.
MATERIALISED = frozenset([
    "cholesky", "conv_general_dilated", "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum",
    "custom_call", "dot_general", "eigh", "fft", "gather", "lu", "qr", "reduce_window",
    "reduce_window_max", "reduce_window_min", "reduce_window_sum", "scan", "scatter",
    "scatter-add", "select_and_gather_add", "select_and_scatter_add", "sort", "svd", "top_k",
    "triangular_solve", "while",
])  # fmt: skip

"""Alternative implementations of operators, for one layout or platform; the results are the same."""

"""Other ways to compute an operator, for one layout or one platform; the results are the same."""

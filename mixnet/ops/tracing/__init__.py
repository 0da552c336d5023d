"""Analysis of operators: their jaxprs, data flow, and programs for all shapes."""

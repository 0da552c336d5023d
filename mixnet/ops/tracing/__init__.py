"""Analysis of operator programs: jaxprs, data flow, and shape-independent forms."""

"""What is read off the programs of operators: their jaxprs, their data flow, forms for every shape."""

"""What exists because MXNet has the name: modules without a part in mixnet's own design."""

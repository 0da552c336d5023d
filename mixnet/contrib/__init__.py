"""mx.contrib: what MXNet has beside its main namespaces."""

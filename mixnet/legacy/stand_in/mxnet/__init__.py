"""Imported as ``mxnet`` if the parent folder is on the module path; replaces itself with mixnet."""

from mixnet.legacy.as_mxnet import as_mxnet

as_mxnet()

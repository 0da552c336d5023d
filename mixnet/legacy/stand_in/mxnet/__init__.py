"""Found as ``mxnet`` where this folder's parent is on the path of modules: mixnet takes its place."""

from mixnet.legacy.as_mxnet import as_mxnet

as_mxnet()

"""Iterators, datasets, images and record files."""

from mixnet.base import (
    AttributeTypeError,
    AttributeValueError,
    CheckError,
    DTypeError,
    FileFormatError,
    IndexingError,
    MissingFileError,
    MXNetError,
    ShapeError,
    UnknownNameError,
)
from tests.mistakes.mistake import mistake

MISTAKES = [
    # ---- iterators
    mistake("io.NDArrayIter('abc')", TypeError, "str", "numpy.array"),
    mistake("io.NDArrayIter([1, 2, 3])", IndexError, "_0_data", "first axis"),
    mistake("io.NDArrayIter(None)", AssertionError, "'data'", "must be data"),
    mistake("io.NDArrayIter(numpy.ones((2, 3)), batch_size=0)", ValueError, "0", "batch_size"),
    mistake("io.NDArrayIter(numpy.ones((2, 3)), batch_size='a')", TypeError, "'a'", "batch_size"),
    mistake(
        "list(io.NDArrayIter(numpy.ones((5, 3)), numpy.ones(2)))", ShapeError, "2", "5 samples"
    ),
    mistake("batches().getdata()", AssertionError, "no batch", "next()"),
    mistake(
        "io.CSVIter(data_csv='nothing.csv', data_shape=(3,), batch_size=2)",
        MXNetError,
        "'nothing.csv'",
        "o such file",
    ),
    mistake("io.CSVIter(data_csv='nothing.csv')", TypeError, "batch_size", "Required parameter"),
    mistake(
        "open('a.csv', 'w').write('1,2')\nlist(io.CSVIter(data_csv='a.csv', data_shape=(3,), batch_size=1))",
        FileFormatError,
        "'1,2'",
        "3 number(s)",
    ),
    mistake(
        "io.ImageRecordIter(path_imgrec='nothing.rec', data_shape=(3, 4, 4), batch_size=2)",
        MXNetError,
        "'nothing.rec'",
        "o such file",
    ),
    mistake(
        "io.ImageRecordIter(data_shape=(3, 4, 4), batch_size=2)",
        MXNetError,
        "path_imgrec",
        "not given",
    ),
    mistake("io.PrefetchingIter(3)", TypeError, "3", "mx.io.NDArrayIter"),
    mistake("io.ResizeIter(3, 4)", TypeError, "3", "mx.io.NDArrayIter"),
    mistake("io.DataDesc('data')", TypeError, "'shape'"),
    # ---- record files
    mistake("recordio.MXRecordIO('nothing.rec', 'r')", MXNetError, "'nothing.rec'", "o such file"),
    mistake("recordio.MXRecordIO('a.rec', 'rw')", ValueError, "rw", "'r' or 'w'"),
    mistake("recordio.MXRecordIO('a.rec', 'w').write('abc')", TypeError, "write", "bytes"),
    mistake("recordio.MXRecordIO('a.rec', 'w').read()", AssertionError, "'a.rec'", "writing"),
    mistake(
        "open('a.rec', 'w').write('no records here')\nrecordio.MXRecordIO('a.rec', 'r').read()",
        FileFormatError,
        "a.rec",
        "byte 0",
    ),
    mistake(
        "recordio.MXIndexedRecordIO('a.idx', 'a.rec', 'w').close()\n"
        "recordio.MXIndexedRecordIO('a.idx', 'a.rec', 'r').read_idx(4)",
        (UnknownNameError, KeyError),
        "4",
        "0 records",
    ),
    mistake("recordio.unpack(b'a')", FileFormatError, "1", "24 bytes"),
    mistake(
        "recordio.pack_img(recordio.IRHeader(0, 1, 2, 0), numpy.ones((2, 2)), img_fmt='.foo')",
        MXNetError,
        "'.foo'",
        "'.jpg'",
    ),
    # ---- images
    mistake("image.imread('nothing.jpg')", MXNetError, "'nothing.jpg'", "o such file"),
    mistake("image.imdecode(b'abc')", MXNetError, "3 bytes", "not an image"),
    mistake("image.imdecode('abc')", ValueError, "str", "bytes"),
    mistake("image.imresize(x, 4, 4)", ShapeError, "(2, 3)", "(height, width, channels)"),
    mistake(
        "image.imresize(nd.ones((4, 4, 3), dtype='uint8'), 'a', 4)", TypeError, "'a'", "pixels"
    ),
    mistake("image.fixed_crop(nd.ones((4, 6, 3)), 6, 0, 2, 2)", MXNetError, "6 by 4", "(6, 0)"),
    mistake("image.center_crop(nd.ones((4, 6, 3)), (2, 0))", MXNetError, "2 by 0", "above 0"),
    mistake("image.resize_short(nd.ones(3), 4)", ValueError, "(3,)", "(height, width, channels)"),
    mistake("image.center_crop(nd.ones((4, 4, 3)), 3)", TypeError, "3", "(width, height)"),
    mistake(
        "image.color_normalize(nd.ones((4, 4, 3)), nd.ones(5))", ShapeError, "(5,)", "(4, 4, 3)"
    ),
    mistake("image.CreateAugmenter((4, 4))", IndexError, "(4, 4)", "(channels, height, width)"),
    mistake("image.ImageIter(2, (3, 4, 4))", AssertionError, "path_imgrec", "imglist"),
    mistake(
        "image.ImageIter(2, (4, 4), imglist=[[0, 'a.jpg']], path_root='.')",
        ValueError,
        "data_shape",
        "(3, height, width)",
    ),
    mistake(
        "image.ImageIter(2, (3, 4, 4), imglist=[[0, 'a.jpg']], path_root='.').next()",
        OSError,
        "a.jpg",
        "o such file",
    ),
    mistake(
        "image.ImageIter(2, (3, 4, 4), path_imglist='nothing.lst', path_root='.')",
        (MissingFileError, OSError),
        "nothing.lst",
        "o such file",
    ),
    mistake("transforms.ToTensor()(x)", ShapeError, "(2, 3)", "(height, width, channels)"),
    mistake("transforms.ToTensor()(numpy.ones((4, 4, 3)))", ValueError, "a ndarray", "mx.nd.array"),
    mistake("transforms.Resize(4)(nd.ones(3))", ShapeError, "(3,)", "(height, width, channels)"),
    mistake(
        "transforms.Normalize((0, 1), 1)(nd.ones((3, 4, 4)))", ValueError, "(0.0, 1.0)", "1 or 3"
    ),
    mistake("transforms.Compose(3)", TypeError, "3", "list of transforms"),
    mistake("transforms.Compose([3])", TypeError, "[3]", "list of transforms"),
    mistake("transforms.Cast('foo')(x)", DTypeError, "'foo'", "use one of float32"),
    # ---- datasets
    mistake("ArrayDataset(x, y)", AssertionError, "4", "2 samples"),
    mistake("ArrayDataset()", AssertionError, "ArrayDataset", "at least one array"),
    mistake("ArrayDataset(3)", TypeError, "3", "a list"),
    mistake("SimpleDataset([1, 2])[5]", (IndexingError, IndexError), "5", "2"),
    mistake("SimpleDataset([1, 2]).transform(3)", TypeError, "3", "function"),
    mistake(
        "ArrayDataset(x, nd.ones(2)).transform(lambda a: a)[0]",
        AttributeTypeError,
        "(a)",
        "transform_first",
    ),
    mistake(
        "gluon.data.RecordFileDataset('nothing.rec')", MXNetError, "nothing.rec", "o such file"
    ),
    mistake(
        "gluon.data.vision.ImageFolderDataset('nothing')",
        (MissingFileError, OSError),
        "'nothing'",
        "folder",
    ),
    mistake("gluon.data.FilterSampler(3, [1, 2])", TypeError, "3", "function"),
    # ---- loaders
    mistake("DataLoader(ArrayDataset(x))", AttributeValueError, "batch_size", "batch_sampler"),
    mistake("DataLoader(ArrayDataset(x), batch_size=0)", ValueError, "0", "batch_size"),
    mistake("DataLoader(ArrayDataset(x), batch_size='a')", TypeError, "'a'", "batch_size"),
    mistake(
        "DataLoader(x, 2, shuffle=True, sampler=gluon.data.RandomSampler(2))",
        ValueError,
        "shuffle",
        "give one",
    ),
    mistake("DataLoader(x, 2, num_worker=1)", TypeError, "'num_worker'"),
    mistake("DataLoader(3, 2)", TypeError, "3", "a dataset"),
    mistake(
        "list(DataLoader([numpy.ones(2), numpy.ones(3)], 2))",
        AttributeValueError,
        "(2,) and (3,)",
        "batchify_fn",
    ),
    mistake(
        "list(DataLoader([nd.ones(2), nd.ones(3)], 2))", ValueError, "(2,) and (3,)", "batchify_fn"
    ),
    mistake("list(DataLoader([[1, 2], [3]], 2))", ValueError, "(2,) and (1,)", "batchify_fn"),
    mistake(
        "list(DataLoader([(numpy.ones(2), 1), (numpy.ones(3), 2)], 2))",
        ValueError,
        "(2,) and (3,)",
        "batchify_fn",
    ),
    mistake("list(DataLoader(['ab', 'c'], 2))", TypeError, "str", "batchify_fn"),
    mistake("list(DataLoader([{'a': 1}, {'a': 2}], 2))", TypeError, "dict", "batchify_fn"),
    mistake(
        "list(gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, 'foo'))",
        ValueError,
        "'foo'",
        "'keep'",
    ),
    # ---- the rest
    mistake(
        "mx.test_utils.assert_almost_equal(x, y)", (CheckError, AssertionError), "(4, 5)", "(2, 3)"
    ),
    mistake("mx.profiler.set_state('foo')", AttributeValueError, "'foo'", "'run'"),
    mistake("mx.profiler.set_config(foo=3)", AttributeTypeError, "'foo'", "filename"),
    mistake("mx.engine.set_bulk_size('a')", AttributeValueError, "'a'", "integer"),
    mistake("mx.npx.set_np(array=True, shape=False)", ValueError, "array=True", "shape=True"),
]

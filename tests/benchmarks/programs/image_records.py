"""A RecordIO file of images made by the program; ImageIter with augmenters of one's own,
ImageRecordIter, the vision datasets and transforms.
"""

import os

import mxnet as mx
import numpy as np
from mxnet import gluon, image, nd
from mxnet.gluon.data.vision import ImageFolderDataset, ImageRecordDataset, transforms

rng = np.random.RandomState(30)
colours = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200]])


def picture(k, size=20):
    base = np.ones((size, size + 4, 3)) * colours[k]
    base[:, : size // 2] *= 0.5
    return base.astype("uint8")


record = mx.recordio.MXIndexedRecordIO("images.idx", "images.rec", "w")
for i in range(24):
    header = mx.recordio.IRHeader(0, float(i % 3), i, 0)
    record.write_idx(i, mx.recordio.pack_img(header, picture(i % 3), quality=3, img_fmt=".png"))
record.close()


class Darken(image.Augmenter):
    def __init__(self, factor):
        super(Darken, self).__init__(factor=factor)
        self.factor = factor

    def __call__(self, src):
        return src.astype("float32") * self.factor


augs = [
    image.ResizeAug(16),
    image.CenterCropAug((12, 12)),
    Darken(0.5),
    image.CastAug(),
    image.ColorNormalizeAug(mx.nd.array([10.0, 20, 30]), mx.nd.array([2.0, 2, 2])),
]
it = image.ImageIter(
    batch_size=8,
    data_shape=(3, 12, 12),
    path_imgrec="images.rec",
    path_imgidx="images.idx",
    aug_list=augs,
    shuffle=False,
)
print(it.provide_data, it.provide_label, augs[2].dumps())
for n, batch in enumerate(it):
    print(
        n,
        batch.data[0].shape,
        batch.label[0].asnumpy(),
        "%.2f" % batch.data[0].mean().asscalar(),
        batch.pad,
    )
it = mx.io.ImageRecordIter(
    path_imgrec="images.rec",
    data_shape=(3, 16, 16),
    batch_size=10,
    resize=16,
    mean_r=1,
    mean_g=2,
    mean_b=3,
    scale=0.5,
    preprocess_threads=1,
)
print([(b.data[0].shape, b.pad, "%.2f" % b.data[0].mean().asscalar()) for b in it])
os.makedirs("folder/a")
os.makedirs("folder/b")
import cv2

for i, name in enumerate(("a/1.png", "a/2.png", "b/1.png")):
    cv2.imwrite("folder/" + name, picture(i)[:, :, ::-1])
folder = ImageFolderDataset("folder")
print(
    len(folder),
    folder.synsets,
    folder[2][1],
    folder[1][0].shape,
    folder[1][0].asnumpy()[0, -1].tolist(),
)
transform = transforms.Compose(
    [transforms.Resize(12), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]
)
data = ImageRecordDataset("images.rec").transform_first(transform)
loader = gluon.data.DataLoader(data, batch_size=12)
for x, y in loader:
    print(x.shape, "%.3f" % x.mean().asscalar(), y.asnumpy().astype(int).tolist())
img = image.imread("folder/a/1.png")
print(
    img.shape,
    img.dtype,
    image.resize_short(img, 10).shape,
    image.fixed_crop(img, 2, 2, 10, 10, (5, 5)).shape,
)
crop, area = image.center_crop(img, (8, 8))
print(area, crop.asnumpy()[0, 0].tolist(), image.imresize(img, 6, 4).asnumpy()[0, 0].tolist())
for name in ("HorizontalFlipAug", "BrightnessJitterAug", "RandomGrayAug", "LightingAug"):
    print(name, hasattr(image, name))
made = image.CreateAugmenter(
    (3, 10, 10), resize=12, rand_mirror=True, mean=True, std=True, brightness=0.1, pca_noise=0.1
)
print([type(a).__name__ for a in made])
print(
    nd.image.to_tensor(img).shape,
    "%.4f"
    % nd.image.normalize(nd.image.to_tensor(img), mean=(0.1, 0.2, 0.3), std=(1, 2, 3))
    .mean()
    .asscalar(),
)
with open("folder/a/1.png", "rb") as f:
    print(image.imdecode(f.read(), flag=0).shape)
det = image.CreateDetAugmenter((3, 12, 12), rand_mirror=True)
print([type(a).__name__ for a in det])

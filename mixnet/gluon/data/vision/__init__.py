"""Image datasets and transforms."""

from mixnet.gluon.data.vision import datasets as datasets
from mixnet.gluon.data.vision import transforms as transforms
from mixnet.gluon.data.vision.datasets import CIFAR10 as CIFAR10
from mixnet.gluon.data.vision.datasets import CIFAR100 as CIFAR100
from mixnet.gluon.data.vision.datasets import MNIST as MNIST
from mixnet.gluon.data.vision.datasets import FashionMNIST as FashionMNIST
from mixnet.gluon.data.vision.datasets import ImageFolderDataset as ImageFolderDataset
from mixnet.gluon.data.vision.datasets import ImageListDataset as ImageListDataset
from mixnet.gluon.data.vision.datasets import ImageRecordDataset as ImageRecordDataset

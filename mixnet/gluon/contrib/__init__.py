"""``mx.gluon.contrib``: blocks beside the main ones."""

from mixnet.gluon.contrib import rnn as rnn

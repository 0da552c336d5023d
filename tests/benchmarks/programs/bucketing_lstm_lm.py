"""A language model of characters: BucketSentenceIter, BucketingModule, stacked LSTM cells of mx.rnn."""

import logging

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.WARNING)
rng = np.random.RandomState(3)
words = "the cat sat on a mat and saw one small red bird fly over hill".split()
sentences = []
for _ in range(240):
    start = rng.randint(len(words))
    sentences.append(
        [words[(start + i * (1 + start % 2)) % len(words)] for i in range(rng.randint(4, 16))]
    )
coded, vocab = mx.rnn.encode_sentences(sentences, invalid_label=0, start_label=1)
print(len(vocab), coded[0])
buckets = [6, 10, 16]
np.random.seed(1)
import random

random.seed(5)
train = mx.rnn.BucketSentenceIter(coded, 12, buckets=buckets, invalid_label=0)

stack = mx.rnn.SequentialRNNCell()
for i in range(2):
    stack.add(mx.rnn.LSTMCell(num_hidden=24, prefix="lstm_l%d_" % i))


def sym_gen(seq_len):
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    embed = mx.sym.Embedding(data=data, input_dim=len(vocab) + 1, output_dim=16, name="embed")
    stack.reset()
    outputs, states = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
    pred = mx.sym.Reshape(outputs, shape=(-1, 24))
    pred = mx.sym.FullyConnected(data=pred, num_hidden=len(vocab) + 1, name="pred")
    label = mx.sym.Reshape(label, shape=(-1,))
    pred = mx.sym.SoftmaxOutput(
        data=pred, label=label, name="softmax", use_ignore=True, ignore_label=0
    )
    return pred, ("data",), ("softmax_label",)


class Fixed(mx.init.Initializer):
    def _init_weight(self, name, arr):
        seed = sum(ord(c) for c in name)
        arr[:] = np.random.RandomState(seed).uniform(-0.2, 0.2, arr.shape)


model = mx.mod.BucketingModule(
    sym_gen=sym_gen, default_bucket_key=train.default_bucket_key, context=mx.cpu()
)
model.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
model.init_params(initializer=Fixed())
model.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.01})
metric = mx.metric.Perplexity(ignore_label=0)
for epoch in range(6):
    train.reset()
    metric.reset()
    for batch in train:
        model.forward(batch, is_train=True)
        model.update_metric(metric, batch.label)
        model.backward()
        model.update()
name, value = metric.get()
print(name, "falls below 6:", value < 6)
print(sorted(set(b[0] for b in [(k,) for k in train.buckets])))
args, _ = model.get_params()
print(sorted((k, v.shape) for k, v in args.items()))
unpacked = stack.unpack_weights(args)
print(sorted(k for k in unpacked if k.startswith("lstm_l0")))
mx.rnn.save_rnn_checkpoint(stack, "lm", 6, model.symbol, *model.get_params())
sym, arg, aux = mx.rnn.load_rnn_checkpoint(stack, "lm", 6)
print(all((arg[k].asnumpy() == args[k].asnumpy()).all() for k in args))

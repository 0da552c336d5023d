"""A two-stage detector's heads as Faster R-CNN has them: Proposal, ROIPooling and ROIAlign,
smooth L1, a custom target operator.
"""

import mxnet as mx
import numpy as np

rng = np.random.RandomState(5)


class ProposalTarget(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        rois, gt = in_data[0].asnumpy(), in_data[1].asnumpy()[0]
        x1, y1 = np.maximum(rois[:, 1], gt[0]), np.maximum(rois[:, 2], gt[1])
        x2, y2 = np.minimum(rois[:, 3], gt[2]), np.minimum(rois[:, 4], gt[3])
        inter = np.maximum(x2 - x1 + 1, 0) * np.maximum(y2 - y1 + 1, 0)
        area = (rois[:, 3] - rois[:, 1] + 1) * (rois[:, 4] - rois[:, 2] + 1)
        iou = inter / (area + (gt[2] - gt[0] + 1) * (gt[3] - gt[1] + 1) - inter)
        label = (iou > 0.3) * gt[4]
        target = (gt[None, :4] - rois[:, 1:]) / 32.0
        self.assign(out_data[0], req[0], mx.nd.array(label))
        self.assign(out_data[1], req[1], mx.nd.array(target))
        self.assign(out_data[2], req[2], mx.nd.array(np.repeat((label > 0)[:, None], 4, 1)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        for r, g in zip(req, in_grad):
            self.assign(g, r, 0)


@mx.operator.register("toy_proposal_target")
class ProposalTargetProp(mx.operator.CustomOpProp):
    def __init__(self, num="8"):
        super(ProposalTargetProp, self).__init__(need_top_grad=False)
        self.num = int(num)

    def list_arguments(self):
        return ["rois", "gt_boxes"]

    def list_outputs(self):
        return ["label", "bbox_target", "bbox_weight"]

    def infer_shape(self, in_shape):
        n = in_shape[0][0]
        return in_shape, [(n,), (n, 4), (n, 4)], []

    def create_operator(self, ctx, shapes, dtypes):
        return ProposalTarget()

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return []


data, im_info, gt = mx.sym.Variable("data"), mx.sym.Variable("im_info"), mx.sym.Variable("gt_boxes")
feat = mx.sym.Activation(
    mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), stride=(2, 2), num_filter=12, name="c1"),
    act_type="relu",
)
feat = mx.sym.Activation(
    mx.sym.Convolution(feat, kernel=(3, 3), pad=(1, 1), stride=(2, 2), num_filter=16, name="c2"),
    act_type="relu",
)
rpn = mx.sym.Activation(
    mx.sym.Convolution(feat, kernel=(3, 3), pad=(1, 1), num_filter=16, name="rpn"), act_type="relu"
)
score = mx.sym.Convolution(rpn, kernel=(1, 1), num_filter=6, name="rpn_score")
delta = mx.sym.Convolution(rpn, kernel=(1, 1), num_filter=12, name="rpn_delta")
score2 = mx.sym.Reshape(score, shape=(0, 2, -1, 0))
prob = mx.sym.Reshape(mx.sym.softmax(score2, axis=1), shape=(0, 6, -1, 0))
rois = mx.sym.contrib.Proposal(
    cls_prob=mx.sym.BlockGrad(prob),
    bbox_pred=mx.sym.BlockGrad(delta),
    im_info=im_info,
    name="rois",
    feature_stride=4,
    scales=(4,),
    ratios=(0.5, 1, 2),
    rpn_pre_nms_top_n=60,
    rpn_post_nms_top_n=8,
    threshold=0.7,
    rpn_min_size=4,
)
group = mx.sym.Custom(rois=rois, gt_boxes=gt, op_type="toy_proposal_target", name="target")
pooled = mx.sym.ROIPooling(feat, rois, pooled_size=(3, 3), spatial_scale=0.25)
aligned = mx.sym.contrib.ROIAlign(
    feat, rois, pooled_size=(3, 3), spatial_scale=0.25, sample_ratio=2
)
top = mx.sym.Activation(
    mx.sym.FullyConnected(mx.sym.Flatten(pooled + aligned), num_hidden=32, name="fc"),
    act_type="relu",
)
cls = mx.sym.SoftmaxOutput(
    mx.sym.FullyConnected(top, num_hidden=3, name="cls"),
    group[0],
    normalization="batch",
    name="cls_prob",
)
box = mx.sym.FullyConnected(top, num_hidden=4, name="box")
box_loss = mx.sym.MakeLoss(
    mx.sym.smooth_l1((box - group[1]) * group[2], scalar=1.0), grad_scale=0.1, name="box_loss"
)
net = mx.sym.Group([cls, box_loss, mx.sym.BlockGrad(rois), mx.sym.BlockGrad(group[0])])

shapes = {"data": (1, 3, 48, 48), "im_info": (1, 3), "gt_boxes": (1, 5)}
print(net.list_outputs())
exe = net.simple_bind(
    mx.cpu(),
    grad_req={n: "null" if n in shapes else "write" for n in net.list_arguments()},
    **shapes,
)
for n, a in exe.arg_dict.items():
    if n.endswith("weight"):
        a[:] = rng.normal(0, np.sqrt(1.5 / np.prod(a.shape[1:])), a.shape)
for step in range(30):
    k = step % 2
    image = rng.normal(0, 0.1, (1, 3, 48, 48))
    x, y = rng.randint(2, 24, 2)
    image[0, k, y : y + 20, x : x + 20] += 1
    exe.forward(
        is_train=True,
        data=image,
        im_info=np.array([[48, 48, 1.0]]),
        gt_boxes=np.array([[x, y, x + 19, y + 19, k + 1]]),
    )
    exe.backward()
    for n, g in exe.grad_dict.items():
        if g is not None and not n.startswith("rpn"):
            mx.nd.sgd_update(exe.arg_dict[n], g, out=exe.arg_dict[n], lr=0.05, wd=0.0)
    out = [o.asnumpy() for o in exe.outputs]
    if step < 3:
        print(step, out[0].shape, "%.4f" % out[1].sum(), out[3].astype(int))
        print(out[2].round(1).tolist())
print("rois inside:", bool((out[2][:, 1:] >= 0).all() and (out[2][:, 1:] <= 47).all()))

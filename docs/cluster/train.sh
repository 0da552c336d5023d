# What a job does, whatever the scheduler: LeNet on the GPUs that the job was given, else on its cores.
# A job that is submitted again continues where the last one stopped.
if [ -f "${VENV:-.venv}/bin/activate" ]; then . "${VENV:-.venv}/bin/activate"; fi
export MIXNET_CACHE_DIR="${MIXNET_CACHE_DIR:-${TMPDIR:-/tmp}/mixnet-$(id -un)}"   # compiled programs: on this machine's disk
results="${RESULTS:-results}"
epochs="${EPOCHS:-10}"
mkdir -p "$results"

gpus=$(python -c 'import mixnet as mx; print(",".join(str(i) for i in range(mx.num_gpus())))')
last=$(ls "$results" | sed -n 's/^lenet-0*\([0-9][0-9]*\)\.params$/\1/p' | sort -n | tail -1)
echo "on ${gpus:+GPU }${gpus:-the CPU}, after epoch ${last:-0}"

python docs/examples/train_mnist.py --network lenet --num-epochs "$epochs" --model-prefix "$results/lenet" \
    ${gpus:+--gpus "$gpus"} ${last:+--load-epoch "$last"} ${DATA:+--data "$DATA"}

# What a job of several workers does: LeNet with a dist_sync store, all workers in step.
# START is the command that starts the workers and gives each process its rank.
if [ -f "${VENV:-.venv}/bin/activate" ]; then . "${VENV:-.venv}/bin/activate"; fi
export MIXNET_CACHE_DIR="${MIXNET_CACHE_DIR:-${TMPDIR:-/tmp}/mixnet-$(id -un)}"   # compiled programs: on each machine's disk
results="${RESULTS:-results}"   # on a disk that all machines see: rank 0 writes, all read
epochs="${EPOCHS:-10}"
mkdir -p "$results"

last=$(ls "$results" | sed -n 's/^lenet-0*\([0-9][0-9]*\)\.params$/\1/p' | sort -n | tail -1)
echo "after epoch ${last:-0}, by $START"
$START python docs/examples/train_mnist.py --kv-store dist_sync --network lenet --num-epochs "$epochs" \
    --model-prefix "$results/lenet" ${last:+--load-epoch "$last"} ${DATA:+--data "$DATA"}

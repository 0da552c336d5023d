#!/bin/bash
#$ -N lenet-workers
#$ -cwd
#$ -pe mpi 4
#$ -l h_vmem=2G
#$ -l h_rt=01:00:00
#$ -j y
# Four workers on the machines of the parallel environment:  qsub docs/cluster/sge-workers.sh
set -euo pipefail
hosts=$(mktemp)
awk '{print $1 " slots=" $2}' "$PE_HOSTFILE" > "$hosts"
START="mixnet-launch -n $NSLOTS -H $hosts --env MIXNET_CACHE_DIR --env PATH"
. docs/cluster/workers.sh

#!/bin/bash
#PBS -N lenet-workers
#PBS -l select=2:ncpus=8:mpiprocs=2:mem=8gb
#PBS -l walltime=01:00:00
#PBS -j oe
# Two workers on each of two machines:  qsub docs/cluster/pbs-workers.sh
set -euo pipefail
cd "${PBS_O_WORKDIR:-.}"  # the checkout, from where the job was submitted
START="mixnet-launch -n $(wc -l < "$PBS_NODEFILE") -H $PBS_NODEFILE --env MIXNET_CACHE_DIR --env PATH"
. docs/cluster/workers.sh

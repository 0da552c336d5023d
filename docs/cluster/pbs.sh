#!/bin/bash
#PBS -N lenet
#PBS -l select=1:ncpus=8:mem=8gb
#PBS -l walltime=01:00:00
#PBS -j oe
# One process on eight cores:  qsub docs/cluster/pbs.sh
# and with a GPU:              qsub -l select=1:ncpus=8:mem=8gb:ngpus=1 docs/cluster/pbs.sh
set -euo pipefail
cd "${PBS_O_WORKDIR:-.}"  # the checkout, from where the job was submitted
. docs/cluster/train.sh

#!/bin/bash
#$ -N lenet
#$ -cwd
#$ -pe smp 8
#$ -binding linear:8
#$ -l h_vmem=2G
#$ -l h_rt=01:00:00
#$ -j y
# One process on eight cores and no others, 2 GB for each core:  qsub docs/cluster/sge.sh
# and with a GPU:                                                qsub -l gpu=1 docs/cluster/sge.sh
set -euo pipefail
. docs/cluster/train.sh

#!/bin/bash
#$ -N lenet
#$ -cwd
#$ -pe smp 8                      # one process on eight cores
#$ -binding linear:8              # and on no others
#$ -l h_vmem=2G                   # for each core
#$ -l h_rt=01:00:00
#$ -j y
# CPU:  qsub docs/cluster/sge.sh                GPU:  qsub -l gpu=1 docs/cluster/sge.sh
set -euo pipefail
. docs/cluster/train.sh

#!/bin/bash
#SBATCH --job-name=lenet
#SBATCH --ntasks=1                # one process
#SBATCH --cpus-per-task=8         # on these cores
#SBATCH --mem=8G
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log
# CPU:  sbatch docs/cluster/slurm.sh            GPU:  sbatch --gres=gpu:1 docs/cluster/slurm.sh
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"       # the checkout, from where the job was submitted
. docs/cluster/train.sh

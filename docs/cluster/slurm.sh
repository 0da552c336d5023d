#!/bin/bash
#SBATCH --job-name=lenet
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log
# One process on eight cores:  sbatch docs/cluster/slurm.sh
# and with a GPU:              sbatch --gres=gpu:1 docs/cluster/slurm.sh
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"  # the checkout, from where the job was submitted
. docs/cluster/train.sh

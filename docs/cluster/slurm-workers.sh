#!/bin/bash
#SBATCH --job-name=lenet-workers
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=01:00:00
#SBATCH --output=%x-%j.log
# Four workers, on one machine or on several:  sbatch docs/cluster/slurm-workers.sh
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"  # the checkout, from where the job was submitted
START="srun --kill-on-bad-exit=1 --label"
. docs/cluster/workers.sh

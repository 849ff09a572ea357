#!/bin/sh
# Slurm: an array of a hundred jobs, each of which runs its part. Then the parts are merged:
#   job=$(sbatch --parsable slurm.sh)
#   sbatch --dependency=afterok:"$job" --wrap 'ulpgate merge parts/* --out reports'
#SBATCH --job-name=ulpgate
#SBATCH --array=1-100
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --requeue

# Exit code 1 says that something is not as expected: `merge` says it again, and the job has done its part.
ulpgate run --slow --shard auto --resume --jobs "$SLURM_CPUS_PER_TASK" --out "parts/$SLURM_ARRAY_TASK_ID" || test $? -eq 1

#!/bin/sh
# Runs a study as sixteen shards on a Slurm cluster, one task of a job array for each.
#
#   sbatch study-array.sh vsan-6                     # further words go to `tilemark study run`
#   tilemark study merge vsan-6 parts/studies/vsan-6-part-*-of-16.json
#
# The merge can wait for the array as a job of its own:
#
#   job=$(sbatch --parsable study-array.sh vsan-6)
#   sbatch --dependency=afterok:"$job" \
#       --wrap 'tilemark study merge vsan-6 parts/studies/vsan-6-part-*-of-16.json'
#
# The directory (PARTS, or `parts` where the job was submitted) is one that all nodes and the
# machine that merges see, and `tilemark` is the same program on all of them. When the merge
# names missing shards, only those run again: sbatch --array=3,7-9 study-array.sh vsan-6
#
# Another number of shards: sbatch --export=ALL,SHARDS=64 --array=1-64 study-array.sh vsan-6
#
#SBATCH --job-name=tilemark-study
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
#SBATCH --output=tilemark-study-%A-%a.log
set -eu
study=${1:?usage: sbatch study-array.sh STUDY [OPTION...]}
shift
# Not SLURM_ARRAY_TASK_COUNT: an array of the missing shards has fewer tasks than there are shards.
exec tilemark study run "$study" --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-16}" \
    --threads "${SLURM_CPUS_PER_TASK:-1}" --out "${PARTS:-parts}" "$@"

#!/bin/sh
# Fails a build when storage got slower, with nothing but exit codes.
#
#   storage-gate.sh DATASTORE [OPTION...]      for example: storage-gate.sh dir:/mnt/ssd --tile datacenter
#
# TILES tiles are run (8 if unset), and what is expected is in EXPECT, an expectation a line. Results stay in
# RESULTS (./tilemark-results), with junit.xml and summary.md beside them.
#
# Ends with 0 if everything was met, 7 if something was missed, 5 if the run does not say: neither a pass nor a
# fail, so a pipeline should warn or try again. Anything else means that nothing was measured.
set -u

datastore=${1:?which datastore? storage-gate.sh DATASTORE [OPTION...]}
shift
tiles=${TILES:-8}
results=${RESULTS:-tilemark-results}
expect=${EXPECT:-tiles >= $tiles}

mkdir -p "$results"
TILEMARK_EXPECT=$expect tilemark run "$datastore" --quick --tiles "$tiles" --out "$results/runs" --live line \
    --tag "commit=${GITHUB_SHA:-${CI_COMMIT_SHA:-unknown}}" "$@"
code=$?

case $code in
0 | 4 | 5 | 7)
    for format in junit:xml markdown:md; do
        name=$results/$([ "$format" = junit:xml ] && echo junit.xml || echo summary.md)
        rm -f "$name"
        tilemark export latest --out "$results/runs" --format "${format%%:*}" --to "$name"
    done
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$results/summary.md" >>"$GITHUB_STEP_SUMMARY"
    ;;
esac
exit $code

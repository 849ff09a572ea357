#!/bin/sh
# What the test in BUILD.bazel runs, in the folder that holds suites/ and reports/.
set -eu
ulpgate="$PWD/$1"
# Bazel asks a test for this file as the sign that it takes one shard only.
touch "$TEST_SHARD_STATUS_FILE"
cd "$(dirname "$0")"
exec "$ulpgate" gate --shard auto --junit "$XML_OUTPUT_FILE"

#!/usr/bin/env bash
# The main job, from nothing to verification: three requests to the release-check agent. Needs Go; MANDATE names the
# binary, which is built if it is not set. Everything it makes is in a directory of its own, removed at the end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
started=$SECONDS
work=$(mktemp -d)
server=
finish() {
  if [[ -n $server ]]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT

say() { printf '\n==> %s\n' "$*"; }
fail() {
  printf 'demo failed: %s\n' "$*" >&2
  sed 's/^/  server: /' "$work/server.log" >&2 || true
  exit 1
}
# expect CODE COMMAND… runs a command that is to end with an exit code.
expect() {
  local want=$1 got=0
  shift
  "$@" || got=$?
  [[ $got == "$want" ]] || fail "exit code $got instead of $want: $*"
}

say "Build the binary, the MCP server and the publisher"
mandate=${MANDATE:-}
if [[ -z $mandate ]]; then
  mandate=$root/bin/mandate
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$mandate" ./cmd/mandate
fi
workspace=$work/workspace
mkdir -p "$workspace/bin"
cp -r "$here/module" "$here/failing" "$workspace/"
for program in filereader publish; do
  go build -o "$workspace/bin/$program" "./examples/release-check/cmd/$program"
done

say "Start mandate up on free ports"
"$mandate" up --data-dir "$work/data" --http 127.0.0.1:0 --nats 127.0.0.1:0 --workspace "$workspace" \
  >"$work/ready" 2>"$work/server.log" &
server=$!
for _ in $(seq 300); do
  if grep -q '^ready ' "$work/ready"; then break; fi
  kill -0 "$server" 2>/dev/null || fail "the server ended"
  sleep 0.1
done
ready=$(head -n 1 "$work/ready")
[[ $ready =~ http=([^ ]+) ]] || fail "the server is not ready"
export MANDATE_SERVER=${BASH_REMATCH[1]}
echo "$ready"

say "Register the policy, the capabilities and the agent"
"$mandate" apply -f "$here/agent.yaml"

runs=()
# newest prints the run that was submitted last.
newest() { "$mandate" runs --limit 1 -o json | sed -n 's/.*"run": "\([0-9A-Z]*\)".*/\1/p'; }
# approve approves what the run waits for.
approve() {
  local id
  id=$("$mandate" run get "$1" -o json | sed -n 's/.*"interaction": "\([^"]*\)".*/\1/p')
  [[ -n $id ]] || fail "nothing waits for a person"
  say "Approve $id"
  "$mandate" approve "$id"
}

say "Request A: is this module ready to release?"
expect 0 "$mandate" submit -f "$here/request-a.yaml" --wait --timeout 100s
runs+=("$(newest)")

say "Request B: release it if it is ready. It stops for a person"
expect 20 "$mandate" submit -f "$here/request-b.yaml" --wait --timeout 100s
run=$(newest)
runs+=("$run")
"$mandate" interactions
[[ ! -e $workspace/ledger.jsonl ]] || fail "something was published without an approval"
approve "$run"
expect 0 "$mandate" run watch "$run" --timeout 100s
say "The ledger"
cat "$workspace/ledger.jsonl"

say "Request C: the same for a module with a failing test. Even approved, nothing is published"
expect 20 "$mandate" submit -f "$here/request-c.yaml" --wait --timeout 100s
run=$(newest)
runs+=("$run")
approve "$run"
expect 14 "$mandate" run watch "$run" --timeout 100s
[[ $(wc -l <"$workspace/ledger.jsonl") == 1 ]] || fail "the ledger has another entry than that of request B"

say "Verify and replay what was recorded of all three, and rebuild the views"
for run in "${runs[@]}"; do
  expect 0 "$mandate" verify "$run"
  expect 0 "$mandate" replay "$run"
done
expect 0 "$mandate" rebuild
"$mandate" runs

say "Stop"
kill -TERM "$server"
code=0
wait "$server" || code=$?
server=
[[ $code == 0 ]] || fail "the server ended with $code"

say "What happened"
cat <<END
A  completed: the tests ran, the changelog was read at the same time, all four requirements are met on evidence.
B  stopped for a person, and published once after the approval of exactly those arguments.
C  failed: a test fails, so the requirement tests-pass is unmet; the report is shown and nothing was published.
Everything recorded verifies, every decision replays to the same bytes, and the views were rebuilt.
It took $((SECONDS - started)) seconds.
END

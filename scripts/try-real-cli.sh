#!/bin/sh
# Shows by hand that a real agent CLI lists our tools. Never part of the tests: it installs the CLI from npm, into a
# temporary directory that is removed again, with a home of its own, so that nothing of the user's is read or changed.
#   scripts/try-real-cli.sh claude|codex|opencode|kilo|gemini|cursor-agent
set -eu

name=${1:-}
case $name in
  claude) package=@anthropic-ai/claude-code ;;
  codex) package=@openai/codex ;;
  opencode) package=opencode-ai ;;
  kilo) package=@kilocode/cli ;;
  gemini) package=@google/gemini-cli ;;
  cursor-agent)
    echo "cursor-agent is not on npm. Install it as its makers say, sign in, and run in a project:"
    echo "  signalbox worker run --agent rosa --role researcher --config signalbox.yaml -- cursor-agent mcp list"
    exit 0 ;;
  *) echo "usage: $0 claude|codex|opencode|kilo|gemini|cursor-agent" >&2; exit 2 ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
PATH=$root/node_modules/.bin:$PATH
# In the real home, not in /tmp: gemini takes no settings from below a directory that others may write to.
work=$(mktemp -d "$HOME/.signalbox-try-XXXXXX")
up=
cleanup() {
  if [ -n "$up" ]; then kill "$up" 2>/dev/null && wait "$up" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

node "$root/scripts/bundle.mjs"
signalbox() { "$root/apps/cli/bin/signalbox" "$@"; }

echo "installing $package into $work ..."
mkdir -p "$work/cli" "$work/home" "$work/project"
(cd "$work/cli" && echo '{}' > package.json && npm install --no-audit --no-fund --silent "$package")

cat > "$work/signalbox.yaml" <<YAML
broker: { listen: "127.0.0.1:0", data: ./state }
mcpServers:
  everything: { command: npx, args: ["-y", "@modelcontextprotocol/server-everything"] }
roles:
  researcher: { tools: ["mcp_everything__echo", "mcp_everything__get-sum"] }
YAML
cd "$root"
"$root/apps/cli/bin/signalbox" up --config "$work/signalbox.yaml" --json > "$work/ready" 2> "$work/up.log" &
up=$!
until [ -s "$work/ready" ]; do
  kill -0 "$up" 2>/dev/null || { cat "$work/up.log" >&2; exit 1; }
  sleep 0.2
done
grep -q '"broker"' "$work/ready" || { cat "$work/ready" "$work/up.log" >&2; exit 1; }

cd "$work/project"
export HOME="$work/home" XDG_RUNTIME_DIR="$work" PATH="$work/cli/node_modules/.bin:$PATH"
run() {
  echo "\$ signalbox worker run … -- $*"
  signalbox worker run --agent "try-$name" --role researcher --config "$work/signalbox.yaml" -- "$@" < /dev/null || true
}
case $name in
  claude)
    # "claude mcp list" shows saved servers only. The first line of a headless run names the servers and tools of the session.
    run claude -p 'say hello' --output-format stream-json --verbose > "$work/out"
    grep -o '"mcp_servers":\[[^]]*\]' "$work/out" | head -n 1
    grep -o '"mcp__signalbox__[^"]*"' "$work/out" | sort -u
    echo "(\"Not logged in\" is expected: the tools are listed before the account is asked for.)" ;;
  codex)
    run codex mcp list
    echo "(codex lists its servers without starting them; with an account, \"codex exec\" starts ours and fails if it can't.)" ;;
  opencode | kilo) run "$name" mcp list ;;
  gemini)
    GEMINI_CLI_TRUST_WORKSPACE=true
    export GEMINI_CLI_TRUST_WORKSPACE
    run gemini mcp list ;;
esac

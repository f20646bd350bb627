#!/usr/bin/env bash
# @modelcontextprotocol/inspector 2.12.0 with --cli starts a stdio server without the environment that the inspector itself was given;
# 0.18.0 hands it on. So a wrapper that passes an identity or a token to its MCP client by environment variables (as wrappers of agent
# CLIs do) works with the one and not with the other, and the server is the one that complains. The option -e NAME=VALUE works in both.
#
# Seen on Linux with Node 24, by the tool get-env of @modelcontextprotocol/server-everything 2026.8.31:
#   0.18.0:              COLOUR is blue
#   2.12.0:              COLOUR is missing
#   2.12.0 with -e:      COLOUR is red
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install() {
  mkdir "$work/$1"
  cd "$work/$1"
  npm init -y > /dev/null
  npm install --silent --no-audit --no-fund "@modelcontextprotocol/inspector@$1" @modelcontextprotocol/server-everything@2026.8.31 > /dev/null
}

# Prints what the server has as COLOUR, or "missing".
colour() {
  local version=$1
  shift
  cd "$work/$version"
  local server=node_modules/@modelcontextprotocol/server-everything/dist/index.js
  local text
  text=$(COLOUR=blue npx mcp-inspector --cli "$@" node "$server" --method tools/call --tool-name get-env)
  grep -q PATH <<< "$text"
  { grep -oE 'COLOUR[^a-z]+[a-z]+' <<< "$text" || echo missing; } | grep -oE '[a-z]+$'
}

expect() {
  echo "$1: COLOUR is $2"
  if [ "$2" != "$3" ]; then
    echo "changed: it was $3" >&2
    exit 1
  fi
}

install 0.18.0
install 2.12.0
expect 0.18.0 "$(colour 0.18.0)" blue
expect 2.12.0 "$(colour 2.12.0)" missing
expect '2.12.0 with -e' "$(colour 2.12.0 -e COLOUR=red)" red

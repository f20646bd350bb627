#!/usr/bin/env bash
# `gemini mcp add` of gemini-cli 0.61.0 erases the rest of a project's settings in a folder that its user has not trusted, which every folder
# is at first: it does not read such a file, and then writes it with the new server alone. Other servers and all other keys are gone, the
# command says that it added one, and its exit code is 0. In a trusted folder it adds the server to the file.
#
# Seen on Linux with Node 24, the file before, and after each command:
#   before: keep ui
#   not trusted, exit code 0: new
#   trusted, exit code 0: keep new ui
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @google/gemini-cli@0.61.0 > /dev/null
mkdir -p home project/.gemini
file=project/.gemini/settings.json

# Names the servers and the other keys that the file has.
names() {
  node -p 'const { mcpServers, ...rest } = JSON.parse(fs.readFileSync(process.argv[1])); Object.keys({ ...mcpServers, ...rest }).join(" ")' $file
}

write() {
  echo '{"ui": {"theme": "GitHub"}, "mcpServers": {"keep": {"command": "node", "args": ["keep.js"]}}}' > $file
}

# Adds a server with the given variables, and prints the exit code.
add() {
  (cd project && env -i PATH="$PATH" HOME="$work/home" "$@" ../node_modules/.bin/gemini mcp add new node new.js > /dev/null 2>&1; echo $?)
}

{
  write
  echo "before: $(names)"
  code=$(add)
  echo "not trusted, exit code $code: $(names)"
  write
  code=$(add GEMINI_CLI_TRUST_WORKSPACE=true)
  echo "trusted, exit code $code: $(names)"
} | tee seen
diff - seen <<'TXT'
before: keep ui
not trusted, exit code 0: new
trusted, exit code 0: keep new ui
TXT

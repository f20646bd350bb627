#!/usr/bin/env bash
# getMcpConfigForManifest of @anthropic-ai/mcpb 2.1.2, the reference reader of .mcpb bundles, merges platform_overrides by replacing: one more
# variable for one platform takes all others away, the user's key with them. An optional setting that the user left empty is passed to the
# server as the text ${user_config.…}, and so is a list of folders inside a longer argument.
#
# Seen on Linux with Node 24, for args and env of a bundle:
#   without overrides: ["${user_config.note}","/home/user/a","--in=${user_config.folders}"] {"KEY":"user's key"}
#   env.MODE for this platform: ["${user_config.note}","/home/user/a","--in=${user_config.folders}"] {"MODE":"x"}
# Fails if that changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @anthropic-ai/mcpb@2.1.2 > /dev/null
cat > try.mjs <<'JS'
import { getMcpConfigForManifest } from '@anthropic-ai/mcpb';
const described = { title: 'setting', description: 'setting' };
const mcp_config = {
  command: 'node',
  args: ['${user_config.note}', '${user_config.folders}', '--in=${user_config.folders}'],
  env: { KEY: '${user_config.key}' },
};
const manifest = {
  manifest_version: '0.3', name: 'bundle', version: '1.0.0', description: 'bundle', author: { name: 'author' },
  server: { type: 'node', entry_point: 'index.js', mcp_config },
  user_config: {
    key: { type: 'string', required: true, ...described },
    note: { type: 'string', ...described },
    folders: { type: 'directory', multiple: true, ...described },
  },
};
const userConfig = { key: "user's key", folders: ['/home/user/a'] };
async function show(title) {
  const { args, env } = await getMcpConfigForManifest({ manifest, extensionPath: '/bundle', systemDirs: {}, userConfig, pathSeparator: '/' });
  console.log(`${title}: ${JSON.stringify(args)} ${JSON.stringify(env)}`);
}
await show('without overrides');
mcp_config.platform_overrides = { [process.platform]: { env: { MODE: 'x' } } };
await show('env.MODE for this platform');
JS
node try.mjs 2> errors | tee seen || { cat errors; exit 1; }
diff - seen <<'TXT'
without overrides: ["${user_config.note}","/home/user/a","--in=${user_config.folders}"] {"KEY":"user's key"}
env.MODE for this platform: ["${user_config.note}","/home/user/a","--in=${user_config.folders}"] {"MODE":"x"}
TXT

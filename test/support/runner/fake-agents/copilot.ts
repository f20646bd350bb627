import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { actAsAgent } from './fake-agent.ts';

/** Copilot adds the servers of a file that --additional-mcp-config names, and the hooks of the folders that --plugin-dir names. */
const { values } = parseArgs({
  options: {
    'additional-mcp-config': { type: 'string', default: '' },
    'allow-tool': { type: 'string', multiple: true },
    'plugin-dir': { type: 'string', multiple: true, default: [] },
    prompt: { type: 'string', short: 'p' },
  },
});
const { 'additional-mcp-config': named, 'plugin-dir': directories } = values;
const { mcpServers } = JSON.parse(readFileSync(named.replace(/^@/, ''), 'utf8'));
const { command, args, env, ...rest } = mcpServers.signalbox;
// It leaves out a folder that is no plugin, and says so.
const plugins = directories.filter((directory) => existsSync(join(directory, 'plugin.json')));
const hooked = plugins.flatMap((directory) =>
  Object.keys(JSON.parse(readFileSync(join(directory, 'hooks.json'), 'utf8')).hooks),
);
const read = { ...rest, allowed: values['allow-tool'], prompt: values.prompt, hooked };
await actAsAgent({ command, args, env, handsOn: 'everything', read });

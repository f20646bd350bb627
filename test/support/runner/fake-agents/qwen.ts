import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { actAsAgent } from './fake-agent.ts';

/** Qwen Code reads a file that --mcp-config names, and default settings that a variable names. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'mcp-config': { type: 'string', default: '' } },
});
const { mcpServers } = JSON.parse(readFileSync(values['mcp-config'], 'utf8'));
const { command, args, env, ...rest } = mcpServers.signalbox;
const { hooks } = JSON.parse(readFileSync(process.env.QWEN_CODE_SYSTEM_DEFAULTS_PATH ?? '', 'utf8'));
const read = { ...rest, positionals, hooked: Object.keys(hooks) };
await actAsAgent({ command, args, env, handsOn: 'everything', read });

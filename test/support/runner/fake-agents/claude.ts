import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { actAsAgent } from './fake-agent.ts';

/** Claude Code reads a file that --mcp-config names. Both options with values take several of them, up to the next option. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'mcp-config': { type: 'string' },
    'strict-mcp-config': { type: 'boolean' },
    allowedTools: { type: 'string' },
    disallowedTools: { type: 'string' },
    'permission-prompt-tool': { type: 'string' },
    print: { type: 'boolean', short: 'p' },
    settings: { type: 'string' },
  },
});
const { mcpServers } = JSON.parse(readFileSync(values['mcp-config'] ?? '', 'utf8'));
const { type, command, args, env } = mcpServers.signalbox;
if (type !== 'stdio') throw new Error(`a server of type ${type}`);
const asks = values['permission-prompt-tool']?.replace('mcp__signalbox__', '');
await actAsAgent({ command, args, env, handsOn: 'everything', read: { ...values, positionals }, asks });

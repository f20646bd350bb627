import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
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
    'permission-mode': { type: 'string' },
    print: { type: 'boolean', short: 'p' },
    settings: { type: 'string' },
  },
});
const { mcpServers } = JSON.parse(readFileSync(values['mcp-config'] ?? '', 'utf8'));
const { type, command, args, env } = mcpServers.signalbox;
if (type !== 'stdio') throw new Error(`a server of type ${type}`);
// It asks nobody in the mode that a user can set for all its runs, unless the command line names another one.
const mode = values['permission-mode'] ?? settingsOfUser()?.permissions?.defaultMode;
const asks = mode === 'auto' ? undefined : values['permission-prompt-tool']?.replace('mcp__signalbox__', '');
await actAsAgent({ command, args, env, handsOn: 'everything', read: { ...values, positionals }, asks });

function settingsOfUser(): { permissions?: { defaultMode?: string } } | undefined {
  const path = join(homedir(), '.claude', 'settings.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

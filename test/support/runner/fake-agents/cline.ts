import { readFileSync } from 'node:fs';
import { actAsAgent } from './fake-agent.ts';

/** Cline reads one file of MCP servers, which a variable may name. In another mode a process that it leaves running would read it. */
const { CLINE_MCP_SETTINGS_PATH: path = '', CLINE_SESSION_BACKEND_MODE: mode } = process.env;
if (mode !== 'local') throw new Error(`the mode ${mode}`);
const { mcpServers } = JSON.parse(readFileSync(path, 'utf8'));
const { command, args, env, ...read } = mcpServers.signalbox;
await actAsAgent({ command, args, env, handsOn: 'everything', read });

import { readFileSync } from 'node:fs';
import { actAsAgent } from './fake-agent.ts';

/** Cursor's CLI reads the project's file, if it may use its servers unasked. */
if (!process.argv.includes('--approve-mcps')) throw new Error('the MCP servers are not approved');
const { mcpServers } = JSON.parse(readFileSync('.cursor/mcp.json', 'utf8'));
const { command, args, env } = mcpServers.signalbox;
const others = Object.keys(mcpServers).filter((name) => name !== 'signalbox');
await actAsAgent({ command, args, env, handsOn: 'everything', read: { others } });

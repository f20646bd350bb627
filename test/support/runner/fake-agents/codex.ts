import { parseArgs } from 'node:util';
import { parse } from 'smol-toml';
import { actAsAgent } from './fake-agent.ts';

/** Codex takes settings as -c key=value, with the value in TOML. It passes on almost nothing of its environment. */
const { values } = parseArgs({
  allowPositionals: true,
  options: { config: { type: 'string', short: 'c', multiple: true } },
});
const { mcp_servers } = parse((values.config ?? []).join('\n')) as {
  mcp_servers: { signalbox: { command: string; args: string[]; env: Record<string, string> } };
};
const { command, args, env, ...read } = mcp_servers.signalbox;
await actAsAgent({ command, args, env, handsOn: 'little', read });

import { McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

/**
 * Runs the MCP face in a process of its own. argv: the url, the text of a token file, the agent, and perhaps the time after which a call that
 * waits for a person returns, in milliseconds.
 */
const [url, token, agent, pendingAfterMs] = process.argv.slice(2);
const executor = await McpProxyExecutor.connect({ url: url!, token: token!, agent: agent! });
const face = serveMcpFace(executor, {
  version: '1.2.3',
  ...(pendingAfterMs !== undefined && { pendingAfterMs: Number(pendingAfterMs) }),
});
await face.closed;
await executor.close();

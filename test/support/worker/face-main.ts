import { McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

/** Runs the MCP face in a process of its own. argv: the url, the text of a token file and the agent. */
const [url, token, agent] = process.argv.slice(2);
const executor = await McpProxyExecutor.connect({ url: url!, token: token!, agent: agent! });
const face = serveMcpFace(executor, { version: '1.2.3' });
await face.closed;
await executor.close();

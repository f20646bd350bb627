import { McpProxyExecutor, serveMcpFace } from '@signalbox/worker';

/** The MCP face as a process of its own: argv is url, token file text and agent. */
const [url, token, agent] = process.argv.slice(2);
const executor = await McpProxyExecutor.connect({ url: url!, token: token!, agent: agent! });
const face = serveMcpFace(executor, { version: '1.2.3' });
await face.closed;
await executor.close();

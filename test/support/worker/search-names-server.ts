import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

/** A stdio MCP server whose tools have the names of those that stand for all others in search mode. */
const tools = ['search_tools', 'call_tool'].map((name) => ({
  name,
  description: 'The namesake of another.',
  inputSchema: { type: 'object' as const },
}));

serveStdio(() => {
  const server = new Server({ name: 'namesake', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text', text: `the hosted ${params.name}` }],
  }));
  return server;
});

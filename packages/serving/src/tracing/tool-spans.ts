import type { SpanAttributes, TracedSpan, Tracing } from './tracing.ts';

/** The parts of a tool call that its span describes. They never include its arguments and its result. */
export interface TracedToolCall {
  /** The name of the tool. A name that no tool can have is left out: a model may have made it up. */
  tool: unknown;
  /** The transport of the MCP connection: `pipe` for standard input and output. */
  transport: 'pipe' | 'tcp';
  /** The `traceparent` that came with the call. */
  parent: string | undefined;
  links?: readonly (string | undefined)[];
  /** The id of the JSON-RPC request. */
  requestId?: string | number | undefined;
  /** The agent that calls. */
  agent?: string | undefined;
  /** The name of the hosted server in the configuration. */
  server?: string | undefined;
}

/** The longest id that a span holds. */
const maxIdLength = 128;
const possibleName = /^[\w./-]{1,128}$/;

/** Begins the span of a tool call, for the client or the server of an MCP connection, by the GenAI conventions for MCP. */
export function beginToolCall(tracing: Tracing, kind: 'client' | 'server', call: TracedToolCall): TracedSpan {
  const { parent, links = [], transport, requestId, agent, server } = call;
  const tool = typeof call.tool === 'string' && possibleName.test(call.tool) ? call.tool : undefined;
  const attributes: SpanAttributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    ...(tool !== undefined && { 'gen_ai.tool.name': tool }),
    ...(agent !== undefined && { 'gen_ai.agent.id': agent }),
    ...(server !== undefined && { 'signalbox.server': server }),
    ...(requestId !== undefined && { 'jsonrpc.request.id': String(requestId).slice(0, maxIdLength) }),
    'network.transport': transport,
  };
  const name = tool === undefined ? 'tools/call' : `tools/call ${tool}`;
  return tracing.begin({ name, kind, parent, links, attributes });
}

/** The `error.type` of a tool that reports an error itself. */
export const toolError = 'tool_error';

export {
  type Agent,
  type AgentOptions,
  type AgentServeOptions,
  connectAgent,
  type SendOptions,
} from './agent/connect-agent.ts';
export type { CallResult } from './executor/call-result.ts';
export { type ExecutorOptions, McpProxyExecutor } from './executor/mcp-proxy-executor.ts';
export type { ExecuteOptions, ToolCall, ToolProgress } from './executor/tool-call.ts';
export { type McpFace, type McpFaceOptions, serveMcpFace } from './face/stdio-face.ts';
export { type HttpFace, type HttpFaceOptions, serveHttpFace } from './http/http-face.ts';

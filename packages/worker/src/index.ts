export type { CallResult } from './call-outcome.ts';
export { type McpFace, type McpFaceOptions, serveMcpFace } from './face/stdio-face.ts';
export {
  type ExecuteOptions,
  type ExecutorOptions,
  McpProxyExecutor,
  type ToolCall,
  type ToolProgress,
} from './mcp-proxy-executor.ts';

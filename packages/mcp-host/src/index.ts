export type { HttpServerConfig, McpServerConfig, StdioServerConfig } from './config.ts';
export type { ToolProgress } from './connection.ts';
export type { HostEvent, ServerState, ServerStatus } from './hosted-server.ts';
export type { Inventory, InventoryProblem, ToolRoute } from './inventory.ts';
export { type McpHost, type McpHostOptions, startMcpHost } from './mcp-host.ts';
export type { CallOptions, CallOutcome } from './tool-call.ts';
export { isMcpTool, mcpToolName, parseMcpToolName } from './tool-name.ts';
export type { HostTuning } from './tuning.ts';

export { gaveUp, withDeadline } from './calls/caller-signal.ts';
export { ResponseCache } from './calls/response-cache.ts';
export type { CallOptions, ToolCallResult } from './calls/tool-call.ts';
export type { ToolProvider } from './calls/tool-provider.ts';
export type { HostTuning } from './config/host-tuning.ts';
export type {
  HttpServerConfig,
  McpServerConfig,
  ServerPolicy,
  ServerSharing,
  StdioServerConfig,
} from './config/server-config.ts';
export { cancelledCall, reportFailure } from './failures/call-errors.ts';
export type { Failure } from './failures/failure.ts';
export type {
  DiscoveredServer,
  HostEvent,
  McpHost,
  McpHostOptions,
  ServerChanges,
  ServerState,
  ServerStatus,
} from './host/host-api.ts';
export { startMcpHost } from './host/mcp-host.ts';
export type { Inventory, InventoryProblem, RenamedTool, ToolRoute } from './inventory/inventory.ts';
export type { ToolList, ToolProblem } from './inventory/tool-list.ts';
export { isMcpTool, mcpToolName, parseMcpToolName } from './inventory/tool-name.ts';
export type { ToolProgress } from './sdk/connect-server.ts';

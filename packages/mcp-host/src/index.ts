export { ResponseCache } from './calls/cache/response-cache.ts';
export { gaveUp, withDeadline } from './calls/caller-signal.ts';
export type { CallOptions, FailedCall, ToolCallResult } from './calls/tool-call.ts';
export type { ToolProvider } from './calls/tool-provider.ts';
export type { HostTuning } from './config/host-tuning.ts';
export type {
  HttpServerConfig,
  McpServerConfig,
  ServerPolicy,
  ServerSharing,
  StdioServerConfig,
} from './config/server-config.ts';
export { cancelledCall, errorOfFailure } from './failures/call-errors.ts';
export type { Failure } from './failures/failure.ts';
export type { DiscoveredServer, McpHost, McpHostOptions } from './host/host-api.ts';
export type { ToolRoute } from './host/inventory-tracker.ts';
export { startMcpHost } from './host/mcp-host.ts';
export type { HostEvent } from './host-event.ts';
export type { Inventory, InventoryProblem, RenamedTool } from './inventory/inventory.ts';
export type { ToolList, ToolProblem } from './inventory/tool-list.ts';
export { isMcpTool, mcpToolName, parseMcpToolName } from './inventory/tool-name.ts';
export type { ToolProgress } from './server-connection.ts';
export type { ServerChanges } from './servers/server-registry.ts';
export type { ServerState, ServerStatus } from './servers/server-status.ts';

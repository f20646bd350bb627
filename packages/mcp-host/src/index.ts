export { gaveUp, withDeadline } from './calls/caller-signal.ts';
export { ResponseCache } from './calls/response-cache.ts';
export type {
  HttpServerConfig,
  McpServerConfig,
  ServerPolicy,
  ServerSharing,
  StdioServerConfig,
} from './config.ts';
export type { ToolProgress } from './connection.ts';
export type { Failure } from './failure.ts';
export { cancelledCall, reportFailure } from './failure-report.ts';
export type {
  DiscoveredServer,
  HostEvent,
  McpHost,
  McpHostOptions,
  ServerChanges,
  ServerState,
  ServerStatus,
} from './host-api.ts';
export type { Inventory, InventoryProblem, RenamedTool, ToolRoute } from './inventory/inventory.ts';
export type { ToolList, ToolProblem } from './inventory/tool-list.ts';
export { isMcpTool, mcpToolName, parseMcpToolName } from './inventory/tool-name.ts';
export type { ToolProvider } from './inventory/tool-provider.ts';
export { startMcpHost } from './mcp-host.ts';
export type { CallOptions, CallOutcome } from './tool-call.ts';
export type { HostTuning } from './tuning.ts';

export type { HostTuning } from './config/host-tuning.ts';
export type {
  HttpServerConfig,
  McpServerConfig,
  RemoteServerConfig,
  ServerPolicy,
  ServerSharing,
  StdioServerConfig,
} from './config/server-config.ts';
export { defaultServerLimits, type ServerLimits } from './config/server-limits.ts';

export type { SeenDefinition } from './definitions/server-definitions.ts';
export type {
  DiscoveredServer,
  FittedArguments,
  HostCallOptions,
  HostedDefinition,
  McpHost,
  McpHostOptions,
  MissingServer,
  ServerContent,
} from './host/host-api.ts';
export type { ToolRoute, WithheldHints } from './host/inventory-tracker.ts';
export { startMcpHost } from './host/mcp-host.ts';
export type { HostEvent } from './host-event.ts';
export type {
  Inventory,
  InventoryProblem,
  RenamedTool,
  ToolOrigin,
  WithheldDefinition,
} from './inventory/inventory.ts';
export type { McpContent } from './inventory/mcp-content.ts';
export type { ToolList } from './inventory/tool-list.ts';
export { isMcpTool, mcpToolName, parseMcpToolName } from './inventory/tool-name.ts';
export type { ConnectRemote, RemoteRequest, RemoteServer } from './remote/remote-connection.ts';
export type { ServerAnswer, ToolRequest } from './server-connection.ts';
export type { ServerEvent } from './servers/server-events.ts';
export type { ServerChanges } from './servers/server-registry.ts';
export type { ServerState, ServerStatus } from './servers/server-status.ts';
export type { StartFailure } from './servers/starts/start-failure.ts';

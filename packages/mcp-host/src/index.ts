export type { Authorizer, AuthState } from './auth/authorizer.ts';
export { type AuthorizerOptions, createAuthorizer, hostsOfAuth, signOut } from './auth/create-authorizer.ts';
export type {
  AuthorizationCodeAuth,
  BearerAuth,
  ClientCredentialsAuth,
  OAuthClient,
  ServerAuth,
  TokenExchangeAuth,
} from './auth/server-auth.ts';
export { type SignInOptions, signIn } from './auth/sign-in.ts';
export { openRefreshTokenFiles, type RefreshTokenStore } from './auth/sign-in-store.ts';
export { type CapabilityCatalog, type CapabilityOptions, openCapabilities } from './capabilities/catalog.ts';
export { capabilityJsonSchema } from './capabilities/schema.ts';
export type {
  HttpServerConfig,
  McpServerConfig,
  ServerPolicy,
  ServerSharing,
  StdioServerConfig,
} from './config.ts';
export type { ToolProgress } from './connection.ts';
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
export {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
  type GuardedInit,
} from './net/guarded-fetch.ts';
export type { CallOptions, CallOutcome } from './tool-call.ts';
export type { HostTuning } from './tuning.ts';
export { type ArgumentCheck, compileArguments } from './validation/argument-check.ts';

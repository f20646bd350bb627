// The HTTP server that serves agents by their tokens, for our own packages only. It loads nothing of MCP.

export type { HttpRefusal } from '../sdk/http-refusal.ts';
export { unavailable } from '../sdk/http-refusal.ts';
export type { HttpReply } from '../sdk/http-reply.ts';
export {
  type AgentServer,
  type AgentServerOptions,
  startAgentServer,
} from './agent-server.ts';
export type { TableAgent } from './agent-table.ts';
export type { BearerToken } from './bearer-token.ts';
export { pathOf, type RequestHead } from './request-check.ts';
export type { AgentRequest } from './request-handler.ts';

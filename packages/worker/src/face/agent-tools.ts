import type { Log } from '@signalbox/client';
import type { McpProxyExecutor } from '../mcp-proxy-executor.ts';
import { combinedTools } from './combined-tools.ts';
import type { FaceTools } from './face-tools.ts';
import { proxiedTools } from './proxied-tools.ts';

/** Which tools an agent is shown. */
export interface AgentToolsOptions {
  /** `search`: two tools, to find and to call, in place of the whole list of the orchestrator's. Default `all`. */
  toolList?: 'all' | 'search';
  log?: Log;
}

/** All tools of one agent, whatever the number of connections that show them. Disposing it leaves the executor alone. */
export type AgentTools = FaceTools & AsyncDisposable;

export function openAgentTools(executor: McpProxyExecutor, _options: AgentToolsOptions = {}): AgentTools {
  const tools = combinedTools([proxiedTools(executor)]);
  return { ...tools, async [Symbol.asyncDispose]() {} };
}

/** An order of the demo to a scripted agent. */
export type AgentOrder =
  | { op: 'tools' }
  | { op: 'calls'; calls: { name: string; arguments: Record<string, unknown> }[]; tellProgress?: boolean }
  | { op: 'call_past_worker'; name: string; arguments: Record<string, unknown> }
  | { op: 'answer'; with: string }
  | { op: 'ask'; to: string; text: string; timeoutMs: number };

/** The result of a tool call, as the agent's MCP client saw it. */
export interface AgentCallResult {
  isError: boolean;
  text: string;
}

/** The report of a scripted agent: `progress` while an order runs, then its result or the reason of its failure. */
export type AgentReport =
  | { id: number; progress: true }
  | { id: number; result: unknown }
  | { id: number; failure: string };

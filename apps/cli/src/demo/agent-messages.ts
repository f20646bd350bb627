/** What the demo asks a scripted agent to do. */
export type AgentOrder =
  | { op: 'tools' }
  | { op: 'calls'; calls: { name: string; arguments: Record<string, unknown> }[]; tellProgress?: boolean }
  | { op: 'call_past_worker'; name: string; arguments: Record<string, unknown> }
  | { op: 'answer'; with: string }
  | { op: 'ask'; to: string; text: string; timeoutMs: number };

/** What a tool call came to, as the agent's MCP client saw it. */
export interface AgentCallResult {
  isError: boolean;
  text: string;
}

/** What a scripted agent says: `progress` while an order runs, then its result or why it failed. */
export type AgentReport =
  | { id: number; progress: true }
  | { id: number; result: unknown }
  | { id: number; failure: string };

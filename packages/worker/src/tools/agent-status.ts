const maxClientLength = 80;
/** Tools that only wait: their calls do not count as work. */
const waitsForMail = new Set(['signalbox_inbox_wait']);

/** Combines the activity of an agent's connections, and announces each change. */
export interface AgentStatus {
  /** Records that a client has listed the tools: from then on the agent counts as ready. */
  listed(client: { name: string; version: string } | undefined): void;
  /** Records that a call began; call the returned function once, when the call has ended. */
  callStarted(tool: string): () => void;
}

/**
 * Announces at once, and with each change: `{worker: 'mcp', state: 'idle' | 'working', calls, listed, client?, last_call_at?}`, where
 * `calls` counts those that run and `last_call_at` is when one last began or ended, in epoch milliseconds.
 */
export function createAgentStatus(
  announce: (status: unknown) => void,
  { now = Date.now, onListed }: { now?: () => number; onListed?: (() => void) | undefined } = {},
): AgentStatus {
  let calls = 0;
  let isListed = false;
  let clientText: string | undefined;
  let lastCallAt: number | undefined;
  const tell = (): void =>
    announce({
      worker: 'mcp',
      state: calls > 0 ? 'working' : 'idle',
      calls,
      listed: isListed,
      // JSON leaves out unknown fields.
      client: clientText,
      last_call_at: lastCallAt,
    });
  const change = (by: 1 | -1): void => {
    calls += by;
    lastCallAt = now();
    tell();
  };
  tell();
  return {
    listed(client) {
      const text = client && `${client.name} ${client.version}`.slice(0, maxClientLength);
      if (isListed && (text === undefined || text === clientText)) return;
      const isFirst = !isListed;
      isListed = true;
      clientText = text ?? clientText;
      tell();
      if (isFirst) onListed?.();
    },
    callStarted(tool) {
      if (waitsForMail.has(tool)) return () => {};
      change(1);
      return () => change(-1);
    },
  };
}

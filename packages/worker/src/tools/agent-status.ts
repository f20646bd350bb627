const maxClientLength = 80;
/** A call that waits for mail is no work. */
const waitsForMail = new Set(['signalbox_inbox_wait']);

/** What an agent's connections do, added up and announced with each change. */
export interface AgentStatus {
  /** A client listed the tools: from then on the agent counts as ready. */
  listed(client: { name: string; version: string } | undefined): void;
  /** A call of a tool began; the function is to be called once when it has ended. */
  callStarted(tool: string): () => void;
}

/**
 * Announces at once, and with each change: `{worker: 'mcp', state: 'idle' | 'working', calls, listed, client?, last_call_at?}`, where
 * `calls` counts those that run and `last_call_at` is when one last began or ended, in epoch milliseconds.
 */
export function createAgentStatus(
  announce: (status: unknown) => void,
  now: () => number = Date.now,
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
      // JSON leaves out what is not known.
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
      isListed = true;
      clientText = text ?? clientText;
      tell();
    },
    callStarted(tool) {
      if (waitsForMail.has(tool)) return () => {};
      change(1);
      return () => change(-1);
    },
  };
}

/** The time after which a call that waits for a person returns to a client that is not known, in milliseconds. Many give up after 60 s. */
const unknownClientMs = 45_000;

/**
 * The time after which a call that waits for a person returns, by the beginning of the name that a client gives itself. Each time is far
 * below the one after which that client, in the named version and by its own settings, gives up or has its model go on.
 */
export const knownClients: readonly {
  name: string;
  seenIn: string;
  givesUpMs: number;
  answerAfterMs: number;
}[] = [
  // On a terminal it puts a call into the background; with -p it waits longer.
  { name: 'claude-code', seenIn: '2.1.332', givesUpMs: 120_000, answerAfterMs: 90_000 },
  { name: 'codex-mcp-client', seenIn: '0.171.0', givesUpMs: 300_000, answerAfterMs: 240_000 },
  { name: 'gemini-cli-mcp-client', seenIn: '0.61.0', givesUpMs: 600_000, answerAfterMs: 240_000 },
  { name: 'copilot-cli', seenIn: '1.0.102', givesUpMs: 180_000, answerAfterMs: 120_000 },
  { name: 'qwen-cli-mcp-client', seenIn: '0.24.4', givesUpMs: 600_000, answerAfterMs: 240_000 },
  { name: 'opencode', seenIn: '1.18.33', givesUpMs: 60_000, answerAfterMs: unknownClientMs },
  { name: 'kilo', seenIn: '7.7.7', givesUpMs: 60_000, answerAfterMs: unknownClientMs },
  { name: '@cline/core', seenIn: '3.0.65', givesUpMs: 60_000, answerAfterMs: unknownClientMs },
];

/** Returns the time after which a call that waits for a person returns to a client, in milliseconds. Whether it asks for progress says nothing. */
export function patienceMs(client: string | undefined): number {
  if (client === undefined) return unknownClientMs;
  // Each call asks.
  for (const { name, answerAfterMs } of knownClients) if (client.startsWith(name)) return answerAfterMs;
  return unknownClientMs;
}

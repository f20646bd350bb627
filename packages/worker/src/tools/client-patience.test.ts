import { expect, test } from 'vitest';
import { knownClients, patienceMs } from './client-patience.ts';

test('Every client is answered while it waits: a known one far below the time after which it gives up, any other within 45 s.', () => {
  for (const { name, givesUpMs } of knownClients)
    expect(patienceMs(name), name).toBeLessThanOrEqual(givesUpMs * 0.8);
  expect(patienceMs('gemini-cli-mcp-client-signalbox')).toBe(patienceMs('gemini-cli-mcp-client'));
  for (const unknown of [undefined, '', 'agent', 'codex']) expect(patienceMs(unknown)).toBe(45_000);
});

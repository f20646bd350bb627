import { connectBroker } from '@signalbox/client';
import type { McpHost } from '@signalbox/mcp-host';
import { type Policy, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';

/** An orchestrator that hands running calls to nobody when it stops, as one that is killed. */
export async function startStack(
  url: string,
  token: string,
  journalFile: string,
  host: McpHost,
  policy: Partial<Policy> = {},
) {
  await using starting = new AsyncDisposableStack();
  const journal = starting.use(await openSqliteJournal({ file: journalFile }));
  const client = starting.use(await connectBroker({ url, token, agent: 'orchestrator' }));
  starting.use(await startOrchestrator({ client, host, policy: wholePolicy(policy), journal, drainMs: 1 }));
  return starting.move();
}

/** Sends calls that wait in the orchestrator's inbox. */
export async function send(url: string, token: string, calls: { id: string; tool: string; label: string }[]) {
  await using rosa = await connectBroker({ url, token, agent: 'rosa' });
  for (const { id, tool, label } of calls) {
    const body = { op: 'call', tool, arguments: { label, ms: 60_000 } };
    await rosa.deliver({ to: 'orchestrator', kind: 'mcp_request', id, body });
  }
}

/** Returns the outcomes of rosa's calls from her inbox: `ok`, or the code of the error. */
export async function replies(url: string, token: string): Promise<Record<string, string>> {
  await using rosa = await connectBroker({ url, token, agent: 'rosa#reads' });
  const messages = await rosa.peek({ address: 'rosa' });
  const outcome = (body = '{}') => {
    const { error } = JSON.parse(body) as { error?: { code: string } };
    return error?.code ?? 'ok';
  };
  return Object.fromEntries(
    messages.map(({ correlation_id, body }) => [correlation_id ?? '', outcome(body)]),
  );
}

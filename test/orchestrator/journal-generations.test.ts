import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { listApprovals } from '@signalbox/client/operator';
import { startMcpHost } from '@signalbox/mcp-host';
import { counterServer, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { replies, send, startStack } from '../support/orchestrator/journal-generations.ts';

const unknown = 'outcome_unknown';

test('an approval on which nobody has decided ends with its call, also if only the journal was put back and the call is outcome_unknown', async () => {
  await using directory = await tempDir();
  const [file, older] = ['journal.db', 'older.db'].map((name) => join(directory.path, name)) as [
    string,
    string,
  ];
  await using host = startMcpHost({ servers: { counter: counterServer(`${file}.jsonl`) } });
  await using broker = await startTestBroker({ durability: 'process' });
  const token = await broker.token('orchestrator', 'orchestrator');
  const rosa = await broker.token('rosa');
  const approvals = { roles: { worker: ['*'] }, deadlineMs: 60_000, notify: [] };
  const start = () => startStack(broker.url, token, file, host, { approvals });
  const secret = await broker.operatorToken();
  await using operator = await connectBroker({ url: broker.url, token: secret, agent: 'operator#reads' });
  const listed = async () =>
    (await listApprovals(operator, 'orchestrator', { all: true, limit: 2 })).approvals.map(
      ({ state, reason }) => [state, reason],
    );
  {
    await using _first = await start();
    await send(broker.url, rosa, [{ id: 'asked', tool: 'mcp_counter__count', label: 'asked' }]);
    await vi.waitFor(async () => expect(await listed()).toEqual([['pending', undefined]]));
  }
  await cp(file, older);
  await (await start())[Symbol.asyncDispose]();
  await cp(older, file);
  await using _putBack = await start();
  await vi.waitFor(async () => expect(await replies(broker.url, rosa)).toEqual({ asked: unknown }));
  await vi.waitFor(async () => expect(await listed()).toEqual([['cancelled', 'its call has ended']]));
});

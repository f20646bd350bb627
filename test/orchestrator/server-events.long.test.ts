import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readAudit } from '@signalbox/client/operator';
import { serverReplySchema } from '@signalbox/protocol';
import { counterServer, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { ask, askData } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

test('each server that is added, changed, removed, ejected or put back has a row of its own, and a crash that is repaired has none', async () => {
  await using directory = await tempDir();
  const listFile = join(directory.path, 'list.json');
  const good = JSON.stringify({ pages: [[toolNamed('exit')]] });
  await writeFile(listFile, good);
  const odd = { ...nonstandardServer(listFile), maxRestarts: 0 };
  const sound = { ...nonstandardServer(listFile), maxRestarts: 100 };
  await using stack = await startToolStack({ servers: { odd, sound }, counter: false });
  const { host } = stack;
  await host.inventory();
  const operator = await stack.client('operator', 'operator');
  const rosa = await stack.client('rosa');
  const state = (name: string) => host.servers().find((server) => server.name === name)!;
  const kill = (name: string) => process.kill(state(name).pid!, 'SIGKILL');
  const reload = () => askData(operator, { op: 'reload', server: 'odd' }, serverReplySchema);
  const serverRows = async () => {
    const { entries } = await readAudit(operator, { since: 0, kinds: ['change'], limit: 1000 });
    return entries
      .filter(({ name }) => name !== undefined && /^(odd|sound|new)$/.test(name))
      .map(({ agent, code, name, detail, count }) => `${agent} ${code} ${name} ${detail} ${count}`);
  };

  for (let restarts = 1; restarts <= 3; restarts++) {
    kill('sound');
    await expect.poll(() => state('sound'), { timeout: 20_000 }).toMatchObject({ state: 'ready', restarts });
  }
  kill('odd');
  await expect
    .poll(serverRows)
    .toEqual([expect.stringMatching(/^orchestrator server_ejected odd ejected: .* 1$/)]);
  for (let i = 0; i < 50; i++) await ask(rosa, { op: 'call', tool: 'mcp_odd__exit', arguments: {} });
  await writeFile(listFile, JSON.stringify({ pages: [], exit: 3 }));
  await reload();
  await writeFile(listFile, good);
  await reload();
  const config = counterServer(join(directory.path, 'counter.jsonl'));
  await host.apply({ odd: { ...odd, maxRestarts: 1 }, new: config });
  await expect
    .poll(serverRows)
    .toEqual([
      expect.stringMatching(/ejected/),
      expect.stringMatching(/^orchestrator server_ejected odd ejected: exited with code 3 1$/),
      'operator server_changed odd reload 1',
      'orchestrator server_restored odd restored 1',
      'operator server_changed odd reload 1',
      'orchestrator server_changed new added 1',
      'orchestrator server_changed sound removed 1',
      'orchestrator server_changed odd changed 1',
    ]);
});

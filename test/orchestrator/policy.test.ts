import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import { serverReplySchema } from '@signalbox/protocol';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { nonstandardServer, toolNamed } from '../support/mcp-host/test-servers.ts';
import { eventsOf } from '../support/orchestrator/manifest-events.ts';
import { ask, askData, callError } from '../support/orchestrator/requests.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';

test('a change of policy, of a list and a reload each reach exactly the roles whose tools changed', async () => {
  await using directory = await tempDir();
  const listFile = join(directory.path, 'list.json');
  const serveTools = (...names: string[]) =>
    writeFile(listFile, JSON.stringify({ pages: [names.map((name) => toolNamed(name))] }));
  await serveTools('announce');
  const allowlist = RoleToolAllowlist.fromEntries([
    ['odd', ['mcp_odd__*']],
    ['even', [echo]],
    ['guest', []],
  ]);
  await using stack = await startToolStack({ servers: { odd: nonstandardServer(listFile) }, allowlist });
  const operator = await stack.client('operator', 'operator');
  // An orchestrator that has just started tells everybody; those who come after its first answer hear of changes only.
  await ask(operator, { op: 'manifest' });
  const roles = ['odd', 'even', 'guest', 'builder'] as const;
  const clients = await Promise.all(roles.map((role) => stack.client(`${role}-1`, role)));
  const events = await Promise.all(clients.map(eventsOf));
  const [odd, even, guest, builder] = events;
  const namesOf = async (from: (typeof events)[number] | undefined) => {
    const { added, removed, changed } = (await from!.next()) as Record<string, string[]>;
    return { added, removed, changed };
  };
  const { setPolicy } = stack.orchestrator;

  // One change of the allowlist and of a word on repeating is one event.
  setPolicy({ allowlist: allowlist.withRole('even', [echo, count]), repeat: { safe: [echo, count] } });
  expect(await namesOf(even)).toEqual({ added: [count], removed: [], changed: [echo] });
  expect(await namesOf(builder)).toEqual({ added: [], removed: [], changed: [count, echo] });

  await serveTools('announce', 'vendor');
  expect(await callError(clients[0]!, 'mcp_odd__announce')).toBeUndefined();
  const listed = { added: ['mcp_odd__vendor'], removed: [], changed: [] };
  expect([await namesOf(odd), await namesOf(builder)]).toEqual([listed, listed]);

  await serveTools('vendor');
  await askData(operator, { op: 'reload', server: 'odd' }, serverReplySchema);
  const reloaded = { added: [], removed: ['mcp_odd__announce'], changed: [] };
  expect([await namesOf(odd), await namesOf(builder)]).toEqual([reloaded, reloaded]);

  setPolicy({ budgets: { perWorker: { calls: 9, windowMs: 1 } }, serverConcurrency: { odd: 2 } });
  setPolicy({ allowlist: allowlist.withRole('even', [count, echo, 'mcp_nothing__*']) });
  // The last change is everybody's. Had one of those before reached anybody else, it would have come first.
  setPolicy({ allowlist: RoleToolAllowlist.fromEntries(roles.map((role) => [role, ['mcp_counter__big']])) });
  const now = await Promise.all(events.map(namesOf));
  expect(now.map(({ added }) => added)).toEqual([...Array(3).fill(['mcp_counter__big']), []]);
  expect(now.map(({ removed }) => removed?.length)).toEqual([1, 2, 0, 6]);
  expect(events.map(({ waiting }) => waiting)).toEqual([0, 0, 0, 0]);
  expect(await callError(clients[1]!, echo)).toMatchObject({ code: 'permission_denied' });
  expect(guest).toBeDefined();
});

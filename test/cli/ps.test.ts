import { connectBroker } from '@signalbox/client';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('ps shows an agent in one row, with its work, its client and the mail that waits, and offline agents with mail; an agent sees its own mail only.', async () => {
  await using broker = await startTestBroker();
  const rosaToken = await broker.token('rosa', 'researcher');
  const connect = (agent: string, token: string) => connectBroker({ url: broker.url, token, agent });
  await using walt = await connect('walt', await broker.token('walt', 'writer'));
  await using face = await connect('rosa#mcp-1', rosaToken);
  await using supervisor = await connect('rosa#run-1', rosaToken);
  face.announce({ worker: 'mcp', state: 'working', calls: 2, listed: true, client: 'claude-code 2.1.0' });
  supervisor.announce({
    ...{ worker: 'run', command: 'claude', pid: 1, started_at: Date.now(), restarts: 0 },
    ...{ last_output_at: Date.now(), last_output: 'reading the\x1b[2J plan' },
  });
  for (const id of ['a', 'b']) await walt.deliver({ to: 'rosa', kind: 'note', id });
  await broker.token('nemo', 'worker');
  await walt.deliver({ to: 'nemo', kind: 'note' });
  await using desk = await connect('rosa', rosaToken);
  await using _inbox = await desk.subscribe({ window: 1 });
  await expect
    .poll(async () => (await face.listConnected({ withStatus: true })).map(({ inbox }) => inbox?.held))
    .toContain(1);

  const table = await signalbox(['ps', '--data', broker.dataDir]);
  const [headings, ...rows] = table.stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(headings).toEqual(['AGENT', 'ROLE', 'STATE', 'FOR', 'MAIL', 'CLIENT', 'LAST OUTPUT']);
  const age = expect.stringMatching(/^\d+ s$/);
  expect(rows).toEqual([
    ['nemo', 'worker', 'offline', '-', expect.stringMatching(/^1 \(\d+ s\)$/), '-', '-'],
    [
      ...['rosa', 'researcher', 'working 2', age, '2 (1 handed out)', 'claude-code 2.1.0'],
      expect.stringMatching(/^\d+ s ago: reading the\\x1b\[2J plan$/),
    ],
    ['walt', 'writer', 'connected', age, '-', '-', '-'],
  ]);

  const env = { SIGNALBOX_URL: `ws://127.0.0.1:9,${broker.url}`, SIGNALBOX_TOKEN: rosaToken };
  const { agents, offline } = jsonOf(await signalbox(['ps', '--json'], { env })) as {
    agents: Record<string, unknown>[];
    offline: unknown;
  };
  expect(offline).toBeNull();
  expect(agents.map(({ address }) => address)).toEqual(['rosa', 'rosa#mcp-1', 'rosa#run-1', 'walt']);
  expect(agents[1]).toEqual({
    ...{ agent: 'rosa', address: 'rosa#mcp-1', role: 'researcher', connected_at: expect.any(Number) },
    status: expect.objectContaining({ worker: 'mcp', calls: 2 }),
    inbox: { unread: 2, held: 1 },
  });
  expect(agents[3]).toMatchObject({ agent: 'walt', status: null });
  expect(agents[3]).not.toHaveProperty('inbox');
});

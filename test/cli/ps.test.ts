import { connectBroker } from '@signalbox/client';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';

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
      ...['rosa', 'researcher', 'working 2', age, '2 (1 held)', 'claude-code 2.1.0'],
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

test('ps and status show how the program of worker run failed, with its last line, until it is back.', async () => {
  await using workspace = await startWorkspace(() =>
    JSON.stringify({ broker: { listen: '127.0.0.1:0', data: './state' }, roles: { writer: { tools: [] } } }),
  );
  const rosa = (script: string) =>
    workspace.run(['worker', 'run', '--agent', 'rosa', '--role', 'writer', '--', 'sh', '-c', script]);
  const rows = async () => (await workspace.run(['ps'])).stdout;
  expect((await rosa('echo begin; echo "cannot open database /x/y" >&2; exit 3')).code).toBe(3);
  expect(await rows()).toMatch(
    /^rosa +writer +failed +\d+ s +- +- +ended with exit code 3: cannot open database \/x\/y$/m,
  );
  const status = await workspace.run(['status']);
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(
    /the program of rosa ended with exit code 3: cannot open database \/x\/y \(\d+ s ago, and it is not back\)/,
  );
  expect(jsonOf(await workspace.run(['ps', '--json', '--role', 'writer']))).toMatchObject({
    failed: [{ agent: 'rosa', role: 'writer', reason: expect.stringContaining('cannot open database') }],
  });
  expect(jsonOf(await workspace.run(['ps', '--json', '--role', 'other']))).toMatchObject({ failed: [] });

  await workspace.agent('rosa', 'writer');
  const sent = await workspace.run(['send', 'rosa', 'hello']);
  expect(sent.stderr).toContain('rosa ended with exit code 3: cannot open database /x/y (');
  expect(await rows()).toMatch(/^rosa +writer +failed +\d+ s +1 \(\d+ s\) +- +ended with exit code 3/m);

  // A token of its own is not revoked at the end, and the failure is told all the same.
  const { env } = await workspace.agent('walt', 'writer');
  await workspace.run(['worker', 'run', '--', 'sh', '-c', 'echo no key; kill -9 $$'], env);
  expect(await rows()).toMatch(/^walt +writer +failed .* was ended by SIGKILL: no key$/m);

  expect((await rosa('exit 0')).code).toBe(0);
  expect(await rows()).toMatch(/^rosa +writer +offline/m);
});

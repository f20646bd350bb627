import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { runBroker, runOrchestrator } from '@signalbox/daemon';
import { tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { files, workspace } from '../support/daemon/own-process.ts';

test('A program runs broker and orchestrator, has a changed configuration put in force, and hears of it through its port.', async () => {
  await using here = await workspace('roles: { clerk: { tools: [] } }\n');
  const { configFile, log, events } = here;
  const config = await here.load();
  await using broker = await runBroker({ config, log });
  await using orchestrator = await runOrchestrator({ config, configFile, url: broker.url, log });
  expect(await orchestrator.ready).toMatchObject({ url: broker.url, tools: 0, roles: [{ role: 'clerk' }] });

  const rows = () => {
    const db = new Database(join(broker.dataDir, 'audit.db'), { readonly: true });
    const entries = db.prepare<[], string>('SELECT entry FROM audit_change').pluck().all();
    db.close();
    return entries.map((entry) => JSON.parse(entry)).filter(({ code }) => code === 'config_applied');
  };
  expect(rows()).toMatchObject([{ detail: expect.stringMatching(/^started: the rules have the hash /) }]);
  await here.write('roles: { clerk: { tools: ["*"] }, guest: { tools: [] } }\n');
  await orchestrator.reload();
  expect(rows()).toMatchObject([{}, { detail: 'changed: role added: guest; role changed: clerk' }]);
  expect(events).toContainEqual(
    expect.objectContaining({
      event: 'config_applied',
      level: 'info',
      roles: { added: ['guest'], removed: [], changed: ['clerk'] },
      message: `${configFile} is in force: role added: guest; role changed: clerk`,
    }),
  );
});

test.each([
  ['others may write', 'can be written by others'],
  ['a hosted server can reach', 'a hosted server can reach it'],
])(
  'A configuration that %s is put in force when that is asked for, and not by itself.',
  async (who, reason) => {
    await using here = await workspace();
    const { configFile, log, events } = here;
    const server = who.startsWith('others') ? '' : files(configFile);
    await here.write(`${server}roles: { clerk: { tools: [] } }\n`);
    const config = await here.load();
    await using broker = await runBroker({ config });
    // It changed after it was read, so that it is read again as soon as it is watched.
    await here.write(`${server}roles: { clerk: { tools: ["*"] } }\n`);
    if (server === '') await chmod(configFile, 0o666);
    await using orchestrator = await runOrchestrator({ config, configFile, url: broker.url, log });
    await orchestrator.ready;
    const reloads = () =>
      events.filter(({ event }) => event.startsWith('config_') && event !== 'config_warning');
    expect(reloads()).toEqual([
      { event: 'config_not_reloaded', level: 'warn', message: expect.stringContaining(reason) },
    ]);
    await orchestrator.reload();
    expect(reloads().at(-1)).toMatchObject({ event: 'config_applied', roles: { changed: ['clerk'] } });
  },
);

test('An address that is taken and a folder of somebody else are rejections with a code, and nothing runs after them.', async () => {
  await using here = await workspace();
  const config = await here.load();
  await using broker = await runBroker({ config });
  const listen = { host: '127.0.0.1', port: Number(new URL(broker.url).port) };
  await using other = await tempDir();
  const dataDir = join(other.path, 'state');
  await expect(runBroker({ config, dataDir, listen })).rejects.toMatchObject({ code: 'address_in_use' });
  await using free = await runBroker({ config, dataDir });
  expect(free.dataDir).toBe(dataDir);
  await writeFile(join(other.path, 'letter.txt'), 'mine');
  await expect(runBroker({ config, dataDir: other.path })).rejects.toMatchObject({
    code: 'bad_data_directory',
  });
});

test('An orchestrator whose token is revoked ends with the reason.', async () => {
  await using here = await workspace();
  const config = await here.load();
  await using broker = await runBroker({ config });
  const { id, token } = await broker.issueToken({ agent: 'orchestrator', role: 'orchestrator' });
  await using orchestrator = await runOrchestrator({ config, url: broker.url, token });
  const operator = await broker.issueToken({ agent: 'operator', role: 'operator' });
  await using client = await connectBroker({
    url: broker.url,
    token: operator.token,
    agent: 'operator#test',
  });
  await client.admin('token_revoke', { id });
  expect(await orchestrator.ended).toMatchObject({ code: 'unauthorized' });
});

test('An orchestrator that is stopped before its servers have answered is never ready.', async () => {
  await using here = await workspace(
    `mcpServers: { mute: { command: "${process.execPath}", args: ["-e", "setInterval(() => {}, 1e6)"] } }\n`,
  );
  const config = await here.load();
  await using broker = await runBroker({ config });
  const orchestrator = await runOrchestrator({ config, url: broker.url });
  await orchestrator[Symbol.asyncDispose]();
  await expect(orchestrator.ready).rejects.toMatchObject({ code: 'closed' });
});

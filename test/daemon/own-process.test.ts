import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { loadConfig } from '@signalbox/config';
import { type LogEvent, runBroker, runOrchestrator } from '@signalbox/daemon';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';

/** A folder with a `signalbox.yaml` whose broker takes any free port, and the events that were logged. */
async function workspace(yaml = '') {
  const directory = await tempDir();
  const configFile = join(directory.path, 'signalbox.yaml');
  const write = (text: string) =>
    writeFile(configFile, `broker: { listen: 127.0.0.1:0, data: ./state }\n${text}`);
  await write(yaml);
  const events: LogEvent[] = [];
  const log = (event: LogEvent): void => void events.push(event);
  const load = () => loadConfig(configFile);
  return {
    configFile,
    write,
    events,
    log,
    load,
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
}

test('A program runs broker and orchestrator, has a changed configuration put in force, and hears of it through its port.', async () => {
  await using here = await workspace('roles: { clerk: { tools: [] } }\n');
  const { configFile, log, events } = here;
  const config = await here.load();
  await using broker = await runBroker({ config, log });
  await using orchestrator = await runOrchestrator({ config, configFile, url: broker.url, log });
  expect(await orchestrator.ready).toMatchObject({ url: broker.url, tools: 0, roles: [{ role: 'clerk' }] });

  await here.write('roles: { clerk: { tools: ["*"] }, guest: { tools: [] } }\n');
  await orchestrator.reload();
  expect(events).toContainEqual(
    expect.objectContaining({
      event: 'config_applied',
      level: 'info',
      roles: { added: ['guest'], removed: [], changed: ['clerk'] },
      message: `${configFile} is in force: role added: guest; role changed: clerk`,
    }),
  );
});

test('An orchestrator finds the broker of its data directory and makes its own token; without a file it has nothing to reload.', async () => {
  await using here = await workspace();
  const { log, events } = here;
  const config = await here.load();
  await using broker = await runBroker({ config });
  await using orchestrator = await runOrchestrator({ config, log });
  expect((await orchestrator.ready).url).toBe(broker.url);
  await orchestrator.reload();
  expect(events.map(({ event }) => event)).toContain('nothing_to_reload');
});

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

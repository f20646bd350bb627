import { chmod, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBroker } from '@signalbox/client';
import { queryOrchestrator } from '@signalbox/client/operator';
import { type LogEvent, runBroker, runOrchestrator } from '@signalbox/daemon';
import { loadConfig } from '@signalbox/daemon/config';
import { startBrokerProcess, tempDir } from '@signalbox/testing';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { explained } from '../support/orchestrator/explained-step.ts';

const namedToolsServer = fileURLToPath(new URL('../support/cli/named-tools-server.ts', import.meta.url));

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

const files = (directory: string): string =>
  `mcpServers: { files: { command: "${process.execPath}", args: ["-e", "", "${directory}"] } }\n`;

test('Where a hosted server is given the data directory nothing starts unless that is allowed, and no reload brings it about.', async () => {
  await using here = await workspace(files('/'));
  const { configFile, log, events } = here;
  const exposed = await here.load();
  await using broker = await runBroker({ config: exposed });
  const start = { configFile, url: broker.url, log };
  await expect(runOrchestrator({ ...start, config: exposed })).rejects.toMatchObject({
    code: 'exposed',
    message: `${configFile}: mcpServers.files.args[2]: / holds the data directory ${broker.dataDir}, so anybody who may use the server can read the operator's token and act as the operator`,
  });
  {
    await using allowed = await runOrchestrator({ ...start, config: exposed, allowExposed: true });
    const { warnings } = await allowed.ready;
    expect(warnings).toContainEqual(expect.stringContaining('EXPOSED, as --allow-exposed allows'));
  }
  await here.write('roles: { clerk: { tools: [] } }\n');
  await using orchestrator = await runOrchestrator({ ...start, config: await here.load() });
  await orchestrator.ready;
  await here.write(files('/'));
  await orchestrator.reload();
  expect(events.at(-1)).toMatchObject({
    event: 'config_refused',
    message: expect.stringContaining('everything stays'),
  });
  await here.write('roles: { clerk: { tools: [] } }\n');
  await orchestrator.reload();
  expect(events.at(-1)).toMatchObject({ event: 'config_unchanged' });
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

test('An orchestrator finds the broker of its data directory and makes its own token; without a file it has nothing to reload.', async () => {
  await using here = await workspace();
  const { log, events } = here;
  const config = await here.load();
  await using broker = await runBroker({ config });
  await using orchestrator = await runOrchestrator({ config, log });
  expect((await orchestrator.ready).url).toBe(broker.socket);
  await orchestrator.reload();
  expect(events.map(({ event }) => event)).toContain('nothing_to_reload');
});

test('A rule of a server holds for names that its tools get only when they are listed, also where no file is there to reload.', async () => {
  const server = JSON.stringify({
    ...{ command: process.execPath, args: [namedToolsServer, 'look-up'] },
    ...{ prefix: false, neverRepeat: ['look*'] },
  });
  await using here = await workspace(`mcpServers: { plain: ${server} }\n`);
  const config = await here.load();
  await using broker = await runBroker({ config });
  await using orchestrator = await runOrchestrator({ config, url: broker.url });
  await orchestrator.ready;
  const { token } = await broker.issueToken({ agent: 'operator', role: 'operator' });
  await using client = await connectBroker({ url: broker.url, token, agent: 'operator#test' });
  const explain = { op: 'explain' as const, role: 'clerk', tool: 'look-up' };
  expect(await queryOrchestrator(client, 'orchestrator', explain)).toEqual(
    explained('journal', { rule: "neverRepeat: 'look-up'" }),
  );
});

test('A rule on an argument holds for the value that a capability file gives it, too.', async () => {
  await using here = await workspace(
    'capabilities: [./deploy.yaml]\nroles: { clerk: { tools: [deploy], ask: [{ tool: deploy, when: { to: prod } }] } }\n',
  );
  const deploy = {
    ...{ name: 'deploy', schema: { input: { type: 'object', properties: { to: { default: 'prod' } } } } },
    providers: {
      primary: { service: 'rest', config: { base_url: 'https://ci.example.com/', path: '/{to}' } },
    },
  };
  await writeFile(join(dirname(here.configFile), 'deploy.yaml'), JSON.stringify(deploy));
  const config = await here.load();
  await using broker = await runBroker({ config });
  await using orchestrator = await runOrchestrator({ config, url: broker.url });
  await orchestrator.ready;
  const { token } = await broker.issueToken({ agent: 'operator', role: 'operator' });
  await using client = await connectBroker({ url: broker.url, token, agent: 'operator#test' });
  const asks = async (args: object) => {
    const explain = { op: 'explain' as const, role: 'clerk', tool: 'deploy', arguments: args };
    return await queryOrchestrator(client, 'orchestrator', explain);
  };
  expect([await asks({}), await asks({ to: 'test' })]).toEqual([
    explained('approval', { verdict: 'waits' }),
    explained('approval', { verdict: 'passes' }),
  ]);
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

test('An orchestrator that lost its broker before it took any request can be asked to give its start up.', async () => {
  await using here = await workspace();
  await using directory = await tempDir();
  await using broker = await startBrokerProcess(directory.path);
  const asked = new AbortController();
  const log = ({ event }: LogEvent): void => {
    if (event === 'broker_lost') asked.abort();
  };
  const fault = (point: string): void => {
    if (point === 'orchestrator.journal.claimed') process.kill(broker.pid, 'SIGKILL');
  };
  const options = { config: await here.load(), url: broker.url, dataDir: directory.path, log, fault };
  const start = runOrchestrator({ ...options, signal: asked.signal });
  await expect(start).rejects.toMatchObject({ code: 'aborted' });
});

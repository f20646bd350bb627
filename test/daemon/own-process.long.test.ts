import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectBroker } from '@signalbox/client';
import { queryOrchestrator } from '@signalbox/client/operator';
import { type LogEvent, runBroker, runOrchestrator } from '@signalbox/daemon';
import { startBrokerProcess, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { files, workspace } from '../support/daemon/own-process.ts';
import { explained } from '../support/orchestrator/explained-step.ts';

const namedToolsServer = fileURLToPath(new URL('../support/cli/named-tools-server.ts', import.meta.url));

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

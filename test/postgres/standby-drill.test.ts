import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { installedPostgres } from '@signalbox/postgres/temporary-server';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { cleanEnv, startDaemon } from '../support/cli/command-line.ts';
import { composeExample, exampleFolder, postgresSettings } from '../support/postgres/compose-example.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

type Ready = { url: string; operator_token_file: string };

const schema = 'signalbox';
/** The receipts before the primary is killed, and those behind it. */
const receiptsBefore = 300;
const receiptsAfter = 300;
const inFlight = 16;

describe.skipIf(serverUrl === undefined)('Two brokers on a primary with a synchronous standby', () => {
  it('follow when the primary is killed and the standby promoted, and lose no message with a receipt', async () => {
    // Debian's packages have pg_basebackup.
    const version = installedPostgres(15) && 15;
    const example = composeExample();
    const settings = postgresSettings(example, 'postgres-1');
    expect(settings.synchronous_standby_names).toBe('standby_1');
    await using primary = (await startPostgres({ settings, ...(version && { version }) }))!;
    await using standby = await primary.standby('standby_1', postgresSettings(example, 'postgres-2'));
    await using admin = await testSchema(primary.url);
    await expect
      .poll(() => admin.sql('SELECT application_name AS name, sync_state FROM pg_stat_replication'))
      .toEqual([{ name: 'standby_1', sync_state: 'sync' }]);

    await using site = await startSite([primary.url, standby.url]);
    const { one, two, operator } = site;
    const { token } = await issueToken(operator, { agent: 'ann', role: 'worker' });
    const bobs = await issueToken(operator, { agent: 'bob', role: 'worker' });
    await using ann = await connectBroker({ url: one.url, token, agent: 'ann#one' });
    await using other = await connectBroker({ url: two.url, token, agent: 'ann#two' });
    expect([ann, other].map(({ welcome }) => welcome.receipt_means)).toEqual(['replicated', 'replicated']);

    const receipts = new Set<string>();
    const reached = (count: number) => expect.poll(() => receipts.size).toBeGreaterThanOrEqual(count);
    const stop = new AbortController();
    const writers = [ann, other].flatMap((client) =>
      Array.from({ length: inFlight }, async () => {
        while (!stop.signal.aborted) {
          const id = `m-${crypto.randomUUID()}`;
          await client.deliver({ to: 'bob', kind: 'note', id });
          receipts.add(id);
        }
      }),
    );
    await reached(receiptsBefore);
    await primary.stop('immediate');
    await using promoted = await testSchema(standby.url);
    await promoted.sql('SELECT pg_promote()');
    await reached(receipts.size + receiptsAfter);
    stop.abort();
    await Promise.all(writers);

    await using bob = await connectBroker({ url: `${one.url},${two.url}`, token: bobs.token, agent: 'bob' });
    // The promoted server waits for no standby of its own.
    expect(bob.welcome.receipt_means).toBe('fsynced');
    const read = await readAll(bob);
    expect(new Set(read).size).toBe(read.length);
    expect([...receipts].filter((id) => !read.includes(id))).toEqual([]);
    // A broker tells the promoted server anew who is connected to it.
    await expect
      .poll(async () =>
        (await operator.listConnected({ role: 'orchestrator' })).map(({ address }) => address),
      )
      .toEqual(['orchestrator', 'orchestrator']);
    expect(
      await promoted.sql(`SELECT count(*)::int AS living FROM ${schema}.incarnation WHERE NOT is_over`),
    ).toEqual([{ living: 2 }]);
    // The standby had all commits, so that nothing counts as restored.
    expect(await promoted.sql(`SELECT FROM ${schema}.meta WHERE key = 'restored_at'`)).toEqual([]);
  });
});

/**
 * The brokers and the orchestrator of the example, with its commands and its configuration but for MCP servers. The address names the
 * folders of both servers.
 */
async function startSite(urls: readonly string[]) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const hosts = urls.map((url) => new URL(url).searchParams.get('host'));
  const address = `postgres://postgres@localhost/postgres?host=${hosts.join(',')}&target_session_attrs=read-write`;
  const config = join(directory.path, 'signalbox.yaml');
  const { mcpServers: _, ...document } = parse(readFileSync(`${exampleFolder}signalbox.yaml`, 'utf8'));
  const limits = { senderToRecipient: { messages: 10_000 } };
  writeFileSync(config, JSON.stringify({ ...document, broker: { ...document.broker, limits } }));
  const env = cleanEnv({ SIGNALBOX_POSTGRES: address, SIGNALBOX_CONFIG: config });
  const { services } = composeExample();
  const start = async (service: string, changes: Record<string, string>, more: string[] = []) => {
    const command = services[service]!.command.map((word) => changes[word] ?? word);
    return starting.use(await startDaemon([...command, ...more], { env })).ready as Ready;
  };
  const dataOf = (name: string) => {
    const data = join(directory.path, name);
    mkdirSync(data, { mode: 0o700 });
    return { '/var/lib/signalbox': data };
  };
  const [first, second] = [dataOf('broker-1'), dataOf('broker-2')];
  const one = await start('broker-1', first, ['--listen', '127.0.0.1:0']);
  const two = await start('broker-2', second, ['--listen', '127.0.0.1:0']);
  const addresses = { 'ws://broker-1:7420,ws://broker-2:7420': `${one.url},${two.url}` };
  await start('orchestrator-1', { ...first, ...addresses });
  await start('orchestrator-2', { ...second, ...addresses });
  const operator = await connectBroker({
    url: one.url,
    token: readFileSync(one.operator_token_file, 'utf8').trim(),
    agent: requestAddress('operator'),
  });
  starting.use(operator);
  const resources = starting.move();
  return { one, two, operator, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Takes all messages of an inbox and returns their ids. */
async function readAll(client: BrokerClient): Promise<string[]> {
  await client.deliver({ to: 'bob', kind: 'note', id: 'last' });
  await using inbox = await client.subscribe();
  const ids: string[] = [];
  const acks: Promise<unknown>[] = [];
  for await (const { id, seq } of inbox.messages) {
    acks.push(client.ack([seq!]));
    if (id === 'last') break;
    ids.push(id);
  }
  await Promise.all(acks);
  return ids;
}

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/operator';
import { installedPostgres } from '@signalbox/store-postgres/temporary-server';
import { tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { cleanEnv, startDaemon } from '../support/cli/command-line.ts';
import { startPostgres } from '../support/postgres/postgres-server.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

type Ready = { url: string; operatorTokenFile: string };

const schema = 'signalbox';
/** The receipts before the primary is killed, and those behind it. */
const receiptsBefore = 300;
const receiptsAfter = 300;
const inFlight = 16;

describe.skipIf(serverUrl === undefined)('Two brokers on a primary with a synchronous standby', () => {
  it('follow when the primary is killed and the standby promoted, and lose no message with a receipt', async () => {
    // Debian's packages have pg_basebackup.
    const version = installedPostgres(15) && 15;
    await using primary = (await startPostgres({ ...(version && { version }) }))!;
    await using standby = await primary.standby('standby_1');
    await using admin = await testSchema(primary.url);
    await admin.sql(`ALTER SYSTEM SET synchronous_standby_names = 'standby_1'`);
    await admin.sql('SELECT pg_reload_conf()');
    await expect
      .poll(() => admin.sql('SELECT application_name AS name, sync_state FROM pg_stat_replication'))
      .toEqual([{ name: 'standby_1', sync_state: 'sync' }]);

    await using site = await startSite([primary.url, standby.url]);
    const { one, two, operator } = site;
    const { token } = await issueToken(operator, { agent: 'ann', role: 'worker' });
    const bobs = await issueToken(operator, { agent: 'bob', role: 'worker' });
    // A broker hears of new agents when one comes to it with its token.
    await using _bob = await connectBroker({ url: two.url, token: bobs.token, agent: 'bob#first' });
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
    expect(
      await promoted.sql(`SELECT count(*)::int AS living FROM ${schema}.session WHERE NOT is_over`),
    ).toEqual([{ living: 2 }]);
  });
});

/** Two brokers in processes of their own with one configuration, whose address names the folders of both servers. */
async function startSite(urls: readonly string[]) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const hosts = urls.map((url) => new URL(url).searchParams.get('host'));
  const address = `postgres://postgres@localhost/postgres?host=${hosts.join(',')}&target_session_attrs=read-write`;
  const config = join(directory.path, 'signalbox.yaml');
  writeFileSync(
    config,
    `broker: { listen: 127.0.0.1:0, store: { postgres: "\${env:SIGNALBOX_POSTGRES}", schema: ${schema} } }`,
  );
  const env = cleanEnv({ SIGNALBOX_POSTGRES: address });
  const start = async (name: string): Promise<Ready> => {
    const data = join(directory.path, name);
    mkdirSync(data, { mode: 0o700 });
    const broker = starting.use(await startDaemon(['broker', '--config', config, '--data', data], { env }));
    return broker.ready as Ready;
  };
  const [one, two] = [await start('one'), await start('two')];
  const operator = await connectBroker({
    url: one.url,
    token: readFileSync(one.operatorTokenFile, 'utf8').trim(),
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

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BrokerOptions, ScheduleSettings } from '@signalbox/broker';
import { type BrokerClient, connectBroker, type Log, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { openPostgresStores, type PostgresStoresOptions } from '@signalbox/postgres';
import { agentOf } from '@signalbox/protocol';
import { startChild, startTestBroker, type TestBroker, tempDir } from '@signalbox/testing';
import { testSchema } from './test-store.ts';

const brokerMain = new URL('./broker-main.ts', import.meta.url);

/** Starts two brokers in this process on one schema. */
export async function startTwoBrokers(
  given: Partial<BrokerOptions> = {},
  database: Partial<PostgresStoresOptions> = {},
): Promise<
  AsyncDisposable & { one: TestBroker; other: TestBroker; schema: Awaited<ReturnType<typeof testSchema>> }
> {
  await using starting = new AsyncDisposableStack();
  const schema = starting.use(await testSchema(database.url));
  const { url, schema: name } = schema;
  const start = async (broker: string): Promise<TestBroker> =>
    starting.use(
      await startTestBroker({
        ...given,
        stores: {
          noBackup: 'this is a test',
          open: (settings) => openPostgresStores({ ...settings, ...database, url, schema: name, broker }),
        },
      }),
    );
  const [one, other] = [await start('one'), await start('other')];
  const resources = starting.move();
  return { one, other, schema, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Starts two brokers in processes of their own on one schema. The first one issues tokens for an agent and an orchestrator. */
export async function startTwoBrokerProcesses(
  options: { schedules?: ScheduleSettings; aheadMs?: number; otherAheadMs?: number } = {},
) {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const schema = starting.use(await testSchema());
  const database = { url: schema.url, schema: schema.schema, leaseMs: 1000 };
  const { otherAheadMs, ...common } = options;
  const start = async (broker: string, own: { aheadMs?: number; isWallClockWrong?: boolean } = {}) => {
    const dataDir = join(directory.path, broker);
    const args = [JSON.stringify({ dataDir, broker, ...database, ...common, ...own })];
    return starting.use(await startChild<{ url: string; operatorTokenFile: string }>(brokerMain, { args }));
  };
  // The first one is the older one.
  const one = await start('one');
  const wrong = otherAheadMs === undefined ? {} : { aheadMs: otherAheadMs, isWallClockWrong: true };
  const other = await start('other', wrong);
  const operator = await connectBroker({
    url: one.ready.url,
    token: (await readFile(one.ready.operatorTokenFile, 'utf8')).trim(),
    agent: requestAddress('operator'),
  });
  starting.use(operator);
  const issue = async (agent: string, role: string) => (await issueToken(operator, { agent, role })).token;
  const tokens: Record<string, string> = {
    ann: await issue('ann', 'worker'),
    bob: await issue('bob', 'orchestrator'),
  };
  const resources = starting.move();
  return {
    one,
    other,
    operator,
    schema,
    issue,
    /** Returns the number of brokers whose incarnation lives. */
    living: async () => {
      const sql = 'SELECT count(*)::int AS living FROM @incarnation WHERE NOT is_over';
      return (await schema.sql(sql))[0]!.living;
    },
    connect: (
      address: string,
      at: { ready: { url: string } }[],
      { log, token = tokens[agentOf(address)]! }: { log?: Log; token?: string } = {},
    ): Promise<BrokerClient> =>
      connectBroker({
        url: at.map(({ ready }) => ready.url).join(','),
        token,
        agent: address,
        random: () => 0,
        ...(log && { log }),
      }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

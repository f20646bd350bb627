import type { BrokerOptions } from '@signalbox/broker';
import { openPostgresStores, type PostgresStoresOptions } from '@signalbox/store-postgres';
import { startTestBroker, type TestBroker } from '@signalbox/testing';
import { testSchema } from './test-store.ts';

/** Two brokers of this process on one schema. */
export async function startTwoBrokers(
  given: Partial<BrokerOptions> = {},
  database: Partial<PostgresStoresOptions> = {},
): Promise<
  AsyncDisposable & { one: TestBroker; other: TestBroker; schema: Awaited<ReturnType<typeof testSchema>> }
> {
  await using starting = new AsyncDisposableStack();
  const schema = starting.use(await testSchema());
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

import type { BrokerOptions } from '@signalbox/broker';

/** The stores that brokers of tests use in place of files of their data directories. */
export interface TestStores {
  /** Returns the stores of the broker on a data directory: the same ones at each of its starts. */
  of(dataDir: string): NonNullable<BrokerOptions['stores']>;
  /** Reads every row of the tables of messages as one comparable text. */
  rows(dataDir: string): Promise<string>;
  /** Reads the entries of one kind in the audit log. */
  audit(dataDir: string, kind: string): Promise<string[]>;
  /**
   * Counts approximately the commits that left the messages of these tables: a later change of a message hides the commit that stored it.
   */
  commits(dataDir: string): Promise<number>;
  drop(dataDir: string): Promise<void>;
}

/** False if the environment names other stores for the brokers of tests. */
export const areStoresInFiles = process.env.SIGNALBOX_TEST_STORES === undefined;

/** Returns the option with which a broker on a data directory uses the stores that the environment names, if it does. */
export async function storesOption(dataDir: string): Promise<Pick<BrokerOptions, 'stores'>> {
  const elsewhere = await testStores();
  return elsewhere ? { stores: elsewhere.of(dataDir) } : {};
}

/** Loads the stores of the module whose address is in the environment, if there is one. */
export async function testStores(): Promise<TestStores | undefined> {
  const address = process.env.SIGNALBOX_TEST_STORES;
  if (address === undefined) return undefined;
  return ((await import(address)) as { testStores: TestStores }).testStores;
}

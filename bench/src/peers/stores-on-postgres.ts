import type { BrokerOptions } from '@signalbox/broker';
import { openPostgresStores } from '@signalbox/postgres';

/** A broker's share of a database. */
export interface DatabaseShare {
  url: string;
  schema: string;
  /** The name of the broker. */
  broker: string;
}

export function storesOn(share: DatabaseShare): NonNullable<BrokerOptions['stores']> {
  return {
    noBackup: 'this is a measurement',
    open: (settings) => openPostgresStores({ ...settings, ...share }),
  };
}

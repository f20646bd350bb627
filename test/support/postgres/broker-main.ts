import { startBroker } from '@signalbox/broker';
import { openPostgresStores } from '@signalbox/store-postgres';

// The process of a broker on PostgreSQL. Its argument is JSON: data directory, and the options of its share of the database.
const { dataDir, ...database } = JSON.parse(process.argv[2]!);
const broker = await startBroker({
  dataDir,
  port: 0,
  stores: {
    noBackup: 'this is a test',
    open: (settings) => openPostgresStores({ ...settings, ...database }),
  },
});
process.on('disconnect', () => void broker.stop().then(() => process.exit(0)));
void broker.failed.then((error) => {
  console.error(error);
  process.exit(70);
});
process.send?.({ url: broker.url, operatorTokenFile: broker.operatorTokenFile });

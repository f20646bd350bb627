import { startBroker } from '@signalbox/broker';
import { openPostgresStores } from '@signalbox/store-postgres';

// The process of a broker on PostgreSQL. Its argument is JSON: data directory, schedules, and the options of its share of the database. Both
// of its clocks are ahead of the machine's by the last `aheadMs` that it was sent.
const { dataDir, schedules, aheadMs = 0, ...database } = JSON.parse(process.argv[2]!);
let ahead: number = aheadMs;
process.on('message', (message: { aheadMs: number }) => {
  ahead = message.aheadMs;
});
const broker = await startBroker({
  dataDir,
  port: 0,
  schedules,
  now: () => Date.now() + ahead,
  monotonic: () => performance.now() + ahead,
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

import { createWriteStream } from 'node:fs';
import { startBroker } from '@signalbox/broker';
import { openPostgresStores } from '@signalbox/postgres';

// The process of a broker on PostgreSQL. Its argument is JSON: data directory, port, heartbeat, schedules, the file of its log, and the
// options of its share of the database. Both of its clocks are ahead of the machine's by the last `aheadMs` that it was sent. If
// `isWallClockWrong`, only its wall clock is, and the broker goes by that of the database, as the command does.
const {
  dataDir,
  port = 0,
  heartbeatMs,
  schedules,
  logFile,
  aheadMs = 0,
  isWallClockWrong = false,
  ...database
} = JSON.parse(process.argv[2]!);
let ahead: number = aheadMs;
process.on('message', (message: { aheadMs: number }) => {
  ahead = message.aheadMs;
});
const lines = logFile === undefined ? undefined : createWriteStream(logFile, { flags: 'a' });
const broker = await startBroker({
  dataDir,
  port,
  heartbeatMs,
  schedules,
  now: () => Date.now() + ahead,
  monotonic: () => performance.now() + (isWallClockWrong ? 0 : ahead),
  stores: {
    noBackup: 'this is a test',
    open: ({ now, ...settings }) =>
      openPostgresStores({ ...settings, ...(isWallClockWrong ? {} : { now }), ...database }),
  },
  log: ({ error, ...event }) =>
    void lines?.write(
      `${JSON.stringify({ at: new Date(), pid: process.pid, ...event, error: String(error ?? '') })}\n`,
    ),
});
const stop = (): void => void broker.stop().then(() => process.exit(0));
process.on('SIGTERM', stop);
process.on('disconnect', stop);
void broker.failed.then((error) => {
  console.error(error);
  process.exit(70);
});
process.send?.({ url: broker.url, port: broker.port, operatorTokenFile: broker.operatorTokenFile });

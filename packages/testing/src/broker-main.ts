import { startBroker } from '@signalbox/broker';
import { processFaults } from './process-faults.ts';
import { storesOption } from './test-stores.ts';

const [dataDir, port] = process.argv.slice(2);
const broker = await startBroker({
  dataDir: dataDir!,
  port: Number(port ?? 0),
  fault: processFaults(),
  ...(await storesOption(dataDir!)),
});
const stop = (): void => {
  broker.stop().then(() => process.exit(0));
};
process.on('SIGTERM', stop);
process.on('disconnect', stop);
process.send?.({ url: broker.url, port: broker.port, operatorTokenFile: broker.operatorTokenFile });

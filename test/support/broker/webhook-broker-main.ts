import { readFile } from 'node:fs/promises';
import { startBroker } from '@signalbox/broker';
import { processFaults, storesOption } from '@signalbox/testing';

const [directory, port] = process.argv.slice(2);
const broker = await startBroker({
  dataDir: `${directory}/data`,
  port: Number(port),
  roles: ['triage'],
  hooks: {
    github: { to: 'role:triage', kind: 'task', secret: "It's a Secret to Everybody", signature: 'github' },
  },
  fault: processFaults(),
  ...(await storesOption(`${directory}/data`)),
});
process.on('disconnect', () => process.exit(0));
const operatorToken = (await readFile(broker.operatorTokenFile, 'utf8')).trim();
process.send?.({ url: broker.url, operatorToken });

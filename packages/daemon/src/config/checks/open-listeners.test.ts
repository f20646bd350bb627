import { expect, test } from 'vitest';
import { settleConfig } from '../config.ts';
import type { ConfigDocument } from '../schema/config-schema.ts';
import { openListeners } from './open-listeners.ts';

function read(document: ConfigDocument) {
  const from = { file: '/etc/signalbox.yaml', files: {}, directory: '/etc', servers: {}, leftOut: [] };
  return settleConfig(document, { ...from, warnings: [] });
}

const everywhere = '0.0.0.0:7420';
const tls = { cert: 'cert.pem', key: 'key.pem' };

test('Each address that other machines reach without encryption is listed with what to do, unless --insecure accepts them.', () => {
  const config = read({
    broker: { listen: everywhere },
    orchestrator: { listen: '10.0.0.7:7421' },
    worker: { http: '[::]:7422' },
  });
  expect(openListeners(config).map((line) => line.slice(0, line.indexOf(' would')))).toEqual([
    '/etc/signalbox.yaml: broker.listen: 0.0.0.0:7420',
    '/etc/signalbox.yaml: orchestrator.listen: 10.0.0.7:7421',
    '/etc/signalbox.yaml: worker.http: [::]:7422',
  ]);
  expect(openListeners(config, { insecure: true })).toEqual([]);
});

test('TLS of the broker, and --listen, count.', () => {
  expect(openListeners(read({ broker: { listen: everywhere, tls } }))).toEqual([]);
  const config = read({ broker: { listen: everywhere } });
  expect(openListeners(config, { listen: { host: '127.0.0.1', port: 7420 } })).toEqual([]);
  const byOption = openListeners(read({}), { listen: { host: '0.0.0.0', port: 7420 } });
  expect(byOption).toEqual([expect.stringMatching(/^--listen: 0\.0\.0\.0:7420 would send/)]);
});

test('Open metrics need an address of this machine, however the broker is started.', () => {
  const config = read({ broker: { listen: everywhere, metrics: 'open', tls } });
  expect(openListeners(config, { insecure: true })).toEqual([expect.stringContaining('broker.metrics: ')]);
});

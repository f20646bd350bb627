import { expect, test } from 'vitest';
import { builtInConfig } from '../config.ts';
import { sharedListenAddress } from './listen-addresses.ts';

function warningsOf(brokerHost: string, brokerPort: number, host: string, port: number): string[] {
  const { broker, orchestrator, ...config } = builtInConfig();
  const listen = { host: brokerHost, port: brokerPort };
  const both = { broker: { ...broker, listen }, orchestrator: { ...orchestrator, listen: { host, port } } };
  return sharedListenAddress({ ...config, ...both }, '(config)');
}

test('Two listeners at one port are found, also if one of them takes every address.', () => {
  expect(warningsOf('127.0.0.1', 7420, '127.0.0.1', 7420)).toEqual([
    expect.stringContaining('(config): orchestrator.listen: 127.0.0.1:7420 is the port of broker.listen'),
  ]);
  expect(warningsOf('127.0.0.1', 7420, '0.0.0.0', 7420)).toHaveLength(1);
  expect(warningsOf('127.0.0.1', 7420, '127.0.0.1', 7421)).toEqual([]);
  expect(warningsOf('127.0.0.1', 7420, '10.0.0.1', 7420)).toEqual([]);
  expect(warningsOf('127.0.0.1', 0, '127.0.0.1', 0)).toEqual([]);
  const { worker, ...config } = builtInConfig();
  const http = { host: '127.0.0.1', port: 7420 };
  expect(sharedListenAddress({ ...config, worker: { ...worker, http } }, '(config)')).toEqual([
    expect.stringContaining('(config): worker.http: 127.0.0.1:7420 is the port of broker.listen'),
  ]);
  expect(sharedListenAddress(builtInConfig(), '(config)')).toEqual([]);
});

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { brokerFiles, startBroker } from '@signalbox/broker';
import { connectWire, startBrokerProcess, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { expectLossToBeAccepted } from '../support/broker/damage.ts';
import { deliver } from '../support/broker/wire-actions.ts';

describe('a data directory that has lost something', () => {
  it('is refused when its log is shorter than what had receipts, and not when only the end is torn', async () => {
    await using dir = await tempDir();
    const dataDir = `${dir.path}/data`;
    const { messages } = brokerFiles(dataDir);
    const log = `${messages}-wal`;
    {
      await using broker = await startBrokerProcess(dataDir);
      await using operator = await connectWire(broker.url, {
        agent: 'operator',
        token: await broker.operatorToken(),
      });
      for (const id of ['a', 'b', 'c', 'd']) await deliver(operator, 'operator', id, { kind: 'note' });
      await broker.kill();
    }
    writeFileSync(log, Buffer.concat([readFileSync(log), Buffer.alloc(1000, 'torn')]));
    const whole = readFileSync(log);
    const database = readFileSync(messages);
    await (await startBroker({ dataDir, port: 0 })).stop();
    writeFileSync(messages, database);
    // The file may hold older frames behind those that count: only its first frame stays.
    writeFileSync(log, whole.subarray(0, statSync(messages).size === 0 ? 0 : 5000));
    await expectLossToBeAccepted(dataDir, /has lost its last \d+ commits? \(numbers? .*--accept-loss/);
    expect(existsSync(messages)).toBe(true);
    rmSync(`${messages}.mark`);
    await expectLossToBeAccepted(dataDir, /has lost its \.mark file, which says how many commits there were/);
  });
});

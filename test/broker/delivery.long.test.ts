import { startBrokerProcess, tempDir } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';

describe('what a receipt means', () => {
  it('refuses a second broker on the same data directory, with the pid of the first', async () => {
    await using dir = await tempDir();
    await using first = await startBrokerProcess(`${dir.path}/data`);
    await expect(startBrokerProcess(`${dir.path}/data`)).rejects.toThrow(String(first.pid));
    await first.kill();
    await using second = await startBrokerProcess(`${dir.path}/data`);
    expect(second.pid).not.toBe(first.pid);
    expect(await second.terminate()).toBe(0);
  });
});

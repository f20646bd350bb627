import { startBroker } from '@signalbox/broker';
import { expect } from 'vitest';

/** Starts a broker on a directory that must be refused, then with its loss accepted, and then as always. */
export async function expectLossToBeAccepted(
  dataDir: string,
  message: RegExp,
  others: { madeLater?: string[] } = {},
): Promise<void> {
  const options = { dataDir, port: 0, ...others };
  await expect(startBroker(options)).rejects.toMatchObject({
    code: 'store_damaged',
    message: expect.stringMatching(message),
  });
  await (await startBroker({ ...options, acceptLoss: true })).stop();
  await (await startBroker(options)).stop();
}

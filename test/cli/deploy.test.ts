import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));

function healthCheck(dataDir: string): Promise<{ code: unknown; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [`${deploy}healthcheck.mjs`, dataDir], (error, _, stderr) =>
      resolve({ code: error ? error.code : 0, stderr }),
    );
  });
}

test('The health check of the image passes while a broker is ready on the data directory, and fails where none runs.', async () => {
  const broker = await startTestBroker();
  const { dataDir } = broker;
  await using _ = broker;
  expect(await healthCheck(dataDir)).toEqual({ code: 0, stderr: '' });
  expect(await healthCheck(`${dataDir}/none`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('ENOENT'),
  });
});

test('The example configuration of the container is right.', async () => {
  expect(await signalbox(['config', 'check', `${deploy}signalbox.yaml`])).toMatchObject({ code: 0 });
});

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { composeExample, exampleFolder } from '../support/postgres/compose-example.ts';

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

test('The example with several brokers has a right configuration, and names files and volumes that are there.', async () => {
  const env = { SIGNALBOX_POSTGRES: 'postgres://signalbox:x@postgres-1,postgres-2/signalbox' };
  const check = await signalbox(['config', 'check', `${exampleFolder}signalbox.yaml`, '--insecure'], {
    env,
  });
  expect(check).toMatchObject({ code: 0, stderr: '' });
  const { services, volumes } = composeExample();
  const mounts = Object.values(services).flatMap((service) => service.volumes);
  const [files, named] = [
    mounts.filter((mount) => mount.startsWith('.')),
    mounts.filter((mount) => !mount.startsWith('.')),
  ];
  for (const mount of files) expect(existsSync(join(exampleFolder, mount.split(':')[0]!))).toBe(true);
  expect(new Set(named.map((mount) => mount.split(':')[0]))).toEqual(new Set(Object.keys(volumes)));
  const needed = Object.values(services).flatMap((service) => Object.keys(service.depends_on ?? {}));
  expect(needed.filter((name) => !(name in services))).toEqual([]);
  const ports = Object.values(services).flatMap((service) => service.ports ?? []);
  expect(new Set(ports).size).toBe(ports.length);
});

test('The image starts signalbox under an init, and has the directory for backups that the guide names.', () => {
  const image = readFileSync(`${deploy}Dockerfile`, 'utf8');
  expect(image).toMatch(/^ENTRYPOINT \["tini", "-s", "--", "signalbox"\]$/m);
  expect(image).toMatch(/apt-get install .*\btini\b/);
  expect(image).toMatch(/install -d -o node .* \/var\/lib\/signalbox-backups$/m);
  expect(readFileSync(`${deploy}compose.yaml`, 'utf8')).toContain(':/var/lib/signalbox-backups');
});

test('The example configuration of the container is right.', async () => {
  expect(await signalbox(['config', 'check', `${deploy}signalbox.yaml`, '--insecure'])).toMatchObject({
    code: 0,
  });
});

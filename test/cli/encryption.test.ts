import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestBroker, tempDir, testAuthority } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('A command reaches an encrypted broker with the file of its authority, and says without it what to do.', async () => {
  const { ca, issue } = await testAuthority();
  await using broker = await startTestBroker({ tls: await issue({ names: ['localhost'] }) });
  await using directory = await tempDir();
  const caFile = join(directory.path, 'ca.pem');
  await writeFile(caFile, ca);
  const tokenFile = join(directory.path, 'rosa.token');
  await writeFile(tokenFile, `${await broker.token('rosa')}\n${broker.url}\n`);
  await chmod(tokenFile, 0o600);
  const agents = (...args: string[]) => signalbox(['agents', '--token-file', tokenFile, '--json', ...args]);
  const [trusted, strange] = [await agents('--ca-file', caFile), await agents()];
  expect(jsonOf(trusted)).toMatchObject({ agents: [] });
  expect(strange.code).toBe(2);
  expect(strange.stderr + strange.stdout).toMatch(/--ca-file[\s\S]*untrusted_certificate/);
});

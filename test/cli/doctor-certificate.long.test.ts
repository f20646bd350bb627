import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type TestAuthority, tempDir, testAuthority } from '@signalbox/testing';
import { beforeAll, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

const hour = 3_600_000;
let authority: TestAuthority;

beforeAll(async () => {
  authority = await testAuthority();
});

/**
 * The parts of a set-up: the life of its certificate, the certificates before it or a pipe in place of its file, its key and the mode of
 * that file.
 */
interface Given {
  begins?: number;
  ends?: number;
  key?: string;
  keyMode?: number;
  /** Certificates before its own. */
  above?: string;
  /** True: the certificate is a pipe to which nobody writes. */
  isPipe?: boolean;
}

const cases: [string, () => Promise<Given>, { status: string; text: string; fix?: string }][] = [
  ['is good', async () => ({}), { status: 'ok', text: 'the certificate of CN=127.0.0.1 is good until 20' }],
  [
    'ends soon',
    async () => ({ ends: Date.now() + 200 * hour }),
    { status: 'warning', text: 'only', fix: 'renew it' },
  ],
  [
    'has ended',
    async () => ({ ends: Date.now() - 1 }),
    { status: 'failed', text: 'expired on 20', fix: 'renew' },
  ],
  [
    'has the key of another one',
    async () => ({ key: (await authority.issue({ names: ['other'] })).key }),
    {
      status: 'failed',
      text: 'the key does not belong to the certificate of CN=127.0.0.1',
      fix: 'broker.tls',
    },
  ],
  [
    'comes after that of its authority',
    async () => ({ above: authority.ca }),
    { status: 'failed', text: 'the key belongs to a later certificate of the file', fix: 'broker.tls' },
  ],
  [
    'is a pipe',
    async () => ({ isPipe: true }),
    { status: 'failed', text: 'broker.pem is no regular file', fix: 'broker.tls' },
  ],
  [
    'has a key that others may read',
    async () => ({ keyMode: 0o644 }),
    { status: 'failed', text: 'is not private', fix: 'chmod 600' },
  ],
];

test.concurrent.for(cases)('doctor judges a certificate that %s.', async ([, make, wanted], { expect }) => {
  await using directory = await tempDir();
  const at = (name: string): string => join(directory.path, name);
  const { key, keyMode = 0o600, above = '', isPipe = false, ...life } = await make();
  const pair = { ...(await authority.issue({ names: ['127.0.0.1'], ...life })), ...(key && { key }) };
  const tls = '{ cert: broker.pem, key: broker.key }';
  await writeFile(at('signalbox.yaml'), `broker: { data: ./state, listen: "127.0.0.1:0", tls: ${tls} }\n`);
  if (isPipe) await promisify(execFile)('mkfifo', [at('broker.pem')]);
  else await writeFile(at('broker.pem'), `${above}\n${pair.cert}`);
  await writeFile(at('broker.key'), pair.key);
  await chmod(at('broker.key'), keyMode);
  const env = { HOME: directory.path, PATH: '' };
  const run = await signalbox(['doctor', '--json'], { cwd: directory.path, env });
  const { checks } = jsonOf(run) as {
    checks: { check: string; status: string; text: string; fix?: string }[];
  };
  const { status, text, fix } = wanted;
  expect(checks.filter(({ check }) => check === 'tls')).toEqual([
    {
      check: 'tls',
      status,
      text: expect.stringContaining(text),
      ...(fix !== undefined && { fix: expect.stringContaining(fix) }),
    },
  ]);
  expect(run.code).toBe(status === 'failed' ? 1 : 0);
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox, startDaemon } from '../support/cli/command-line.ts';

test('broker says its url, its data directory and where the operator token is, and ends at SIGTERM with 0.', async () => {
  await using directory = await tempDir();
  const data = join(directory.path, 'state');
  await using broker = await startDaemon(['broker', '--listen', '127.0.0.1:0', '--data', data]);
  expect(broker.ready).toEqual({
    url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+$/),
    socket: `unix:${join(data, 'broker.sock')}`,
    data,
    operator_token_file: join(data, 'operator.token'),
  });
  expect(await readFile(join(data, 'operator.token'), 'utf8')).toMatch(/^sbx_operator~/);
  expect(await broker.stop('SIGTERM')).toBe(0);
});

test('Without --data the state directory of the user is taken.', async () => {
  await using directory = await tempDir();
  const env = { XDG_STATE_HOME: directory.path };
  await using broker = await startDaemon(['broker', '--listen', '127.0.0.1:0'], { env, cwd: directory.path });
  expect(broker.ready).toMatchObject({ data: join(directory.path, 'signalbox') });
});

test('An address that other machines reach is refused without --insecure, and warned of with it.', async () => {
  await using directory = await tempDir();
  const args = ['broker', '--listen', '0.0.0.0:0', '--data', directory.path];
  const refused = await signalbox([...args, '--json']);
  expect(refused.code).toBe(2);
  expect(jsonOf(refused)).toMatchObject({ error: { code: 'insecure_listen' } });
  await using broker = await startDaemon([...args, '--insecure']);
  expect(broker.stderr()).toContain('without encryption');
});

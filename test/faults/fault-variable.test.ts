import { readFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import { faultPoints } from '@signalbox/serving';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startDaemon } from '../support/cli/command-line.ts';

interface Ready {
  url: string;
  operator_token_file: string;
}

test('SIGNALBOX_FAULT kills the real command at its point: a message that was committed but not receipted is there after the restart.', async () => {
  await using directory = await tempDir();
  const listen = (url = 'ws://127.0.0.1:0') => [
    'broker',
    '--data',
    `${directory.path}/data`,
    '--listen',
    new URL(url).host,
  ];
  const options = (fault: string) => ({ cwd: directory.path, env: { SIGNALBOX_FAULT: fault } });
  await using doomed = await startDaemon(listen(), options('broker.deliver.after_commit'));
  const { url, operator_token_file: operatorTokenFile } = doomed.ready as Ready;
  const token = (await readFile(operatorTokenFile, 'utf8')).trim();
  await using client = await connectBroker({ url, token, agent: 'operator' });
  const delivered = client.deliver({ to: 'operator', kind: 'note', body: 'kept' });
  await new Promise<void>((resolve) => client.onState(({ name }) => name === 'reconnecting' && resolve()));
  await using _restarted = await startDaemon(listen(url), options(''));
  expect(await delivered).toMatchObject({ duplicate: true });
  expect((await client.peek()).map(({ body }) => body)).toEqual(['"kept"']);
});

test('The guide to reliability explains every fault point.', async () => {
  const guide = await readFile(new URL('../../docs/guide/reliability.md', import.meta.url), 'utf8');
  for (const point of faultPoints) expect(guide).toContain(`| \`${point}\``);
});

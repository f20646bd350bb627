import { readFile } from 'node:fs/promises';
import { connectBroker } from '@signalbox/client';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox, startDaemon } from '../support/cli/command-line.ts';

test('A fault that is no point is refused at the start of each process, with the points that there are.', async () => {
  await using directory = await tempDir();
  const commands = [
    ['broker', '--data', 'data', '--listen', '127.0.0.1:0'],
    ['orchestrator'],
    ['worker', 'mcp'],
  ];
  const runs = await Promise.all(
    commands.map((args) => signalbox(args, { cwd: directory.path, env: { SIGNALBOX_FAULT: 'broker.push' } })),
  );
  for (const { code, stderr } of runs) {
    expect(code).toBe(2);
    expect(stderr).toContain(
      "SIGNALBOX_FAULT: 'broker.push' is no fault point; the points are broker.deliver.before_commit",
    );
  }
});

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

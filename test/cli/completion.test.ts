import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { completingShell, completions } from '../support/cli/completion.ts';

test('bash shows commands, options, choices, files and folders, each in its place.', async () => {
  await using bash = await completingShell('bash');
  const paths = [
    ['signalbox up --config my', ['my config.yaml', 'my folder']],
    ['signalbox up --data my', ['my folder']],
    ['signalbox config check my', ['my config.yaml', 'my folder']],
  ] as const;
  for (const [typed, shown] of [...completions, ...paths]) {
    expect({ typed, shown: await bash.shown(typed.split(' ')) }).toEqual({ typed, shown });
  }
});

test('Without a broker, and with one that never answers, there are no names, and no word about it.', async () => {
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (const url of [`ws://127.0.0.1:${port}`, 'ws://127.0.0.1:1']) {
    const env = { SIGNALBOX_TOKEN: `sbx_rosa_${'x'.repeat(40)}` };
    const run = await signalbox(['complete-names', 'agent', 'send', '--url', url], { env });
    expect(run).toEqual({ code: 0, stdout: '', stderr: '' });
  }
});

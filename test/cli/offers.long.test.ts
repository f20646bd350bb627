import { ResultStore } from '@signalbox/orchestrator';
import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';

test('A shell is shown a preview of a large result, and reads the whole of it.', async () => {
  await using directory = await tempDir();
  await using results = await ResultStore.open({ directory: `${directory.path}/results` });
  await using stack = await startToolStack({ results, resultRules: { reader: { maxInlineBytes: 8192 } } });
  const { broker } = stack;
  const env = { SIGNALBOX_TOKEN: await broker.tokenOf('rosa', 'reader') };
  const rosa = (...args: string[]) => signalbox([...args, '--url', broker.url, '--agent', 'rosa'], { env });
  const called = await rosa('tools', 'call', 'mcp_counter__big', '{"bytes":300000}');
  expect(called).toMatchObject({ code: 0, stdout: expect.stringContaining('is too large to be shown here') });
  const command = /signalbox (resources read (signalbox:\/\/\S+))/.exec(called.stderr)!;
  const read = await rosa(...command[1]!.split(' '));
  expect(read).toMatchObject({ code: 0, stdout: `${'x'.repeat(300_000)}\n[structuredContent]\n{}\n` });
});

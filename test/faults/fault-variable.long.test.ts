import { tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { signalbox } from '../support/cli/command-line.ts';

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

import { expect, test, vi } from 'vitest';
import { command } from '../agents/agent-sessions.ts';
import { gateOperations } from './gate-operations.ts';
import { openStack } from './stack.ts';

test('A stack of the gate carries out each operation through signalbox up, and gives no figure when one of its processes has ended.', async () => {
  await using stack = await openStack(command);
  for (const operation of gateOperations) {
    expect(await stack.run(operation, 64), operation).toBeGreaterThan(0);
  }
  await stack.tidy();
  const last = stack.pids.at(-1)!;
  process.kill(last, 'SIGKILL');
  // Until its parent has noted its end.
  await vi.waitFor(() => expect(() => process.kill(last, 0)).toThrow('ESRCH'));
  await expect(stack.run('enqueue', 64)).rejects.toThrow('a process of the stack has ended');
});

import { expect, it, vi } from 'vitest';
import { caller, note } from '../support/mcp-host/sharing.ts';
import { call, startTestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

it('keeps a process per role, and no more processes than allowed: the one idle longest makes room', async () => {
  const servers = { r: { ...misbehavingServer(), share: 'role' as const } };
  let now = 0;
  await using host = startTestHost({ servers, maxProcesses: 2, now: () => ++now });
  expect((await host.inventory()).problems).toHaveLength(1);
  const one = await note(host, 'r', '1', 'rosa', 'one');
  expect(await note(host, 'r', '2', 'leo', 'one')).toEqual({ pid: one.pid, notes: ['1', '2'] });
  const two = await note(host, 'r', '1', 'kim', 'two');
  expect(two).toEqual({ pid: expect.any(Number), notes: ['1'] });
  await note(host, 'r', '3', 'rosa', 'one');

  const three = await note(host, 'r', '1', 'ada', 'three');
  expect(host.events.at(-2)).toMatchObject({ instance: 'role:two', reason: 'slot_needed' });
  expect([one.pid, two.pid, three.pid].map(isRunning)).toEqual([true, false, true]);

  const abort = new AbortController();
  const hang = (role: string) =>
    call(host, 'mcp_r__hang', {}, { signal: abort.signal, ...caller('x', role) });
  const hanging = [hang('one'), hang('three')];
  await vi.waitFor(() => expect(host.servers()[0]).toMatchObject({ inFlight: 2, instances: 2 }));
  expect(await call(host, 'mcp_r__note', {}, caller('kim', 'two'))).toMatchObject({
    error: { code: 'quota_exceeded', retryable: true, may_have_run: false },
  });
  abort.abort();
  await Promise.all(hanging);
  expect(await note(host, 'r', 'anew', 'kim', 'two')).toMatchObject({ notes: ['anew'] });
});

it('lists the tools of more servers than may run at a time, one after the other', async () => {
  await using host = startTestHost({
    servers: {
      a: misbehavingServer(),
      b: misbehavingServer(),
      c: { ...misbehavingServer(), share: 'worker' },
    },
    maxProcesses: 1,
  });
  const { tools, problems } = await host.inventory();
  expect(tools).toHaveLength(24);
  expect(problems.map(({ tool }) => tool)).toEqual(['bad', 'bad', 'bad']);
  expect(host.servers().flatMap(({ pids }) => pids).length).toBeLessThanOrEqual(1);
  const { pid } = await note(host, 'a', 'x', 'rosa');
  expect(host.servers().flatMap(({ pids }) => pids)).toEqual([pid]);
});

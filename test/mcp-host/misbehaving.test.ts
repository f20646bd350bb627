import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { call, jsonResult, startTestHost, type TestHost } from '../support/mcp-host/test-host.ts';
import { misbehavingServer } from '../support/mcp-host/test-servers.ts';
import { isRunning } from '../support/processes.ts';

let host: TestHost;

beforeAll(async () => {
  host = startTestHost({
    servers: {
      a: misbehavingServer(),
      b: misbehavingServer(),
      liar: misbehavingServer('--lies'),
      // Long enough for an honest call on a busy machine.
      slow: { ...misbehavingServer(), timeoutMs: 1500 },
    },
    tuning: { inputEndMs: 50, terminateMs: 50 },
  });
  await host.inventory();
});

afterAll(async () => {
  await host.close();
});

const statusOf = (name: string) => host.servers().find((server) => server.name === name)!;
const noteIn = async (server: string, text: string) =>
  jsonResult(await call(host, `mcp_${server}__note`, { text }));

it('shows what is right about a list that holds a bad tool, and says what is wrong', async () => {
  const { tools, problems } = await host.inventory();
  expect(tools.filter(({ name }) => name.startsWith('mcp_a__'))).toHaveLength(8);
  expect(problems.filter(({ server }) => server === 'a')).toEqual([
    { server: 'a', tool: 'bad', message: expect.stringContaining('inputSchema') },
  ]);
});

it('a crash on the third call of one server leaves another with its process, its state and its running calls', async () => {
  const before = await noteIn('b', 'kept');
  const waiting = call(host, 'mcp_b__late');
  await vi.waitFor(() => expect(statusOf('b').inFlight).toBe(1));
  const crash = () => call(host, 'mcp_a__crash_on', { n: 3 });
  expect([jsonResult(await crash()), jsonResult(await crash())]).toEqual([{ calls: 1 }, { calls: 2 }]);
  expect(await crash()).toMatchObject({ error: { code: 'outcome_unknown', may_have_run: true } });
  expect(await noteIn('b', 'too')).toEqual({ pid: before.pid, notes: ['kept', 'too'] });
  expect(await waiting).toMatchObject({ result: { content: [{ text: 'late' }] } });
  expect(await noteIn('a', 'new')).toMatchObject({ notes: ['new'] });
  expect(statusOf('b')).toMatchObject({ restarts: 0, state: 'ready' });
});

it('a call that hangs ends at its limit, and the process that hangs in it serves the others', async () => {
  const hanging = call(host, 'mcp_slow__hang');
  const before = await noteIn('slow', 'meanwhile');
  expect(await hanging).toMatchObject({ error: { code: 'outcome_unknown', may_have_run: true } });
  expect(await noteIn('slow', 'after')).toEqual({ pid: before.pid, notes: ['meanwhile', 'after'] });
});

it('an answer that comes after its caller left reaches nobody, and the next answers are the right ones', async () => {
  expect(await call(host, 'mcp_slow__late')).toMatchObject({ error: { code: 'outcome_unknown' } });
  const answers = await Promise.all([noteIn('slow', 'x'), noteIn('slow', 'y')]);
  expect(answers.map(({ notes }) => (notes as string[]).at(-1))).toEqual(['x', 'y']);
});

it('a flood on standard error is drained, and its end is kept', async () => {
  expect(await call(host, 'mcp_b__flood')).toMatchObject({ result: { content: [{ text: 'flooded' }] } });
  await expect.poll(() => host.stderrTail('b').length).toBe(64 * 1024);
});

it('a server that ends takes the grandchildren with it that hold its pipes', async () => {
  const { pid, child } = jsonResult(await call(host, 'mcp_a__abandon'));
  await vi.waitFor(() => expect([Number(pid), Number(child)].map(isRunning)).toEqual([false, false]));
  expect((await noteIn('a', 'again')).pid).not.toBe(pid);
});

it('a result of 20 MB comes whole; one past the limit of a line ends the process, not the host', async () => {
  const bytes = 20 * 1024 * 1024;
  const outcome = await call(host, 'mcp_b__huge', { bytes });
  expect('result' in outcome && (outcome.result.content as { text: string }[])[0]!.text.length).toBe(bytes);
  expect(await call(host, 'mcp_b__huge', { bytes: 33 * 1024 * 1024 })).toMatchObject({
    error: { code: 'outcome_unknown', message: expect.stringContaining('a line of more than') },
  });
  expect(await noteIn('b', 'back')).toMatchObject({ notes: ['back'] });
});

it('a server that announces a change with every list is read ever more rarely, and changes nothing', async () => {
  const versions: string[] = [];
  const stop = host.onInventoryChanged(({ version }) => versions.push(version));
  const lists = async () => Number(jsonResult(await call(host, 'mcp_liar__lists')).lists);
  await expect.poll(lists).toBeGreaterThan(2);
  // By now it would have been thousands, one as soon as the other has come.
  expect(await lists()).toBeLessThan(100);
  stop();
  expect(versions).toEqual([]);
});

it('a server that writes megabytes to standard error goes on answering', async () => {
  const first = await call(host, 'mcp_b__flood');
  expect(first).toMatchObject({ result: { content: [{ type: 'text' }] } });
  expect(await call(host, 'mcp_b__flood')).toEqual(first);
});

it('a server that exits is replaced at once, although a grandchild still holds its pipes open', async () => {
  const before = await noteIn('a', 'before');
  expect(await call(host, 'mcp_a__abandon', { text: 'unanswered' })).toMatchObject({
    error: { code: 'outcome_unknown' },
  });
  const after = await noteIn('a', 'after');
  expect(after).toMatchObject({ pid: expect.any(Number) });
  expect(after.pid).not.toBe(before.pid);
});

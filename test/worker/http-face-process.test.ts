import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { startChild } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { cleanEnv, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { runsAll } from '../support/runs-all.ts';
import {
  connectHttpFace,
  initialize,
  modernCall,
  openRequest,
  rawRequest,
  validHeaders,
} from '../support/worker/http-face.ts';

/** `signalbox worker mcp --http` as a process of its own. */
async function startFaceProcess(brokerUrl: string, ...flags: string[]) {
  return await startFaceAt(0, brokerUrl, ...flags);
}

async function startFaceAt(port: number, brokerUrl: string, ...flags: string[]) {
  const args = ['worker', 'mcp', '--http', `127.0.0.1:${port}`, '--url', brokerUrl, '--json', ...flags];
  const child = spawn(process.execPath, signalboxArgv(args), {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const ready = await new Promise<{ url: string; port: number }>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
      const line = stderr.split('\n', 1)[0]!;
      if (stderr.includes('\n')) resolve(JSON.parse(line) as { url: string; port: number });
    });
    void ended.then(() => reject(new Error(stderr)));
  });
  return {
    ...ready,
    pid: child.pid!,
    ended,
    stdout: () => stdout,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    rssMiB: () => Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)])) / 1024),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('32 agents make many calls each through one face, and each answer is the right one', async () => {
  await using stack = await startToolStack();
  await using face = await startFaceProcess(stack.broker.url);
  const idleMiB = face.rssMiB();
  const names = Array.from({ length: 32 }, (_, n) => `agent-${n}`);
  const tokens = await Promise.all(names.map((name) => stack.broker.token(name)));
  const calls = runsAll ? 20 : 6;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const startedAt = performance.now();
  const wrong: unknown[] = [];
  await Promise.all(
    names.flatMap((name, n) =>
      [0, 1].map(async (lane) => {
        for (let i = lane; i < calls; i += 2) {
          const said = { from: name, i, text: `${name}:${i}:${'x'.repeat(i)}` };
          const { status, text } = await rawRequest(face.port, {
            ...modernCall(tokens[n]!, 'mcp_counter__echo', said, `${name}/${i}`),
            agent,
          });
          const { id, result } = JSON.parse(text) as { id: string; result?: { structuredContent: unknown } };
          const isRight =
            status === 200 &&
            id === `${name}/${i}` &&
            JSON.stringify(result?.structuredContent) === JSON.stringify(said);
          if (!isRight) wrong.push({ said, status, text });
        }
      }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  process.stdout.write(
    `HTTP face: ${32 * calls} calls of 32 agents in ${seconds.toFixed(1)} s (${Math.round((32 * calls) / seconds)}/s), RSS ${idleMiB} MiB idle, ${face.rssMiB()} MiB after\n`,
  );
  expect(wrong).toEqual([]);
  expect(stack.ran('echo').filter(({ at }) => at === 'end')).toHaveLength(32 * calls);
});

if (runsAll)
  test('an agent that posts 4 MiB bodies over 16 connections is refused, and another one is served meanwhile', async () => {
    await using stack = await startToolStack();
    await using face = await startFaceProcess(stack.broker.url);
    const [greedy, honest] = await Promise.all([stack.broker.token('greedy'), stack.broker.token('honest')]);
    const idleMiB = face.rssMiB();
    let statuses: Record<string, number> = {};
    const poster = new URL('../support/worker/greedy-poster-main.ts', import.meta.url);
    await using _greedy = await startChild(poster, {
      args: [String(face.port), greedy],
      onMessage: (message) => {
        statuses = message as typeof statuses;
      },
    });
    // No more than four of these bodies fit into the room of one agent, so it may take many posts until each kind was answered.
    const isEachKindAnswered = () => [200, 400, 429].every((status) => statuses[status]);
    const refusals = () => (statuses[400] ?? 0) + (statuses[429] ?? 0);
    const times: number[] = [];
    let most = idleMiB;
    while (times.length < 5 || refusals() < 12 || !isEachKindAnswered()) {
      const startedAt = performance.now();
      const answer = await rawRequest(
        face.port,
        modernCall(honest, 'mcp_counter__echo', { n: times.length }),
      );
      times.push(performance.now() - startedAt);
      expect(answer).toMatchObject({ status: 200, text: expect.stringContaining(`"n":${times.length - 1}`) });
      most = Math.max(most, face.rssMiB());
    }
    times.sort((a, b) => a - b);
    process.stdout.write(
      `HTTP face under 4 MiB posts: ${JSON.stringify(statuses)}, an honest call took ${times[times.length >> 1]!.toFixed(0)} ms (p50), ${times.at(-1)!.toFixed(0)} ms (worst of ${times.length}), RSS ${idleMiB} MiB idle, ${most} MiB at most\n`,
    );
    expect(most).toBeLessThan(1024);
  });

test('callers whose face is killed in mid-call fail at once, in both eras, and go on with the next face', async () => {
  await using stack = await startToolStack({ drainMs: 0 });
  await using face = await startFaceProcess(stack.broker.url);
  const token = await stack.broker.token('wim');
  await using then = await connectHttpFace(face.url, token, 'legacy');
  await using now = await connectHttpFace(face.url, token, 'modern');
  const calls = [then, now].map(({ call }) =>
    call('mcp_counter__slow', { ms: 60_000 }).then(
      () => 'answered',
      (thrown: Error) => thrown,
    ),
  );
  await expect.poll(() => stack.ran('slow').length).toBe(2);
  face.kill('SIGKILL');
  // The broken connection ends them, not their own timeout.
  for (const call of calls) expect(await call).toMatchObject({ message: 'fetch failed' });
  await using _next = await startFaceAt(face.port, stack.broker.url);
  const session = then.transport.sessionId;
  for (const { call } of [then, now])
    expect(await call('mcp_counter__echo', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
  expect(then.transport.sessionId).toBe(session);
});

test('the command says where it listens, answers what runs when it is asked to end, and exits with 0', async () => {
  await using stack = await startToolStack();
  await using face = await startFaceProcess(stack.broker.url, '--allow-host', 'gateway.example');
  expect(face.url).toBe(`http://127.0.0.1:${face.port}/mcp`);
  const token = await stack.broker.token('wim');
  const headers = validHeaders(token, { host: 'gateway.example' });
  const opened = await rawRequest(face.port, { headers, body: initialize });
  const session = { ...headers, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  await using stream = openRequest(face.port, { method: 'GET', headers: session });
  const call = rawRequest(face.port, modernCall(token, 'mcp_counter__slow', { ms: 60_000 }));
  await expect.poll(() => stack.ran('slow').length).toBe(1);
  face.kill('SIGTERM');
  expect((await call).text).toContain('"code":"cancelled"');
  await stream.ended;
  expect(await face.ended).toEqual([0, null]);
  expect(face.stdout()).toBe('');
  await expect.poll(() => stack.ran('slow').map(({ at }) => at)).toEqual(['start', 'cancelled']);
});

test('a wrong command line for a face over HTTP is refused with the reason', async () => {
  const refused = await Promise.all([
    signalbox(['worker', 'mcp', '--http', 'nowhere']),
    signalbox(['worker', 'mcp', '--http', '0.0.0.0:0']),
    signalbox(['worker', 'mcp', '--http', '127.0.0.1:0', '--token-file', 'x.token']),
    signalbox(['worker', 'mcp', '--allow-host', 'box']),
  ]);
  expect(refused.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual([
    expect.stringContaining("2 signalbox: --http 'nowhere' is not HOST:PORT"),
    expect.stringContaining("2 signalbox: listening on '0.0.0.0' would send tokens and calls unencrypted"),
    expect.stringContaining('2 signalbox: --token-file means nothing with --http'),
    expect.stringContaining("2 signalbox: option '--allow-host' goes with --http only"),
  ]);
});

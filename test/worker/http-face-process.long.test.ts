import { Agent } from 'node:http';
import { startChild } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { startToolStack } from '../support/orchestrator/tool-stack.ts';
import { modernCall, rawRequest } from '../support/worker/http-face.ts';
import { startFaceProcess } from '../support/worker/http-face-process.ts';

test('32 agents make many calls each through one face, and each answer is the right one', async () => {
  await using stack = await startToolStack();
  await using face = await startFaceProcess(stack.broker.url);
  const idleMiB = face.rssMiB();
  const names = Array.from({ length: 32 }, (_, n) => `agent-${n}`);
  const tokens = await Promise.all(names.map((name) => stack.broker.token(name)));
  const calls = 20;
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
    const answer = await rawRequest(face.port, modernCall(honest, 'mcp_counter__echo', { n: times.length }));
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

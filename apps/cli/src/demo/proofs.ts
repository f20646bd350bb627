import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoPoint } from './demo-points.ts';
import type { DemoProcesses } from './demo-processes.ts';

/** Proves one point and returns what was seen. Rejects with what was seen instead if the point does not hold. */
export type Proof = (processes: DemoProcesses, broken: boolean) => Promise<string[]>;

/** The proof of each point. With `broken` it is sabotaged and must reject. */
export const proofs: Record<DemoPoint, Proof> = { manifest, refusal, overlap, ask, recovery, serve };

const longTool = 'mcp_everything__trigger-long-running-operation';

async function manifest({ researcher, writer, secondHost }: DemoProcesses): Promise<string[]> {
  const [rosa, walt] = await Promise.all([researcher.tools(), writer.tools()]);
  expect(rosa.includes('mcp_everything__echo'), 'rosa sees mcp_everything__echo');
  expect(rosa.includes('mcp_files__read_text_file'), 'rosa sees mcp_files__read_text_file');
  expect(!rosa.includes('mcp_files__write_file'), "rosa doesn't see mcp_files__write_file");
  expect(walt.includes('mcp_files__write_file'), 'walt sees mcp_files__write_file');
  expect(!walt.includes('mcp_everything__echo'), "walt doesn't see mcp_everything__echo");
  return [
    `rosa (researcher) sees ${rosa.length} tools and no write_file; walt (writer) sees ${walt.length} and no echo`,
    secondHost
      ? `both are served by the same two MCP server processes, of which one runs on a second host (orchestrator ${secondHost.pid})`
      : 'both are served by the same two MCP server processes',
  ];
}

async function refusal({ researcher, writer, folder }: DemoProcesses, broken: boolean): Promise<string[]> {
  const forbidden = join(folder, 'by-rosa.txt');
  const allowed = join(folder, 'by-walt.txt');
  const agent = broken ? writer : researcher;
  const refused = await agent.callPastWorker('mcp_files__write_file', { path: forbidden, content: 'no' });
  expect(refused.isError && !existsSync(forbidden), "rosa's write_file is refused and writes nothing");
  const written = await writer.call('mcp_files__write_file', { path: allowed, content: 'yes' });
  expect(!written.isError && existsSync(allowed), "walt's write_file writes");
  return [
    `rosa called write_file all the same, past her worker: refused («${refused.text}»), and nothing was written`,
    'walt called it too, and his file was written',
  ];
}

async function overlap({ researcher, writer }: DemoProcesses): Promise<string[]> {
  const seconds = Array.from({ length: 8 }, (_, i) => 0.5 + i / 100);
  const calls = seconds.map((duration) => ({ name: longTool, arguments: { duration, steps: 1 } }));
  const started = performance.now();
  const results = await Promise.all([researcher.calls(calls), writer.calls(calls)]);
  const took = (performance.now() - started) / 1000;
  const answers = results.flat().map((result) => result.text);
  const right = answers.filter((text, i) => text.includes(`Duration: ${seconds[i % 8]} seconds`)).length;
  expect(right === 16, `16 right answers (${right} were)`);
  const oneByOne = 2 * seconds.reduce((sum, duration) => sum + duration, 0);
  expect(
    took < oneByOne / 2,
    `16 calls overlap (they took ${took.toFixed(1)} s; one by one ${oneByOne.toFixed(1)} s)`,
  );
  return [
    `16 calls of a tool that takes half a second, 8 from each agent: 16 right answers in ${took.toFixed(1)} s`,
  ];
}

async function ask({ researcher, writer }: DemoProcesses, broken: boolean): Promise<string[]> {
  if (!broken) await writer.answerAsks('in by-walt.txt');
  const reply = await researcher.ask('walt', 'where did you write it?', broken ? 2000 : 10_000);
  expect(reply.from === 'walt' && reply.text.startsWith('in by-walt.txt'), 'the answer is from walt');
  return [`rosa asked walt «where did you write it?»; ${reply.from} answered «${reply.text}»`];
}

async function recovery(processes: DemoProcesses, broken: boolean): Promise<string[]> {
  const { brokers, researcher, orchestrator } = processes;
  const [killed, other] = brokers;
  let running = (): void => {};
  const inFlight = new Promise<void>((resolve) => {
    running = resolve;
  });
  const call = researcher.call(longTool, { duration: 2, steps: 4 }, () => running());
  await Promise.race([
    inFlight,
    call.then(() => Promise.reject(new Error('the call ended before the kill'))),
  ]);
  await processes.killBroker(broken ? 'all' : 'first');
  if (!broken && !other) await processes.restartBroker();
  const back = performance.now();
  const result = await within(10_000, call, 'the call in flight ends');
  const waited = ((performance.now() - back) / 1000).toFixed(1);
  expect(
    !result.isError && result.text.includes('completed'),
    `the call in flight completes («${firstLine(result.text)}»)`,
  );
  const next = await researcher.call('mcp_everything__echo', { message: 'still here' });
  expect(next.text.includes('still here'), 'the next call works');
  expect(orchestrator.running, 'the orchestrator never ended');
  if (!other)
    return [
      `the broker (pid ${killed!.pid}) was killed with kill -9 while a call ran; the call completed ${waited} s after the new one was ready`,
      'agents, workers and orchestrator kept running, and the next call worked',
    ];
  expect(other.running, 'the other broker never ended');
  await processes.restartBroker();
  return [
    `the orchestrator's broker (pid ${killed!.pid}) was killed with kill -9 while a call ran; the call completed ${waited} s later, through the other broker`,
    'agents, workers and orchestrator kept running, and the next call worked before that broker was started again',
  ];
}

async function serve({ serveResearcher, asOperator }: DemoProcesses, broken: boolean): Promise<string[]> {
  await serveResearcher({ fails: broken });
  const question = 'what is the plan?';
  const asked = asOperator(['ask', 'rosa', question, '--timeout', broken ? '3s' : '15s']);
  const { reply } = await asked.catch(() => ({ reply: undefined }));
  const isRight = reply === `I was started for this: ${question}`;
  expect(isRight, `rosa's program answers «signalbox ask rosa» (${reply ?? 'nobody'} did)`);
  return [
    `rosa had ended; signalbox worker serve started her program for one turn when «signalbox ask rosa» arrived`,
    `her program printed «${reply}», and that was the reply`,
  ];
}

function expect(held: boolean, what: string): void {
  if (!held) throw new Error(`expected: ${what}`);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!;
}

async function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`expected: ${what} within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ProtocolError } from '@modelcontextprotocol/server';
import { ask, elicit } from './asking-tools.ts';
import { text } from './fixture-content.ts';
import { type FixtureCall, type FixtureTool, fixtureTool } from './fixture-tool.ts';

/** The time that a tool takes which the suite wants to become a task: a face makes one of a call after 5 s. */
const slowMs = 5_500;
const longestMs = 8_000;

const readOnly = { annotations: { readOnlyHint: true } };
const confirm = { confirm: { type: 'boolean' } };

/** Waits for a time, or until the file `until` is there. */
async function work({ args: { until }, context }: FixtureCall, ms: number): Promise<void> {
  const { signal } = context.mcpReq;
  if (typeof until !== 'string') await delay(ms, undefined, { signal });
  else while (!existsSync(until)) await delay(5, undefined, { signal });
}

/** Works, and then asks for the input that no earlier round gave it. */
function asksLater(name: string, questions: readonly string[]): FixtureTool {
  return fixtureTool(name, `Works, and asks for ${questions.join(' and ')}.`, async (call) => {
    const { inputResponses: given = {} } = call.context.mcpReq;
    const open = questions.filter((key) => given[key] === undefined);
    if (open.length === 0) return { content: [text(JSON.stringify(given))] };
    if (open.length === questions.length) await work(call, slowMs);
    return ask(Object.fromEntries(open.map((key) => [key, elicit(`What about ${key}?`, confirm)])));
  });
}

/** Plain tools that take their time, under the names by which the suite makes tasks. The face makes tasks of their calls. */
export const slowTools: readonly FixtureTool[] = [
  fixtureTool(
    'greet',
    'Greets at once.',
    ({ args }) => ({ content: [text(`Hello, ${args.name}!`)] }),
    readOnly,
  ),
  fixtureTool('slow_compute', 'Computes for some seconds, or until a file is there.', async (call) => {
    // The suite wants a minute where it calls the task off.
    await work(call, Math.min(Math.max(Number(call.args.seconds) * 1000, slowMs), longestMs));
    return { content: [text(`computed ${call.args.label}`)] };
  }),
  fixtureTool('failing_job', 'Works, and fails as tools do.', async (call) => {
    await work(call, slowMs);
    return { content: [text('the job failed')], isError: true };
  }),
  fixtureTool('protocol_error_job', 'Works, and fails as protocols do.', async (call) => {
    await work(call, slowMs);
    throw new ProtocolError(-32603, 'the job panicked', { at: 'work' });
  }),
  fixtureTool('test_tool_with_task', 'Asks for a name at once, and then works.', async (call) => {
    const { user_name: given } = call.context.mcpReq.inputResponses ?? {};
    const name = { name: { type: 'string' } };
    if (given === undefined) return ask({ user_name: elicit('What is your name?', name) });
    await work(call, slowMs);
    return { content: [text(JSON.stringify(given))] };
  }),
  asksLater('confirm_delete', ['confirmation']),
  asksLater('multi_input', ['first', 'second']),
];

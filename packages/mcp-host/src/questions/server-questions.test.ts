import { isRunningCallState } from '@signalbox/protocol';
import { expect, test, vi } from 'vitest';
import type { ServerAnswer, ToolRequest } from '../server-connection.ts';
import { type AskedOfServer, ServerQuestions, type ServerQuestionsDeps } from './server-questions.ts';
import { WaitingCalls } from './waiting-calls.ts';

const elicitation = { clientCapabilities: { elicitation: {}, sampling: {} } };
const accepted = { action: 'accept', content: { name: 'Ada' } };

/** The questions of one session, with a clock that the test moves. */
function session(more: Partial<ServerQuestionsDeps> = {}) {
  const { waiting = new WaitingCalls() } = more;
  const clock = { now: 0 };
  const refused: string[] = [];
  const counts = { asked: 0 };
  const questions = new ServerQuestions({
    server: 'books',
    declared: { elicitation: { form: {} }, sampling: {} },
    isShared: true,
    now: () => clock.now,
    onAsked: () => void counts.asked++,
    onRefused: (_method, why) => refused.push(why),
    ...more,
    waiting,
  });
  const ask = (params: Record<string, unknown> = {}, signal = new AbortController().signal) =>
    questions.answer({ method: 'elicitation/create', params: { message: 'Who?', ...params } }, signal);
  return { questions, waiting, clock, refused, counts, ask };
}

const asRequest = (agent: string, more: Partial<ToolRequest> = {}): ToolRequest => ({
  signal: new AbortController().signal,
  timeoutMs: 60_000,
  agent,
  round: elicitation,
  ...more,
});
const lend: AskedOfServer = { name: 'lend', args: { id: 1 } };

/** A call that ends when the test says so. */
function begin(questions: ServerQuestions, request: ToolRequest, asked = lend) {
  const { promise, resolve: end } = Promise.withResolvers<ServerAnswer>();
  const sent: ToolRequest[] = [];
  const first = questions.run(asked, request, (whole) => {
    sent.push(whole);
    whole.signal.addEventListener('abort', () => end({ failure: { kind: 'timed_out', reason: 'given up' } }));
    return promise;
  });
  return { first, sent, end: (text: string) => end({ result: { content: [{ type: 'text', text }] } }) };
}

function questionIn(answer: ServerAnswer) {
  const { inputRequests, requestState } = 'result' in answer ? answer.result : {};
  if (!isRunningCallState(requestState)) throw new Error(`no question: ${JSON.stringify(answer)}`);
  return { inputRequests: inputRequests as Record<string, { params: object }>, state: requestState };
}

test('A question ends a round, its answer goes to the server, and the call is sent once.', async () => {
  const { questions, waiting, ask } = session();
  const call = begin(questions, asRequest('rosa'));
  const answered = ask({ _meta: { progressToken: 1, 'example.com/x': 2 }, task: {} });
  const { inputRequests, state } = questionIn(await call.first);
  expect(inputRequests).toEqual({
    question_1: {
      method: 'elicitation/create',
      params: { message: 'Who?', _meta: { 'example.com/x': 2 } },
    },
  });
  const running = waiting.find(state)!;
  expect(running.is({ server: 'books', agent: 'rosa', ...lend })).toBe(true);
  expect(running.is({ server: 'books', agent: 'walt', ...lend })).toBe(false);
  expect(running.is({ server: 'books', agent: 'rosa', name: 'lend', args: { id: 2 } })).toBe(false);
  const second = running.goOn({ question_1: accepted }, asRequest('rosa'));
  expect(await answered).toEqual(accepted);
  expect(waiting.find(state)).toBeUndefined();
  call.end('lent');
  expect(await second).toMatchObject({ result: { content: [{ text: 'lent' }] } });
  expect(call.sent).toHaveLength(1);
  expect(waiting.room.held('questions')).toBe(0);
});

test('An answer to what was not asked goes nowhere: the question is asked again. An unfit answer is told to the server.', async () => {
  const { questions, waiting, ask } = session();
  const call = begin(questions, asRequest('rosa'));
  const answered = ask();
  const { state, inputRequests } = questionIn(await call.first);
  const running = waiting.find(state)!;
  const second = running.goOn({ question_2: accepted }, asRequest('rosa'));
  const again = questionIn(await second);
  expect(again.inputRequests).toEqual(inputRequests);
  const third = running.goOn({ question_1: { role: 'assistant' } }, asRequest('rosa'));
  await expect(answered).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('action') });
  call.end('not lent');
  expect(await third).toMatchObject({ result: { content: [{ text: 'not lent' }] } });
});

test('What was not answered is asked again, with what was asked meanwhile, under another state.', async () => {
  const { questions, waiting, ask } = session();
  const call = begin(questions, asRequest('rosa'));
  const [one, two] = [ask(), ask({ message: 'Where?' })];
  const { state, inputRequests } = questionIn(await call.first);
  expect(Object.keys(inputRequests)).toEqual(['question_1', 'question_2']);
  const three = ask({ message: 'When?' });
  const second = waiting.find(state)!.goOn({ question_1: accepted }, asRequest('rosa'));
  expect(await one).toEqual(accepted);
  const again = questionIn(await second);
  expect(again.state).not.toBe(state);
  expect(Object.values(again.inputRequests).map(({ params }) => params)).toEqual([
    { message: 'Where?' },
    { message: 'When?' },
  ]);
  const answers = Object.fromEntries(
    Object.keys(again.inputRequests).map((key) => [key, { action: 'decline' }]),
  );
  const third = waiting.find(again.state)!.goOn(answers, asRequest('rosa'));
  expect(await Promise.all([two, three])).toEqual([{ action: 'decline' }, { action: 'decline' }]);
  call.end('done');
  expect(await third).toHaveProperty('result');
});

test('A server that asks 10,000 questions is refused all but 32, at once, and its caller is asked those.', async () => {
  const { questions, waiting, refused, counts, ask } = session();
  const call = begin(questions, asRequest('rosa'));
  const asked = Array.from({ length: 10_000 }, () => ask().catch((why: { data: unknown }) => why.data));
  const { inputRequests, state } = questionIn(await call.first);
  expect(Object.keys(inputRequests)).toHaveLength(32);
  expect([counts.asked, refused.length]).toEqual([32, 10_000 - 32]);
  expect(waiting.room.held('questions')).toBe(32);
  waiting.find(state)!.stop('enough');
  const reasons = (await Promise.all(asked)) as { reason: string }[];
  expect(new Set(reasons.map(({ reason }) => reason))).toEqual(new Set(['ended', 'too_many']));
  expect(waiting.room.held('questions')).toBe(0);
});

test('Questions that are refused take nothing from those that were asked before, and count for nothing.', async () => {
  const { questions, waiting, refused, counts, ask } = session();
  const call = begin(questions, asRequest('rosa'));
  const first = ask();
  const { state } = questionIn(await call.first);
  const more = Array.from({ length: 99 }, () => ask().catch(() => undefined));
  const second = waiting.find(state)!.goOn({ question_1: accepted }, asRequest('rosa'));
  expect(await first).toEqual(accepted);
  const next = questionIn(await second);
  expect(Object.keys(next.inputRequests)).toHaveLength(31);
  const answers = Object.fromEntries(Object.keys(next.inputRequests).map((key) => [key, accepted]));
  const third = waiting.find(next.state)!.goOn(answers, asRequest('rosa'));
  expect((await Promise.all(more)).filter((answer) => answer !== undefined)).toHaveLength(31);
  expect([counts.asked, refused.length]).toEqual([32, 68]);
  call.end('done');
  expect(await third).toHaveProperty('result');
});

test('Questions of one agent leave room for those of another.', async () => {
  const waiting = new WaitingCalls();
  const [rosa, walt] = [session({ isShared: false, waiting }), session({ isShared: false, waiting })];
  const asked: Promise<unknown>[] = [];
  for (let calls = 0; calls < 3; calls++) {
    const call = begin(rosa.questions, asRequest('rosa'));
    for (let i = 0; i < 25; i++) asked.push(rosa.ask().catch(() => {}));
    await call.first;
  }
  expect(rosa.refused).toEqual(Array.from({ length: 75 - 64 }, () => 'no_room'));
  const call = begin(walt.questions, asRequest('walt'));
  void walt.ask().catch(() => {});
  expect(questionIn(await call.first).inputRequests).toHaveProperty('question_1');
  expect(walt.refused).toEqual([]);
});

test('What a waiting call holds counts: its arguments, and a result that comes before its caller has answered.', async () => {
  const { questions, waiting, refused, ask } = session();
  const large = { name: 'lend', args: { text: 'x'.repeat(3 * 1024 * 1024) } };
  const first = begin(questions, asRequest('rosa'), large);
  void ask().catch(() => {});
  const { state } = questionIn(await first.first);
  const second = begin(questions, asRequest('rosa'), large);
  await expect(ask()).rejects.toMatchObject({ data: { reason: 'no_room' } });
  expect(refused).toEqual(['no_room']);
  second.end('lent');
  await second.first;

  const before = waiting.room.held('characters');
  const running = waiting.find(state)!;
  first.end('y'.repeat(500_000));
  await first.sent[0];
  await expect.poll(() => waiting.room.held('characters')).toBeGreaterThan(before + 500_000);
  const end = await running.goOn({ question_1: accepted }, asRequest('rosa'));
  expect(end).toMatchObject({ result: { content: [{ text: expect.stringMatching(/^y+$/) }] } });
  expect([waiting.room.held('characters'), waiting.room.held('questions')]).toEqual([0, 0]);
});

test('A question that its server has withdrawn is not asked.', async () => {
  const { questions, waiting, counts, ask } = session();
  const call = begin(questions, asRequest('rosa'));
  await expect(ask({}, AbortSignal.abort())).rejects.toMatchObject({ data: { reason: 'ended' } });
  expect([counts.asked, waiting.room.held('questions')]).toEqual([0, 0]);
  call.end('done');
  expect(await call.first).toHaveProperty('result');
});

test('In a session that several share, nobody is asked while calls of two run, nor while a call of another may still be worked on.', async () => {
  const { questions, clock, refused, ask } = session();
  const [rosa, walt] = [begin(questions, asRequest('rosa')), new AbortController()];
  const other = begin(questions, asRequest('walt', { signal: walt.signal }));
  await expect(ask()).rejects.toMatchObject({ code: -32603, data: { reason: 'several_agents' } });
  walt.abort();
  await other.first;
  await expect(ask()).rejects.toMatchObject({ data: { reason: 'earlier_call' } });
  clock.now += 60_000;
  void ask().catch(() => {});
  expect(questionIn(await rosa.first).inputRequests).toHaveProperty('question_1');
  expect(refused).toEqual(['several_agents', 'earlier_call']);
});

test('A question without a call waits for the first call of its agent, and is refused at once where several share.', async () => {
  const shared = session();
  await expect(shared.ask()).rejects.toMatchObject({ data: { reason: 'no_call' } });
  const own = session({ isShared: false });
  const asked = own.ask();
  const call = begin(own.questions, asRequest('rosa'));
  const { state } = questionIn(await call.first);
  call.end('done');
  await call.sent[0];
  // Its call has ended meanwhile: what was shown can still be answered.
  const second = own.waiting.find(state)!.goOn({ question_1: accepted }, asRequest('rosa'));
  expect(await asked).toEqual(accepted);
  expect(await second).toMatchObject({ result: { content: [{ text: 'done' }] } });
});

test('Nobody waits for ever: a call ends with the time of its caller, and its server hears so.', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { questions, waiting, ask } = session();
    const call = begin(questions, asRequest('rosa', { timeoutMs: 1_000, patienceMs: 5_000 }));
    const answered = ask();
    const { state } = questionIn(await call.first);
    vi.advanceTimersByTime(4_999);
    expect(waiting.find(state)).toBeDefined();
    vi.advanceTimersByTime(1);
    expect(waiting.find(state)).toBeUndefined();
    expect(call.sent[0]!.signal.aborted).toBe(true);
    await expect(answered).rejects.toMatchObject({ data: { reason: 'ended' } });

    const silent = begin(questions, asRequest('rosa', { timeoutMs: 1_000 }));
    vi.advanceTimersByTime(1_000);
    expect(await silent.first).toMatchObject({ failure: { kind: 'timed_out' } });
    expect(silent.sent[0]!.signal.aborted).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test('A caller that cancels while it is asked ends the call; one that only has no answer does not.', async () => {
  const { questions, waiting, ask } = session();
  const failure = { code: -1, message: 'no model here' };
  const call = begin(questions, asRequest('rosa'));
  const refused = ask();
  const { state } = questionIn(await call.first);
  const running = waiting.find(state)!;
  const second = running.goOn({ question_1: { error: failure } }, asRequest('rosa'));
  await expect(refused).rejects.toMatchObject(failure);
  expect(call.sent[0]!.signal.aborted).toBe(false);

  const again = ask();
  const next = questionIn(await second);
  const third = running.goOn({ question_2: { error: { ...failure, isCancelled: true } } }, asRequest('rosa'));
  await expect(again).rejects.toMatchObject({ code: -1 });
  expect(await third).toMatchObject({ failure: { kind: 'timed_out' } });
  expect(call.sent[0]!.signal.aborted).toBe(true);
  expect(waiting.find(next.state)).toBeUndefined();
});

test('A server that dies while it asks ends the call with that, whenever its caller answers.', async () => {
  const { questions, waiting, ask } = session();
  const { promise, resolve } = Promise.withResolvers<ServerAnswer>();
  const first = questions.run(lend, asRequest('rosa'), () => promise);
  void ask().catch(() => {});
  const { state } = questionIn(await first);
  resolve({ failure: { kind: 'lost', reason: 'exited' } });
  const second = waiting.find(state)!.goOn({ question_1: accepted }, asRequest('rosa'));
  expect(await second).toEqual({ failure: { kind: 'lost', reason: 'exited' } });
});

test('A client that cannot be asked, a kind that is not declared and a question that is too long are refused.', async () => {
  const { questions, refused, ask } = session({ declared: { elicitation: { form: {} } } });
  const plain = begin(questions, asRequest('rosa', { round: undefined }));
  await expect(ask()).rejects.toMatchObject({ code: -32601, data: { reason: 'not_able' } });
  plain.end('done');
  await plain.first;
  void begin(questions, asRequest('rosa')).first;
  const sampling = { method: 'sampling/createMessage', params: {} };
  await expect(questions.answer(sampling, new AbortController().signal)).rejects.toMatchObject({
    code: -32601,
    data: { reason: 'not_declared' },
  });
  await expect(ask({ message: 'x'.repeat(1024 * 1024) })).rejects.toMatchObject({
    data: { reason: 'too_large' },
  });
  expect(refused).toEqual(['not_able', 'not_declared', 'too_large']);
  await expect(questions.answer({ method: 'odd/thing' }, new AbortController().signal)).rejects.toMatchObject(
    {
      code: -32601,
    },
  );
});

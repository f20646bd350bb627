import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { turnProgramOf } from './program-table.ts';
import type { Turn, TurnOutput } from './turn-program.ts';

/**
 * Returns what a program printed in a turn that called a tool of ours, against an imitation of its model. Lines about the program itself are
 * left out.
 */
function recorded(file: string): string {
  return readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8');
}

/** Returns the recorded output of a refused turn with another status of the model's API in place of 529. */
function recordedWith(file: string, status: number): string {
  return recorded(file).replaceAll(/\b529\b/g, `${status}`);
}

function commandOf(argv: readonly string[], session?: string) {
  const turn: Turn = {
    agent: 'rosa',
    argv,
    cwd: '/project',
    messages: [],
    prompt: 'the prompt',
    text: 'the text',
    session,
    runDirectory: '/run/x',
  };
  return turnProgramOf(argv).command(turn);
}

function output(stdout: string, change: Partial<TurnOutput> = {}): TurnOutput {
  return { code: 0, stdout, stdoutHead: stdout, cutBytes: 0, stderr: '', file: undefined, ...change };
}

const programs = [
  {
    name: 'claude',
    argv: ['/bin/claude', '--strict-mcp-config', '-p', '--model', 'opus'],
    first: ['/bin/claude', '--output-format=json', '--strict-mcp-config', '-p', '--model', 'opus'],
    next: [
      '/bin/claude',
      '--output-format=json',
      '--resume=s-1',
      '--strict-mcp-config',
      '-p',
      '--model',
      'opus',
    ],
    file: 'claude-2.1.197.txt',
    text: 'The tool said: The sum of 2 and 3 is 5.. Prompts seen: 3.',
    session: '46c64f36-1640-4f14-ab8d-a4cfeddc798f',
    lost: 'No conversation found with session ID: ef5241d3-2c11-46bc-a8ef-15c8a67ba877\n',
    failed: output('{"type":"result","is_error":true,"result":"refused by the model"}\n'),
    refused: [
      ['claude'],
      ['claude', '-p', '--resume', 'x'],
      ['claude', '-p', '--output-format=text'],
      ['claude', '-c', '-p'],
    ],
  },
  {
    name: 'codex',
    argv: ['codex', '-c', 'a="b"', 'exec', '-s', 'read-only', '--skip-git-repo-check'],
    first: [
      ...['codex', '-c', 'a="b"', 'exec', '-s', 'read-only', '--skip-git-repo-check'],
      ...['--json', '--output-last-message=/run/x/answer.txt', '-'],
    ],
    next: [
      ...['codex', '-c', 'a="b"', 'exec', '-s', 'read-only', '--skip-git-repo-check'],
      ...['--json', '--output-last-message=/run/x/answer.txt', 'resume', 's-1', '-'],
    ],
    file: 'codex-0.169.0.txt',
    answerFile: 'the last message',
    text: 'the last message',
    session: '01a20966-638f-75e2-8c69-f91bf95134c6',
    lost: 'Error: thread/resume: thread/resume failed: no rollout found for thread id 01a2 (code -32600)\n',
    failed: output(
      '{"type":"turn.started"}\n{"type":"turn.failed","error":{"message":"refused by the model"}}\n',
    ),
    refused: [
      ['codex'],
      ['codex', 'exec', 'fix it'],
      ['codex', 'exec', 'resume', 'x'],
      ['codex', 'exec', '-s', 'read-only', 'fix it'],
      ['codex', 'exec', '-o', 'x'],
    ],
  },
  {
    name: 'opencode',
    argv: ['opencode', 'run', '-m', 'a/b'],
    first: ['opencode', 'run', '--format=json', '-m', 'a/b'],
    next: ['opencode', 'run', '--format=json', '--session=s-1', '-m', 'a/b'],
    file: 'opencode-1.18.33.txt',
    text: 'The tool said: The sum of 2 and 3 is 5.. Prompts seen: 1.',
    session: 'ses_df699858effe1PjYaX0N3zrYLp',
    lost: '\x1b[91m\x1b[1mError: \x1b[0mSession not found\n',
    failed: output(
      '{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"refused by the model"}}}\n',
    ),
    refused: [['opencode'], ['opencode', 'run', '--continue'], ['opencode', 'run', '--format', 'default']],
  },
  {
    name: 'gemini',
    argv: ['gemini', '-p', '-m', 'pro'],
    first: ['gemini', '--output-format=json', '-m', 'pro'],
    next: ['gemini', '--output-format=json', '--resume=s-1', '-m', 'pro'],
    file: 'gemini-0.61.0.txt',
    text: expect.stringMatching(/^The tool said: .* Prompts seen: 1\.$/),
    session: 'a639293f-ee0b-46af-a369-b53a2c59afcb',
    lost: 'Ripgrep is not available.\nError resuming session: No previous sessions found for this project.\n',
    failed: output('', {
      stderr:
        'ApiError: {"status":400} at f {\n  status: 400\n}\n{\n  "session_id": "s",\n  "error": {\n    "message": "refused by the model"\n  }\n}\n',
    }),
    refused: [['gemini'], ['gemini', '-p', '--resume', 'latest'], ['gemini', '-i', 'hi', '-p']],
  },
  {
    name: 'copilot',
    argv: ['copilot', '--allow-tool=signalbox', '-p', '--model', 'm'],
    first: ['copilot', '--output-format=json', '--allow-tool=signalbox', '--model', 'm'],
    next: ['copilot', '--output-format=json', '--resume=s-1', '--allow-tool=signalbox', '--model', 'm'],
    file: 'copilot-1.0.102.txt',
    text: 'The tool said: The sum of 2 and 3 is 5.. Prompts seen: 1.',
    session: '7eaef097-faa0-402f-8634-1d01e7a91151',
    lost: "Error: No session, task, or name matched '7eaef097-faa0-402f-8634-1d01e7a91151'.\n",
    failed: output(recorded('copilot-1.0.102-refused.txt')),
    refused: [
      ['copilot'],
      ['copilot', '-p', 'be brief'],
      ['copilot', '--prompt=be brief'],
      ['copilot', '-p', '--session-id', 'x'],
      ['copilot', '-p', '--continue'],
      ['copilot', '-p', '--output-format', 'text'],
    ],
  },
  {
    name: 'qwen',
    argv: ['qwen', '--mcp-config=/run/x/mcp.json', '-p', '-y'],
    first: ['qwen', '--output-format=stream-json', '--mcp-config=/run/x/mcp.json', '-y'],
    next: ['qwen', '--output-format=stream-json', '--resume=s-1', '--mcp-config=/run/x/mcp.json', '-y'],
    file: 'qwen-0.24.4.txt',
    text: 'The tool said: The sum of 2 and 3 is 5.. Prompts seen: 1.',
    session: '04152f46-2386-4cfd-988d-1f488f9414d4',
    lost: 'No saved session found with ID 04152f46-2386-4cfd-988d-1f488f9414d4.\n',
    failed: output(recorded('qwen-0.24.4-refused.txt')),
    refused: [['qwen'], ['qwen', '-p', '-c'], ['qwen', '-p', '-o', 'json'], ['qwen', '-p', '--acp']],
  },
];

describe.each(programs)(
  '$name',
  ({ argv, first, next, file, answerFile, text, session, lost, failed, refused }) => {
    const program = turnProgramOf(argv);

    test('reads the prompt from standard input, and goes on with a session by its own option', () => {
      expect(commandOf(argv)).toMatchObject({ argv: first, stdin: 'the prompt' });
      expect(commandOf(argv, 's-1').argv).toEqual(next);
    });

    test('its recorded output has the final text and the session', () => {
      expect(program.answer(output(recorded(file), { file: answerFile }))).toEqual({ text, session });
    });

    test('an output without an answer is a failed turn', () => {
      for (const stdout of ['', 'no JSON\n', '{"type":"x"}\n', '[]'])
        expect(() => program.answer(output(stdout))).toThrow();
    });

    test('the reason of a failure is what the model’s API said, not a line of JSON', () => {
      expect(program.failure?.(failed)).toMatch(/refus/);
      expect(program.failure?.(failed)).not.toContain('{');
      expect(program.failure?.(output('', { stderr: 'no account\n' }))).toBeUndefined();
    });

    test('a lost session is told from other failures', () => {
      expect(program.isSessionLost?.(output('', { code: 1, stderr: lost }))).toBe(true);
      expect(program.isSessionLost?.(output(lost, { code: 1, stderr: 'no account' }))).toBe(false);
    });

    test('a command line with a prompt, session or output of its own is refused', () => {
      const usage = expect.objectContaining({ code: 'usage' });
      for (const wrong of refused) expect(() => commandOf(wrong), wrong.join(' ')).toThrow(usage);
    });
  },
);

test('a model that refuses every request is told from one that refuses this one', () => {
  const claude = (status: number) => ({
    stdout: JSON.stringify({ type: 'result', is_error: true, api_error_status: status }),
  });
  const codex = (status: number) => ({
    stdout: JSON.stringify({
      type: 'turn.failed',
      error: {
        message:
          status === 429
            ? 'exceeded retry limit, last status: 429 Too Many Requests'
            : `unexpected status ${status} x`,
      },
    }),
  });
  const opencode = (statusCode: number) => ({
    stdout: JSON.stringify({ type: 'error', error: { name: 'APIError', data: { statusCode } } }),
  });
  const gemini = (code: number) => ({
    stderr: `Error {\n  status: ${code}\n}\n${JSON.stringify({ session_id: 's', error: { message: 'x', code } }, null, 2)}`,
  });
  const copilot = (statusCode: number) => ({
    stdout: recordedWith('copilot-1.0.102-refused.txt', statusCode),
  });
  const qwen = (status: number) => ({ stdout: recordedWith('qwen-0.24.4-refused.txt', status) });
  for (const [name, failed] of Object.entries({ claude, codex, opencode, gemini, copilot, qwen })) {
    const { isUnavailable } = turnProgramOf([name]);
    const refused = [400, 401, 429, 500, 529].filter((status) => isUnavailable?.(output('', failed(status))));
    expect(refused, name).toEqual([401, 429, 529]);
  }
});

test('qwen that is ended while it waits for its model tells of the refusal, and one that went on does not', () => {
  const { failure, isUnavailable } = turnProgramOf(['qwen']);
  const event = (type: string, subtype?: string) => `${JSON.stringify({ type, subtype })}\n`;
  const stderr = 'Retrying in 240s (attempt 3/10): [API Error: 429 too much]\nRetrying provider attempt.\n';
  const waiting = output(event('assistant') + event('system', 'retry'), { code: 143, stderr });
  expect(failure?.(waiting)).toBe('Retrying in 240s (attempt 3/10): [API Error: 429 too much]');
  expect(isUnavailable?.(waiting)).toBe(true);
  const working = output(event('system', 'retry') + event('assistant'), { code: 143, stderr });
  expect([failure?.(working), isUnavailable?.(working)]).toEqual([undefined, false]);
});

test('a session id that could be taken for an option is not used', () => {
  const stdout = JSON.stringify({ type: 'result', is_error: false, result: 'x', session_id: '--model=x' });
  expect(() => turnProgramOf(['claude']).answer(output(stdout))).toThrow();
});

test('claude’s answer is also read from the array that its verbose setting makes, and an error is none', () => {
  const result = { type: 'result', is_error: false, result: 'x' };
  const claude = turnProgramOf(['claude']);
  expect(claude.answer(output(JSON.stringify([{ type: 'system' }, result])))).toEqual({ text: 'x' });
  const refused = JSON.stringify({ ...result, is_error: true, result: 'API Error: 400' });
  expect(() => claude.answer(output(refused))).toThrow('API Error: 400');
  expect(() => claude.answer(output('its end"}', { cutBytes: 7 }))).toThrow('7 bytes are missing');
});

test('claude that is to ask prints its events, and says if its mode is one in which it asks nobody', () => {
  const asks = '--permission-prompt-tool=mcp__signalbox__permission_prompt';
  const { argv } = commandOf(['claude', asks, '-p'], 's-1');
  expect(argv).toEqual(['claude', '--output-format=stream-json', '--verbose', '--resume=s-1', asks, '-p']);
  const events = (permissionMode: string) =>
    [
      { type: 'system', subtype: 'init', permissionMode },
      { type: 'assistant', message: {} },
      { type: 'result', is_error: false, result: 'x', session_id: 's-1' },
    ].map((event) => `${JSON.stringify(event)}\n`);
  const claude = turnProgramOf(['claude']);
  const answer = { text: 'x', session: 's-1' };
  expect(claude.answer(output(events('default').join('')))).toEqual(answer);
  const [begin, , result] = events('auto');
  const cut = output(result!, { stdoutHead: begin!, cutBytes: 7 });
  expect(claude.answer(cut)).toEqual({ ...answer, asksNobody: "claude's mode 'auto'" });
});

test('opencode’s answer is the last message of the model, without what it wrote before its tool calls', () => {
  const line = (messageID: string, text: string) =>
    JSON.stringify({ type: 'text', sessionID: 's', part: { messageID, text } });
  const stdout = [line('m1', 'let me see'), line('m2', 'one'), line('m2', 'two')].join('\n');
  expect(turnProgramOf(['opencode']).answer(output(stdout))).toEqual({ text: 'one\n\ntwo', session: 's' });
});

test('gemini keeps a lasting instruction of -p, and a line that it prints first is passed over', () => {
  expect(commandOf(['gemini', '-p', 'be brief', '-y']).argv).toEqual([
    'gemini',
    '--output-format=json',
    '-p',
    'be brief',
    '-y',
  ]);
  const stdout = `Loaded cached credentials.\n${recorded('gemini-0.61.0.txt')}`;
  expect(turnProgramOf(['gemini']).answer(output(stdout)).session).toMatch(/^a639293f/);
});

const copilotEvent = (type: string, data: object, more = {}) =>
  `${JSON.stringify({ type, data, ...more })}\n${JSON.stringify({ type: 'result', sessionId: 's', exitCode: 0 })}\n`;
const copilotSays = (content: string, more = {}) => copilotEvent('assistant.message', { content }, more);

test('copilot’s answer is the last message of its main agent, or the summary of autopilot mode', () => {
  const { answer } = turnProgramOf(['copilot']);
  const told = (...events: string[]) => answer(output(events.join('')));
  expect(told(copilotSays('mine'), copilotSays('of a subagent', { agentId: 'a' }))).toEqual({
    ...{ text: 'mine', session: 's' },
  });
  const done = copilotEvent('session.task_complete', { summary: 'done' });
  expect(told(copilotSays('let me see'), done).text).toBe('done');
});

test('copilot that is ended in the middle of a turn has not answered, though it tells of exit code 0', () => {
  const { answer } = turnProgramOf(['copilot']);
  const told = (...events: string[]) => answer(output(events.join('')));
  const asking = copilotEvent('assistant.message', { content: 'let me see', toolRequests: [{}] });
  expect(() => told(asking)).toThrow('without a final message');
  expect(() => told(copilotSays('one'), copilotEvent('assistant.turn_start', {}))).toThrow('final');
  // A model that has done its work by tools may end without a word.
  expect(told(asking, copilotSays('')).text).toBe('');
});

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { acpAgentFor, acpTurns } from '@signalbox/worker/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, shown } from '../support/serve/acp-permissions.ts';
import { type AcpStage, startAcpStage } from '../support/serve/acp-stage.ts';
import { acpAgentMain, type ServedAcp, serveAcp } from '../support/serve/served-acp.ts';
import { startServeStage } from '../support/serve/served-agent.ts';

const ask = ['--permissions', 'ask'];
let stage: AcpStage;
let served: ServedAcp;

beforeAll(async () => {
  stage = await startAcpStage();
  served = await serveAcp(stage.workspace, 'rosa', { args: [...ask, '--concurrency', '4'] });
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});
const change = (toolCallId: string, more: object) => ({
  update: { sessionUpdate: 'tool_call_update', toolCallId, ...more },
});

test('The time of a turn stands still while a person is asked.', async () => {
  const limitMs = 8_000;
  const args = [...ask, '--turn-timeout', `${limitMs}ms`];
  await using patient = await serveAcp(stage.workspace, 'patient', { args });
  const asked = stage.ask('patient', [{ ask: { toolCallId: 't1', rawInput: { a: 1 } } }, { heard: true }]);
  const [question] = await stage.waiting('patient');
  await expect
    .poll(() => Date.now() - question!.created_at, { timeout: 2 * limitMs })
    .toBeGreaterThan(limitMs);
  await stage.decide(question!.id, { verdict: 'approve' });
  expect(await asked).toBe('heard id-allow_once');
  expect(patient.events('turn_ended')).toMatchObject([{ outcome: 'answered' }]);
});

test('A denial reaches the agent, and its reason the next turn of the thread.', async () => {
  const steps = [call('t1'), { ask: { toolCallId: 't1', rawInput: { a: 1 } } }, { heard: true }];
  const asked = stage.ask('rosa', steps, { thread: 'denied' });
  const [question] = await stage.waiting('rosa');
  await stage.command('deny', question!.id, '--reason', 'not on a Friday');
  expect(await asked).toBe('heard id-reject_once');
  const next = await stage.ask('rosa', 'and now?', { thread: 'denied' });
  expect(next).toMatch(/turn 2.*uses of tools were denied: agent:tool: .*not on a Friday/);
  expect(await stage.ask('rosa', 'and now?', { thread: 'denied' })).not.toContain('denied');
});

test.each([['thread'], ['none']])(
  'The reason of a denial outlives worker serve, with --session %s.',
  async (session) => {
    const agent = `reminded-${session}`;
    const args = [...ask, '--session', session];
    const asked = async () => {
      await using served = await serveAcp(stage.workspace, agent, { args });
      const steps = [{ ask: { toolCallId: 't1', rawInput: { a: 1 } } }, { heard: true }];
      const answer = stage.ask(agent, steps, { thread: 'T' });
      const [question] = await stage.waiting(agent);
      await stage.decide(question!.id, { verdict: 'deny', reason: 'not on a Friday' });
      expect(await answer).toBe('heard id-reject_once');
      await served.stop();
    };
    await asked();
    await using _again = await serveAcp(stage.workspace, agent, { args });
    const turn = session === 'thread' ? 'session-1, turn 2' : 'session-2, turn 1';
    const next = await stage.ask(agent, 'and now?', { thread: 'T' });
    expect(next).toMatch(new RegExp(`^${turn}.*uses of tools were denied: agent:tool: .*not on a Friday`));
    expect(await stage.ask(agent, 'and now?', { thread: 'T' })).not.toContain('denied');
  },
);

test.each([['end_turn'], ['cancelled']])(
  'A turn that ends %s without an answer after a denial is not tried again, and its sender gets the reason.',
  async (stop) => {
    const steps = [{ ask: { toolCallId: 't1', rawInput: { a: 1 } } }, { stop }];
    const before = served.events('turn_ended').length;
    const asked = stage.ask('rosa', steps);
    const [question] = await stage.waiting('rosa');
    await stage.decide(question!.id, { verdict: 'deny', reason: 'never' });
    expect(await asked).toMatchObject({ status: 'undeliverable' });
    expect(served.events('turn_ended').slice(before)).toMatchObject([
      { outcome: 'denied', reason: expect.stringContaining('never') },
    ]);
  },
);

test('A bundle of notes is taken apart by a denial: each note is tried once more, alone.', async () => {
  await using noted = await serveAcp(stage.workspace, 'noted', { args: ['--note-wait', '1s'] });
  const note = (text: string) =>
    stage.asker.deliver({
      to: 'noted',
      kind: 'note',
      thread: 'notes',
      body: JSON.stringify([{ ask: { toolCallId: text, rawInput: { text } } }]),
    });
  await Promise.all(['a', 'b'].map(note));
  await expect.poll(() => noted.events('turn_ended').length).toBe(3);
  const started = noted.events('turn_started').map(({ messages }) => (messages as unknown[]).length);
  expect(started).toEqual([2, 1, 1]);
});

test('Arguments that come after the question are waited for, and without any an approval holds for one use alone.', async () => {
  const follows = [
    call('t1', { name: 'bump' }),
    { asking: { toolCallId: 't1', rawInput: {} } },
    change('t1', { rawInput: { by: 3 } }),
    { ask: { toolCallId: 't2', name: 'bump', rawInput: {} } },
    { heard: true },
  ];
  const asked = stage.ask('rosa', follows);
  const both = await stage.waiting('rosa', 2);
  const [told, untold] = ['t1', 't2'].map((_, at) => both.toReversed()[at]!);
  expect(shown(told!)).toMatchObject({ arguments: { by: 3 } });
  expect(shown(untold!)).toMatchObject({ arguments: 'not told by agent' });
  const standing = { verdict: 'approve', for_ms: 60_000 };
  expect(await stage.decide(untold!.id, standing)).toMatchObject({
    error: { message: expect.stringContaining('for_ms') },
  });
  expect(await stage.decide(told!.id, standing)).toMatchObject({ data: { decided: true } });
  // The standing approval does not answer the question without arguments.
  expect(await stage.waiting('rosa')).toMatchObject([{ id: untold!.id }]);
  await stage.decide(untold!.id, { verdict: 'approve' });
  expect(await asked).toBe('heard id-allow_once id-allow_once');
});

test('What changes while a person looks at it is asked anew, and an approval of what was shown before is of no use.', async () => {
  await using changer = await serveAcp(stage.workspace, 'changer', { args: ask });
  const steps = [
    call('t1', { name: 'Edit', rawInput: { path: 'a' } }),
    { asking: { toolCallId: 't1' } },
    { when: 'changed.txt' },
    change('t1', { rawInput: { path: 'b' } }),
    { untilHeard: 1 },
    { heard: true },
  ];
  const asked = stage.ask('changer', steps);
  const [first] = await stage.waiting('changer');
  await changer.touch('changed.txt');
  await expect.poll(async () => (await stage.waiting('changer'))[0]?.id).not.toBe(first!.id);
  const [second] = await stage.waiting('changer');
  expect(shown(second!)).toMatchObject({ arguments: { path: 'b' } });
  expect(await stage.ended(first!.id)).toMatchObject({ state: 'superseded' });
  const late = await stage.command('approve', first!.id);
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('no longer fits its call') });
  await stage.decide(second!.id, { verdict: 'approve' });
  expect(await asked).toBe('heard id-allow_once');
});

test('A question ends with its turn: the agent gets cancelled, also for what it asks then, and a later decision runs nothing.', async () => {
  const withdrawing = new AbortController();
  const steps = [
    { asking: { toolCallId: 't1', name: 'Bash', rawInput: { a: 1 } } },
    { untilCancelled: 'asks' },
  ];
  const asked = stage.ask('rosa', steps, { signal: withdrawing.signal });
  const [question] = await stage.waiting('rosa');
  withdrawing.abort();
  await asked;
  const file = join(served.home, 'cancelled.txt');
  await expect.poll(() => existsSync(file) && readFile(file, 'utf8')).toBe('cancelled cancelled');
  await stage.waiting('rosa', 0);
  const { code, stderr } = await stage.command('approve', question!.id);
  expect([code, stderr]).toEqual([1, expect.stringContaining('has ended, and nothing ran')]);
});

test('Our own tools are known by facts that the agent states, never by a title, and all others are denied or allowed as the option says.', async () => {
  const ours = {
    toolCallId: 't1',
    title: 'x',
    rawInput: {},
    _meta: { claudeCode: { toolName: 'mcp__signalbox__signalbox_reply' } },
  };
  const pretends = {
    toolCallId: 't2',
    title: 'mcp__signalbox__signalbox_reply',
    rawInput: { command: 'rm' },
  };
  const steps = [{ ask: ours }, { ask: pretends }, { heard: true }];
  await using denied = await serveAcp(stage.workspace, 'denied', { as: 'claude-agent-acp', args: [] });
  const idless = [...steps.slice(0, 2), { heard: 'm1' }];
  expect(await stage.ask('denied', idless)).toBe('heard id-allow_once id-reject_once');
  expect(denied.warnings('no_tools')).toEqual([]);
  // claude allows our tools beforehand, and can't be led into a mode in which it asks nobody.
  expect(JSON.parse(String(await stage.ask('denied', [{ meta: 'm1' }]))).claudeCode.options).toMatchObject({
    allowedTools: ['mcp__signalbox'],
    allowDangerouslySkipPermissions: false,
    settings: { permissions: { disableAutoMode: 'disable' } },
  });
  await using allowed = await serveAcp(stage.workspace, 'allowed', { args: ['--permissions', 'allow'] });
  expect(await stage.ask('allowed', steps, { thread: 'allowed' })).toBe('heard id-allow_once id-allow_once');
  expect(allowed.events('turn_ended')).toHaveLength(1);
  expect(allowed.warnings('not_audited')).toEqual([]);
  // Each use has its row when it is answered, with the agent, the tool and the message of the turn.
  const [{ messages }] = allowed.events('turn_started') as [{ messages: { id: string }[] }];
  const { entries } = JSON.parse((await stage.command('audit', 'call', '--json')).stdout);
  const allowedRows = entries.filter(({ code }: { code: string }) => code === 'permission_allowed');
  const turn = `--permissions allow, in the turn of the message '${messages[0]?.id}' of 'asker'`;
  const row = { agent: 'allowed', role: 'researcher', detail: turn };
  expect(allowedRows).toMatchObject([
    { ...row, name: 'agent:mcp__signalbox__signalbox_reply' },
    { ...row, name: 'agent:tool' },
  ]);
});

test('A use that the audit log can not note is allowed with a warning.', async () => {
  // A broker without an orchestrator.
  await using alone = await startServeStage();
  const argv = ['agent'];
  const agent = acpAgentFor(argv, { acp: true })!;
  const turns = acpTurns(agent, argv, { permissions: 'allow', version: '1' });
  await using rosa = await alone.serve(`exec '${process.execPath}' '${acpAgentMain}'`, { turns });
  const steps = [{ ask: { toolCallId: 't1', kind: 'edit', rawInput: { a: 1 } } }, { heard: true }];
  const asked = await alone.walt.request('rosa', 'ask', JSON.stringify(steps), { timeoutMs: 30_000 });
  expect(asked).toMatchObject({ reply: { json: 'heard id-allow_once' } });
  expect(rosa.events).toContainEqual(
    expect.objectContaining({
      code: 'not_audited',
      message: expect.stringContaining('the audit log has no entry that agent:edit was allowed'),
    }),
  );
});

test('Programs that can not ask a person are refused before anything connects, with the command by which they can.', async () => {
  const { env } = await stage.workspace.agent('dry', 'researcher');
  const refused = async (permissions: string, program: string, ...words: string[]) => {
    const path = join(served.home, program);
    await writeFile(path, '#!/bin/sh\n', { mode: 0o755 });
    const args = ['worker', 'serve', '--permissions', permissions, '--', path, ...words];
    const { code, stderr } = await stage.workspace.run(args, {
      ...env,
      SIGNALBOX_URL: 'ws://127.0.0.1:9',
    });
    expect([program, code]).toEqual([program, 2]);
    return stderr;
  };
  expect(await refused('ask', 'codex', 'exec')).toContain('-- codex-acp');
  expect(await refused('ask', 'gemini', '-p')).toContain('-- gemini --acp');
  expect(await refused('deny', 'opencode', 'run')).toContain('-- opencode acp');
  expect(await refused('ask', 'pi-acp')).toContain('pi never asks');
  expect(await refused('ask', 'gemini', '--acp', '--yolo')).toContain('asks nobody');
});

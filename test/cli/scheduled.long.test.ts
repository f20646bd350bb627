import { startTestBroker } from '@signalbox/testing';
import { expect, test } from 'vitest';
import { jsonOf, signalbox } from '../support/cli/command-line.ts';

test('A message for later is listed with its time, and its sender and an operator can cancel it.', async () => {
  await using broker = await startTestBroker();
  await broker.token('rosa');
  const token = await broker.token('ann');
  const as = (...args: string[]) =>
    signalbox([...args, '--url', broker.url], {
      env: { SIGNALBOX_TOKEN: token, SIGNALBOX_AGENT: 'ann' },
    });
  const operator = (...args: string[]) => signalbox([...args, '--data', broker.dataDir]);
  const sent = await as('send', 'rosa', 'hello', '--in', '2h', '--id', 'a');
  expect(sent.stdout.split('\n').slice(0, 3)).toEqual([
    'message a is stored for rosa',
    'it is handed out in 2 h, and not before',
    `cancel it: signalbox inbox cancel rosa a --url ${broker.url}`,
  ]);
  const year = new Date().getUTCFullYear() + 1;
  const far = await as('send', 'rosa', 'hello', '--at', `${year}-12-31T09:00Z`);
  expect(far).toMatchObject({ code: 2, stderr: expect.stringContaining("'not_before_ms'") });
  await as('send', 'rosa', 'hello', '--in', '1h', '--id', 'b');
  const due = [{ id: 'b', to: 'rosa', from: { agent: 'ann' }, due_in_ms: expect.any(Number) }, { id: 'a' }];
  expect(jsonOf(await as('inbox', '--scheduled', '--json'))).toMatchObject({ messages: due });
  expect((await operator('inbox', '--scheduled')).stdout).toMatch(
    /^ID +FROM +TO +KIND +DUE +AT +BYTES\nb +ann +rosa +note +in 60 min +\S+ +7\na /,
  );
  expect((await as('inbox', 'cancel', 'rosa', 'a')).stdout).toBe('message a to rosa is cancelled\n');
  expect(jsonOf(await operator('inbox', 'cancel', 'rosa', 'b', '--from', 'ann', '--json'))).toEqual({
    id: 'b',
    to: 'rosa',
    cancelled: 1,
  });
  expect(await as('inbox', 'cancel', 'rosa', 'a')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no message 'a' of yours to 'rosa' waits for its time"),
  });
});

test.each([
  [['--in', 'soon'], '--in <time>'],
  [['--at', '2026-02-30T09:00'], '--at <instant>'],
  [['--at', '2020-01-01T09:00Z'], 'is over'],
  [['--in', '1h', '--at', '2026-12-01T09:00'], 'two ways to say when'],
  [['--in', '0s'], "argument '0s' is invalid. Write it like"],
  [['--at', '2026-12-01T25:00Z'], 'Write it like 2026-12-01T09:00'],
  [['--ttl', '0s'], '--ttl <time>'],
  [['--ttl', 'never'], "argument 'never' is invalid"],
  [['--partial'], "--partial goes with a group, and 'rosa' is none"],
  [['--key', 'k'], "--key goes with a group, and 'rosa' is none"],
])('send with %s is refused before anything is sent.', async (options, message) => {
  const refused = await signalbox(['send', 'rosa', 'hello', ...options]);
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test.each([
  ['send Rosa hi', "argument 'to' can't be 'Rosa'. An inbox is an agent id"],
  ['ask role:Writer hi', "argument 'to' can't be 'role:Writer'. A group is role:ROLE or group:NAME"],
  ['send role:writer hi --partial', '--partial goes with --all'],
  ['send role:writer hi --all --key k', '--key means nothing with --all'],
  ['inbox cancel Rosa x', "argument 'to' can't be 'Rosa'"],
  ['inbox cancel rosa x --from Nix', '--from <agent>'],
  ['inbox cancel rosa', "argument 'id' is missing"],
  ['inbox --take --take-over --of rosa', '--of shows what waits for somebody else'],
  ['worker stop Rosa', "argument 'agent' can't be 'Rosa'"],
  ['worker face --alias x', "option '--socket <path>' is missing"],
  ['worker face --socket ./face.sock --alias http://x', "--alias 'http://x': "],
  ['store copy --from ./state --to postgres://x', 'the value of --from must begin with sqlite:'],
  ['store copy --from sqlite:. --to mysql://x', 'the value of --to must begin with postgres:'],
  ['store copy --from sqlite:. --to postgres://x --schema Bad', "--schema 'Bad' must be lower-case letters"],
  ['clock accept now', 'too many arguments'],
  ['worker run --count 0 -- true', 'Write a whole number from 1'],
  ['worker run --restart always -- true', 'Allowed choices are never, on-failure'],
  ['worker run --restart-delay 1 -- true', '--restart-delay <time>'],
  ['worker run --stop-timeout 1y -- true', '--stop-timeout <time>'],
  ['worker run --ready-timeout x -- true', '--ready-timeout <time>'],
  ['worker run --parent Nix -- true', 'An agent id is lower-case'],
  ['worker run --cwd ./nowhere -- true', '--cwd ./nowhere: there is no folder'],
  ['worker run --tools none -- true', 'Allowed choices are all, search'],
  ['worker run --permissions no -- true', 'Allowed choices are cli, ask'],
])('A wrong value is refused before anything connects: signalbox %s', async (line, message) => {
  const refused = await signalbox(line.split(' '));
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionHeading } from '../../apps/cli/src/command-options.ts';
import { allCommands, commandTree } from '../../apps/cli/src/completion/command-tree.ts';
import { createProgram } from '../../apps/cli/src/program.ts';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { broker, namedToolsServer, project } from '../support/cli/down.ts';

const resources = new AsyncDisposableStack();
let site: Awaited<ReturnType<typeof project>>;
/** The end of the worker serve of rosa. */
let ended: Promise<unknown[]>;

beforeAll(async () => {
  site = resources.use(
    await project({
      broker,
      mcpServers: {
        plain: { command: process.execPath, args: [namedToolsServer, 'look'], definitions: 'pin' },
      },
      hosts: { laboratory: ['scope'] },
      groups: { press: { roles: ['tester'] } },
      roles: { tester: { tools: ['plain:look'] } },
    }),
  );
  await site.run('up', '--detach', '--json');
  const serve = ['worker', 'serve', '--agent', 'rosa', '--role', 'tester', '--json', '--', 'cat'];
  const serving = spawn(process.execPath, signalboxArgv(serve), { cwd: site.cwd, env: cleanEnv() });
  ended = once(serving, 'close');
  resources.defer(async () => {
    serving.kill();
    await ended;
  });
  await once(serving.stdout, 'data');
  await site.run('token', 'issue', '--agent', 'rosa', '--role', 'tester', '--out', 'rosa.token');
  await site.run('send', 'rosa', 'hi', '--in', '1h', '--id', 'later');
  await site.run('hold', '--agent', 'rosa', '--reason', 'lunch');
  await site.run('send', 'rosa', 'hi', '--id', 'now');
});
afterAll(() => resources.disposeAsync());

const commands: [line: string, meant: string][] = [
  ['ps --role testr', 'tester'],
  ['token issue --host laboratry', 'laboratory'],
  ['token revoke --agent roza', 'rosa'],
  ['worker stop roza', 'rosa'],
  ['orchestrator --host laboratry', 'laboratory'],
  ['send roza hi', 'rosa'],
  ['send group:pres hi', 'group:press'],
  ['ask roza hi', 'rosa'],
  ['send tester hi', 'role:tester'],
  ['ask press hi', 'group:press'],
  ['inbox --of roza', 'rosa'],
  ['inbox --of group:pres', 'group:press'],
  ['inbox --of role:testr', 'tester'],
  ['inbox show now --of rosa --from operatr', 'operator'],
  ['inbox cancel roza later', 'rosa'],
  ['inbox cancel rosa later --from operatr', 'operator'],
  ['dead list --inbox roza', 'rosa'],
  ['dead retry --inbox roza', 'rosa'],
  ['dead drop --inbox roza', 'rosa'],
  ['thread --agent roza', 'rosa'],
  ['history --agent roza', 'rosa'],
  ['tools list --role testr', 'tester'],
  ['tools matrix --roles testr', 'tester'],
  ['tools matrix --server plian', 'plain'],
  ['tools call plain:lok', 'plain:look'],
  ['tools result x1 --of roza', 'rosa'],
  ['tools cancel x1 --of roza', 'rosa'],
  ['tools explain roza plain:look', 'rosa'],
  ['tools explain testr plain:look', 'tester'],
  ['tools explain tester plain:lok', 'plain:look'],
  ['servers show plian', 'plain'],
  ['servers reload plian', 'plain'],
  ['servers stop plian', 'plain'],
  ['servers start plian', 'plain'],
  ['servers auth plian', 'plain'],
  ['servers pins plian', 'plain'],
  ['servers diff plian', 'plain'],
  ['servers accept plian --seen x', 'plain'],
  ['resources list --role testr', 'tester'],
  ['resources explain testr file:///x', 'tester'],
  ['prompts list --role testr', 'tester'],
  ['prompts explain roza x', 'rosa'],
  ['hold --agent roza --reason x', 'rosa'],
  ['hold --role testr --reason x', 'tester'],
  ['hold --tool plain:lok --reason x', 'plain:look'],
  ['hold --agent roza', 'rosa'],
  ['hold --role testr --cancel-running', 'tester'],
  ['release --agent roza', 'rosa'],
  ['worker run --agent kim --role testr -- true', 'tester'],
  // This makes the role known.
  ['token issue --agent kim --role testr', 'tester'],
];

test.each(commands)('signalbox %s names %s, which was meant.', async (line, meant) => {
  const { stdout, stderr } = await site.run(...line.split(' '));
  expect(stdout + stderr).toMatch(
    new RegExp(`(did you mean|similar .* is|nearest:|nearest is) '?${meant}'?`),
  );
});

/** These make a role or a label known, or begin to wait for an agent that is yet to come. */
const takesUnknown = [
  'token issue --role',
  'token issue --host',
  'worker run --role',
  'worker run --parent',
  'worker serve --role',
  'tail --agent',
];

/** Lists each place for a name in the commands, with a line that has one there that nobody knows. */
async function placesOfNames(): Promise<{ place: string; line: string[] }[]> {
  const program = await createProgram();
  return allCommands(commandTree(program)).flatMap(({ path, options, argument }) => {
    const words = path.split(' ').slice(1);
    const command = words.reduce(
      (one, word) => one.commands.find((child) => child.name() === word)!,
      program,
    );
    const own = command.options.filter(({ helpGroupHeading }) => helpGroupHeading !== connectionHeading);
    const needed = own.flatMap(({ mandatory, long }) => (mandatory ? [long!, 'x'] : []));
    const values = command.registeredArguments
      .filter(({ required }) => required)
      .map((one) => (one.name() === 'to' ? 'rosa' : 'x'));
    const ofArgument = argument.kind === 'names' && [
      {
        place: `${words.join(' ')} <${argument.of}>`,
        // A tool is asked for as its server's.
        line: [...words, argument.of === 'tool' ? 'plain:nobody' : 'nobody', ...values.slice(1), ...needed],
      },
    ];
    const ofOptions = options
      .filter(({ value, names }) => value.kind === 'names' && own.some(({ long }) => long === names[0]))
      .map(({ names }) => ({
        place: `${words.join(' ')} ${names[0]}`,
        line: [...words, ...values, ...needed, names[0]!, 'nobody'],
      }));
    return [...(ofArgument || []), ...ofOptions];
  });
}

const places = await placesOfNames();

test('The commands have many places for names.', () => {
  expect(places.length).toBeGreaterThan(35);
  expect(places.map(({ place }) => place)).toEqual(expect.arrayContaining(takesUnknown));
});

test.each(places.filter(({ place }) => !takesUnknown.includes(place)))(
  'signalbox $place ends with exit code 2 for a name that nobody knows',
  async ({ line }) => {
    const { code, stdout, stderr } = await site.run(...line);
    expect(code).toBe(2);
    expect(stdout + stderr).toContain('nobody');
  },
);

const rosa = ['--token-file', 'rosa.token'];

test.each([
  ['inbox', '--take', ...rosa],
  ['worker', 'echo', ...rosa],
  ['worker', 'serve', ...rosa, '--', 'cat'],
])('signalbox %s %s leaves an inbox to the worker serve that reads it.', async (...line) => {
  const { code, stdout, stderr } = await site.run(...line);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('another process reads the inbox of rosa: worker serve; nothing was taken');
  expect(stderr).toContain('--take-over');
});

// This ends worker serve, so that it is the last one.
test('With --take-over the inbox is taken, and the worker serve that read it ends.', async () => {
  expect(await site.run('inbox', '--take-over', ...rosa)).toMatchObject({ code: 2, stdout: '' });
  expect(await site.run('inbox', '--take', '--take-over', ...rosa)).toMatchObject({ code: 0, stderr: '' });
  expect(await ended).toEqual([1, null]);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalbox, signalboxArgv } from '../support/cli/command-line.ts';
import { broker, namedToolsServer, project } from '../support/cli/down.ts';

const resources = new AsyncDisposableStack();
let site: Awaited<ReturnType<typeof project>>;
/** The end of the worker serve of rosa. */
let ended: Promise<unknown[]>;

beforeAll(async () => {
  site = resources.use(
    await project({
      broker: { ...broker, limits: { connections: { heartbeatMs: 1000 } } },
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

/** The options that a command requires. */
const needed: Readonly<Record<string, string[]>> = {
  hold: ['--reason', 'x'],
  'servers accept': ['--seen', 'x'],
};

/**
 * Lists each place for a name in the commands, with a line that has one there that nobody knows. The completion of the shell knows the
 * places, and docs/commands.md the arguments.
 */
async function placesOfNames(): Promise<{ place: string; line: string[] }[]> {
  const { stdout: script } = await signalbox(['completion', 'bash']);
  const page = await readFile(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  return [...page.matchAll(/^\| `signalbox ([a-z0-9 -]+?)((?: [<[][^`]*)?)` \|/gm)].flatMap(
    ([, path = '', written = '']) => {
      const words = path.split(' ');
      const rest = needed[path] ?? [];
      const values = [...written.matchAll(/<([\w.-]+)>/g)].map(([, name]) => (name === 'to' ? 'rosa' : 'x'));
      const shown =
        new RegExp(`^ *'signalbox ${path}'\\) (_signalbox_words .*);;$`, 'm').exec(script)?.[1] ?? '';
      const kind = /_signalbox_names (\w+)/.exec(shown)?.[1];
      const ofArgument = kind !== undefined && {
        place: `${path} <${kind}>`,
        // A tool is asked for as its server's.
        line: [...words, kind === 'tool' ? 'plain:nobody' : 'nobody', ...values.slice(1), ...rest],
      };
      const ofOptions = [
        ...script.matchAll(new RegExp(`'signalbox ${path} (--\\w+)'\\) _signalbox_names`, 'g')),
      ]
        // Behind --token-file, --agent says who connects.
        .filter(([, option]) => option !== '--agent' || !shown.includes('--token-file --agent'))
        .map(([, option = '']) => ({
          place: `${path} ${option}`,
          line: [...words, ...values, ...rest, option, 'nobody'],
        }));
      return [...(ofArgument ? [ofArgument] : []), ...ofOptions];
    },
  );
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

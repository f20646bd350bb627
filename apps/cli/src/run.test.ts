import { expect, test, vi } from 'vitest';
import { run } from './run.ts';

/** Runs a command line in this process, and returns what it printed. */
async function ran(argv: readonly string[]) {
  const [stdout, stderr] = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockReturnValue(true),
  );
  try {
    const code = await run(argv);
    const [printed, told] = [stdout!, stderr!].map(({ mock }) => mock.calls.map(([text]) => text).join(''));
    return { code, stdout: printed!, stderr: told! };
  } finally {
    vi.restoreAllMocks();
  }
}

test('The help has the commands in groups, and the options that name the broker last, as the help of each command does.', async () => {
  const headings = async (...argv: string[]) => (await ran([...argv, '--help'])).stdout.match(/^\w.*:$/gm);
  const groups = ['Begin:', 'Agents:', 'Messages:', 'Tools:', 'You decide:', 'Look:', 'Data:'];
  const connection = expect.stringMatching(/^Connection/);
  expect(await headings()).toEqual(['Options:', ...groups, connection, 'Examples:', 'Exit codes:']);
  expect(await headings('tail')).toEqual(['Options:', 'Connection:', 'Examples:']);
  expect(await headings('token', 'issue')).toEqual(['Options:', 'Connection:', 'Examples:']);
});

test.each([
  ['start', "did you mean 'up' or 'servers start'"],
  ['logs', "did you mean 'tail' or 'history'"],
  ['messages', "did you mean 'inbox', 'history' or 'tail'"],
  ['list', "did you mean 'agents' or 'tools list'"],
  ['run', "did you mean 'up' or 'worker run'"],
  ['stop', "did you mean 'down', 'hold' or 'servers stop'"],
  ['kill', "did you mean 'down' or 'hold'"],
  ['issue', "did you mean 'token issue'"],
  ['token create', "did you mean 'issue'"],
  ['tools lst', "did you mean 'list'"],
  ['hooks github', 'signalbox hooks show github'],
  ['tools list --token x', "did you mean '--token-file'"],
  ['tail -v -a x', "did you mean '--agent'"],
  ['dead --limitt 3', "did you mean '--limit'"],
  ['token issue --agent rosa --tll 3d', "unknown option '--tll' (did you mean '--ttl'?)"],
  ['tools list --frobnicate', "unknown option '--frobnicate'\n"],
  ['--data ./state status', 'it goes after a command, as in: signalbox up --data'],
  ['inbox show x --take', "unknown option '--take'"],
  ['backup verify x --url y', "unknown option '--url'"],
  ['inbox --take show x', "option '--take' stands before 'show'\n  see: signalbox inbox show --help"],
  ['inbox --of rosa show x', 'write it last, as in: signalbox inbox show … --of <agent>'],
  ['approvals --token-file x show y', "option '--token-file <file>' stands before 'show'"],
  ['-V', "unknown option '-V' (did you mean '--version'?)"],
  ['ps rosa', "it takes options only; to act as the agent 'rosa', write --agent rosa; see"],
  ['inbox rosa', "if 'rosa' is an agent, write --of rosa; see"],
  ['history rosa', "if 'rosa' is an agent, write --agent rosa; see"],
  ['backup list', "'list' is no command of signalbox backup\n  a directory of this name is ./list; see"],
  ['send --kind', "option '--kind <kind>' has no value"],
])('"%s" is wrong usage, and the answer names ours.', async (line, answer) => {
  const { code, stdout, stderr } = await ran(line.split(' '));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(answer);
});

test('A token that stands where a file, an address or a command is wanted is not printed.', async () => {
  const secret = 'A'.repeat(43);
  const token = `sbx_rosa~${secret}`;
  for (const line of [`ps --token-file ${token}`, `ps --url ${token}`, token, `ps --json --url ${token}`]) {
    const { code, stdout, stderr } = await ran(line.split(' '));
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain(secret);
  }
  const { stderr } = await ran(['ps', '--token-file', token]);
  expect(stderr).toContain('a token was given in place of the file that holds it');
});

test('An unknown command and an unknown option are answered with the nearest name and exit code 2.', async () => {
  const command = await ran(['tolos', 'list']);
  expect(command).toMatchObject({ code: 2, stdout: '' });
  expect(command.stderr).toContain("unknown command 'tolos' (did you mean 'tools'?)");
  const option = await ran(['tools', 'list', '--tokn-file', 'x']);
  expect(option).toMatchObject({ code: 2, stdout: '' });
  expect(option.stderr).toContain("unknown option '--tokn-file' (did you mean '--token-file'?)");
  expect(option.stderr).toContain('signalbox tools list --help');
  // A supervisor's own command is no command without the supervisor.
  const own = await ran(['up-plan', '{}']);
  expect(own).toMatchObject({ code: 2, stdout: '' });
  expect(own.stderr).toContain("unknown command 'up-plan'");
});

test('An argument that begins with a dash, a name without its option and a text without quotes are told where to go.', async () => {
  const mistaken = await ran(['tools', 'result', '-abc']);
  expect(mistaken).toMatchObject({ code: 2, stdout: '' });
  expect(mistaken.stderr).toContain('an argument that begins with - goes last, after --');
  const withoutDashes = await ran(['worker', 'run', '--agent', 'rosa', 'claude', '--version']);
  expect(withoutDashes).toMatchObject({ code: 2, stdout: '' });
  expect(withoutDashes.stderr).toContain("unknown option '--version'");
  expect(withoutDashes.stderr).toContain('goes last, after --');
  const name = await ran(['token', 'issue', 'rosa']);
  expect(name.stderr).toContain("if 'rosa' is an agent, write --agent rosa");
  for (const line of ['approvals list', 'holds list', 'inbox list', 'status show', 'down stop']) {
    const needless = await ran(line.split(' '));
    expect([line, needless.code, needless.stderr]).toEqual([
      line,
      2,
      expect.stringContaining(
        `leave out '${line.split(' ')[1]}'; see: signalbox ${line.split(' ')[0]} --help`,
      ),
    ]);
  }
  expect((await ran(['version'])).stderr).toContain("unknown command 'version' (did you mean '--version'?)");
  const kind = await ran(['audit', 'list', '--url', 'ws://127.0.0.1:1']);
  expect(kind.stderr).toContain("leave out 'list'");
  expect((await ran(['ask', 'Ada', 'hi'])).stderr).toContain('An inbox is a lower-case agent id');
  expect((await ran(['ps', '--agent', 'Ada'])).stderr).toContain('An agent id is lower-case');
  const text = await ran(['ask', 'rosa', 'how', 'far']);
  expect(text.stderr).toContain('quote a text of several words');
  const seq = await ran(['dead', 'show', '-5']);
  expect(seq.stderr).toContain("argument 'seq' can't be '-5'. A sequence number is a whole number from 1");
});

test('With --json a usage error is JSON on standard output.', async () => {
  const refused = await ran(['token', 'issue', '--agent', 'a', '--json']);
  expect(refused).toMatchObject({ code: 2, stderr: '' });
  expect(JSON.parse(refused.stdout)).toMatchObject({
    error: { code: 'usage', message: expect.stringContaining('--role') },
  });
});

test('A group that has nothing to list shows its help on standard error and exits 2.', async () => {
  const { code, stdout, stderr } = await ran(['worker']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('signalbox worker mcp');
});

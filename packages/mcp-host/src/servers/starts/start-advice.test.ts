import { expect, it, test } from 'vitest';
import { type FailedStart, startAdvice } from './start-advice.ts';

function advice(start: Partial<FailedStart>): string {
  return startAdvice({
    obstacle: 'timed_out',
    command: 'npx',
    args: [],
    cwd: undefined,
    environment: { PATH: '/bin' },
    withheld: [],
    processes: [],
    stderrTail: '',
    ...start,
  }).join('\n');
}

it('says which variables of the network a downloader got, lacks and was not given', () => {
  const environment = { https_proxy: 'http://p', NODE_EXTRA_CA_CERTS: '', PATH: '/bin' };
  expect(advice({ environment, withheld: ['npm_config_registry', 'PIP_INDEX_URL'] })).toBe(
    [
      'npx may still download the package from its registry: run the command by hand once to see how far it gets, or raise startTimeoutMs of the server',
      'the network that npx needs is set by variables: it got https_proxy; not set: NODE_EXTRA_CA_CERTS',
      'npm_config_registry holds a secret and was not handed on: add it to inheritEnv of the server',
    ].join('\n'),
  );
});

test.each([
  [{ command: '/opt/uv/uvx' }, 'uvx may still download'],
  [{ command: 'sh', args: ['-c', 'npx -y server'] }, 'npx may still download'],
  [{ command: './run', processes: [['node', '/usr/lib/npx-cli.js', '-y']] }, 'npx may still download'],
  [{ command: './run', processes: [['npm exec server']] }, 'npm may still download'],
  [{ command: 'docker', args: ['run', '-i', 'image'] }, 'docker may still pull the image'],
  [{ command: 'node', args: ['server.js'] }, 'it has not answered as an MCP server'],
  [{ obstacle: 'no_command', environment: { PATH: '/a:/b' } }, 'PATH is /a:/b'],
  [{ obstacle: 'no_command', command: 'npx -y server' }, 'command holds blanks'],
  [{ obstacle: 'no_command', command: '/x/npx' }, 'there is no file /x/npx'],
  [{ obstacle: 'no_interpreter', command: './run' }, 'its first line names is not'],
  [{ obstacle: 'not_executable', command: './run' }, 'chmod +x'],
  [{ obstacle: 'no_directory', cwd: '/gone' }, 'working directory /gone is not there'],
  [{ obstacle: 'ended', stderrTail: '\n' }, 'runs until its standard input is closed'],
  ...[
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/home/rosa/.npm/_npx/eea2/node_modules/a/b.mjs' imported from",
    "Error: Cannot find package '@a/b' imported from /home/rosa/.npm/_npx/eea2/node_modules/c/index.js",
    "Error: Cannot find module 'a'\nRequire stack:\n- /home/rosa/.npm/_npx/eea2/node_modules/c/index.js",
  ].map((stderrTail): [Partial<FailedStart>, string] => [
    { obstacle: 'ended', stderrTail },
    'remove /home/rosa/.npm/_npx/eea2, and',
  ]),
  [{ obstacle: 'ended', stderrTail: 'npm error code SELF_SIGNED_CERT_IN_CHAIN' }, 'NODE_EXTRA_CA_CERTS'],
] satisfies [Partial<FailedStart>, string][])('%j: %s', (start, text) => {
  expect(advice(start)).toContain(text);
});

it('advises nothing where standard error tells all', () => {
  expect(advice({ obstacle: 'ended', stderrTail: 'usage: server DIR' })).toBe('');
  expect(advice({ obstacle: 'ended', command: 'node', stderrTail: 'ECONNREFUSED' })).toBe('');
});

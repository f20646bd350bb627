import { readFileSync } from 'node:fs';
import { expect, it, test } from 'vitest';
import {
  inheritedSecrets,
  inheritedVariables,
  isSetting,
  requestedVariables,
  unmatchedVariablePatterns,
  variableGroups,
} from './inherited-variables.ts';

function namesOf(patterns: string[], ours: Record<string, string>): string[] {
  return Object.keys(inheritedVariables(patterns, ours).variables);
}

const settings = {
  npm_config_registry: 'https://registry.example/',
  NPM_CONFIG_CAFILE: '/etc/ca.pem',
  UV_INDEX_URL: 'https://pypi.example/simple',
  PIP_CERT: '/etc/ca.pem',
  https_proxy: 'http://proxy.example:3128',
  HTTP_PROXY: 'proxy.example:3128',
  NODE_EXTRA_CA_CERTS: '/etc/ca.pem',
  XDG_CACHE_HOME: '/cache',
  LC_TIME: 'nb_NO.UTF-8',
  DOCKER_HOST: 'ssh://rosa@docker.example',
  XAUTHORITY: '/home/rosa/.Xauthority',
  UV_KEYRING_PROVIDER: 'subprocess',
};

it('inherits settings of proxies, certificate authorities, package managers, displays and languages', () => {
  expect(inheritedVariables([], settings)).toEqual({ variables: settings, withheld: [] });
});

it('inherits no other variable, no access of the user and no code that every program would load', () => {
  const ours = {
    ...{ HOMEPAGE: 'x', SSH_AUTH_SOCK: '/run/agent', NODE_OPTIONS: '--require=/x.js', LD_PRELOAD: '/x.so' },
    ...{ DBUS_SESSION_BUS_ADDRESS: 'x', AWS_REGION: 'x', DATABASE_URL: 'x', SIGNALBOX_URL: 'x' },
  };
  expect(inheritedVariables([], ours)).toEqual({ variables: {}, withheld: [] });
});

it('hands on our working directory by its exact name only, and takes it for no secret', () => {
  const ours = { PWD: '/ours', OLDPWD: '/before' };
  expect(inheritedVariables(['*', '*PWD'], ours)).toEqual({ variables: {}, withheld: [] });
  expect(inheritedVariables(['PWD'], ours)).toEqual({ variables: { PWD: '/ours' }, withheld: [] });
  expect([isSetting('PWD', '/ours'), isSetting('OLDPWD', '/before')]).toEqual([true, true]);
});

it('does not hand on what npm says of its own command line, by which an npx in a server would run another package', () => {
  expect(
    namesOf([], { npm_config_package: 'x', npm_config_call: 'x', npm_config_local_prefix: 'x' }),
  ).toEqual([]);
});

test.each([
  ['npm_config__authToken', 'x'],
  ['npm_config_//registry.example/:_authToken', 'x'],
  ['npm_config__auth', 'x'],
  ['YARN_NPM_AUTH_IDENT', 'x'],
  ['UV_INDEX_MINE_PASSWORD', 'x'],
  ['POETRY_PYPI_TOKEN_MINE', 'x'],
  ['MISE_GITHUB_TOKEN', 'x'],
  ['PIP_INDEX_URL', 'https://rosa:pass@pypi.example/simple'],
  ['PIP_EXTRA_INDEX_URL', 'https://pypi.example/a https://token@pypi.example/b'],
  ['UV_DEFAULT_INDEX', 'https://pypi.example/simple?token=x'],
  ['HTTPS_PROXY', 'http://rosa:pass@proxy.example:3128'],
  ['http_proxy', 'rosa:pass@proxy.example:3128'],
])('withholds %s=%s, which holds a secret, unless it is named exactly', (name, value) => {
  const ours = { [name]: value };
  expect(inheritedVariables([], ours)).toEqual({ variables: {}, withheld: [name] });
  expect(namesOf(['*'], ours)).toEqual([]);
  expect(namesOf([name], ours)).toEqual([name]);
  expect(inheritedSecrets([name], ours)).toEqual(ours);
});

it('reads a long value quickly', () => {
  const ours = { XDG_BLOB: `${'a'.repeat(120_000)} http://rosa:pass@h` };
  expect(inheritedVariables([], ours).withheld).toEqual(['XDG_BLOB']);
}, 2000);

it('hands on what a server asks for, and never a variable of Signalbox', () => {
  const ours = { APP_MODE: 'x', APP_TOKEN: 'x', OTHER: 'x', SIGNALBOX_TOKEN: 'x', HOME: 'x' };
  expect(requestedVariables(['APP_*'], ours)).toEqual({ APP_MODE: 'x' });
  expect(requestedVariables(['APP_*', 'APP_TOKEN'], ours)).toEqual({ APP_MODE: 'x', APP_TOKEN: 'x' });
  expect(requestedVariables(['*', 'SIGNALBOX_TOKEN', 'S*'], ours)).toEqual({
    APP_MODE: 'x',
    OTHER: 'x',
    HOME: 'x',
  });
});

it('finds the patterns that match nothing', () => {
  expect(
    unmatchedVariablePatterns(['APP_*', 'OTHER', 'SIGNALBOX_*'], { APP_MODE: 'x', SIGNALBOX_URL: 'x' }),
  ).toEqual(['OTHER', 'SIGNALBOX_*']);
});

test('The guide lists these variables.', () => {
  const guide = readFileSync(new URL('../../../../docs/reference/mcp-servers.md', import.meta.url), 'utf8');
  const rows = variableGroups.map(
    ({ purpose, names }) => `| ${purpose} | ${names.map((name) => `\`${name}\``).join(', ')} |`,
  );
  expect(guide).toContain(['| for | variables |', '| --- | --- |', ...rows, ''].join('\n'));
});

import { expect, test } from 'vitest';
import { literalValues } from './literal-values.ts';

/* biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables as shells write them */
test('A value that is a variable or a home directory of a shell is warned of; a command of a shell is not.', () => {
  const args = ['$HOME', '~/data', '-c', 'echo $HOME', '${data}/x'];
  const warnings = literalValues({
    mcpServers: {
      a: { type: 'stdio', command: 'node', args, env: { TOKEN: '${GITHUB_TOKEN}', PRICE: '$5' } },
      b: { type: 'http', url: 'https://example.test', headers: { Authorization: 'Bearer $TOKEN' } },
    },
    origins: {},
  });
  expect(warnings).toEqual([
    '(config):1: mcpServers.a.args[0]: the server gets this text as it stands; for the variable, write ${env:HOME}',
    '(config):1: mcpServers.a.args[1]: the server gets ~ as it stands; write ${env:HOME} in its place',
    '(config):1: mcpServers.a.env.TOKEN: the server gets this text as it stands; for the variable, write ${env:GITHUB_TOKEN}',
    '(config):1: mcpServers.b.headers.Authorization: the server gets this text as it stands; for the variable, write ${env:TOKEN}',
  ]);
});
/* biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables as shells write them */

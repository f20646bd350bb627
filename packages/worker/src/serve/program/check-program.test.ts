import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkTurnProgram, missingWords } from './check-program.ts';
import { turnProgramOf } from './program-table.ts';

test('A version can take turns if its help names the words, each by itself.', () => {
  const help = '  -r, --resume [value]  Resume\n  --output-format <format>  …';
  expect(missingWords(help, ['--resume', '--output-format'])).toEqual([]);
  expect(missingWords(help, ['--output', 'resum', '--print'])).toEqual(['--output', 'resum', '--print']);
});

test('A version whose help lacks a word is refused with its number, also if it reads standard input first.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-codex-'));
  const start = {
    program: join(directory.path, 'codex'),
    cwd: directory.path,
    env: { PATH: '/usr/bin:/bin' },
  };
  const install = (help: string) =>
    writeFile(
      start.program,
      `#!/bin/sh\ncat\n[ "$*" = 'exec --help' ] && echo '${help}' || echo 'codex 0.1'\n`,
      {
        mode: 0o700,
      },
    );
  await install('resume --json --output-last-message');
  await checkTurnProgram(turnProgramOf(['codex']), start);
  await install('--json --output-last-message');
  await expect(checkTurnProgram(turnProgramOf(['codex']), start)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(/codex can't take turns.*does not name resume$/),
    details: { hint: expect.stringContaining('this one is codex 0.1') },
  });
  await checkTurnProgram(turnProgramOf(['./answer.sh']), { ...start, program: '/none' });
});

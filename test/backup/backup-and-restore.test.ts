import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { issueToken, readAudit } from '@signalbox/client/operator';
import { beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { restoreBackup } from '@signalbox/daemon/backup';
import { startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test } from 'vitest';

test('A restored broker drops the tokens that minting tokens issued, and with revokeTokens all, those of operators included.', async () => {
  await using directory = await tempDir();
  await using broker = await startTestBroker({ durability: 'process' });
  const path = join(directory.path, 'backup');
  const operator = await connectBroker({
    url: broker.url,
    token: await broker.operatorToken(),
    agent: 'operator#asks',
  });
  await using _closing = operator;
  const minting = await issueToken(operator, { agent: 'ci-*', role: 'worker' });
  const rosa = await issueToken(operator, { agent: 'rosa', role: 'worker' });
  {
    await using ci = await connectBroker({ url: broker.url, token: minting.token, agent: 'ci-minting' });
    await issueToken(ci, { agent: 'ci-1', role: 'worker' });
  }
  await beginBackup(operator, path);
  await finishBackup(operator, undefined);
  // A token that is revoked after the backup is valid again: the broker of the backup never heard of it.
  await operator.admin('token_revoke', { id: rosa.id });

  for (const [revokeTokens, agents] of [
    [false, ['ci-*', 'operator', 'operator', 'rosa']],
    [true, ['operator']],
  ] as const) {
    const dataDir = join(directory.path, `restored-${revokeTokens}`);
    await restoreBackup({ backup: path, dataDir, revokeTokens, now: Date.now() });
    await using restored = await startTestBroker({ dataDir, durability: 'process' });
    await using again = await connectBroker({
      url: restored.url,
      token: await restored.operatorToken(),
      agent: 'operator#asks',
    });
    const { tokens } = await again.admin('token_list', {});
    expect(tokens.map(({ agent }) => agent).sort()).toEqual(agents);
    const { entries } = await readAudit(again, { since: 0, kinds: ['change'], limit: 100 });
    expect(entries.filter(({ code }) => code === 'backup_restored')).toMatchObject([
      { detail: revokeTokens ? 'tokens dropped: 4, left: 0' : 'tokens dropped: 1, left: 3' },
    ]);
  }
});

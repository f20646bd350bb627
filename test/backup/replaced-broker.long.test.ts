import { expect, test } from 'vitest';
import { startInterrupted } from '../support/backup/replaced-broker.ts';

test('What was sent without a receipt is not sent to a restored broker: a call that ran is outcome_unknown and does not run again.', async () => {
  await using stack = await startInterrupted();
  await using _restored = await stack.startRestored();
  expect(await stack.executed).toMatchObject({
    error: {
      code: 'outcome_unknown',
      may_have_run: true,
      message: expect.stringContaining('replaced or restored'),
    },
  });
  await expect(stack.note).rejects.toMatchObject({
    code: 'connection_lost',
    message: expect.stringContaining('replaced or restored'),
    details: { id: 'note', mayBeStored: true },
  });
  // Its request had its receipt and is in the backup: the restored orchestrator tells its end.
  expect(await stack.receipted).toMatchObject({ error: { code: 'outcome_unknown' } });
  // It never left for the broker that is gone.
  expect(await stack.later).toMatchObject({ id: 'later', duplicate: false });
  expect(await stack.runAnother()).toMatchObject({ result: { success: true } });
  expect([stack.runs('interrupted'), stack.runs('another')]).toEqual([1, 1]);
});
